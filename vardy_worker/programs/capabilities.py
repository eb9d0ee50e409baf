"""Names that do not exist, and capabilities that programs do not have.

These checks are for good errors. The boundary itself is the sandbox, in which the
capabilities are absent.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.programs.characters import wrong_sign
from vardy_worker.programs.globals import ALLOWED_GLOBALS, JUDGE_GLOBALS, MISSING_GLOBALS, MISSING_METHODS
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import BindingKind, Reference, Use
from vardy_worker.programs.subject import Subject, arguments_of, is_free, is_global_object
from vardy_worker.programs.syntax import CLASSES, FUNCTIONS, around, bare, key_name, property_name, short_text

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings

_LITERALS = FUNCTIONS | CLASSES | {"array", "object", "string", "number", "regex", "template_string", "true", "false"}
_MEMBERS = frozenset({"member_expression", "subscript_expression"})
_PROTOTYPE_WRITERS = frozenset(
    {
        "freeze",
        "seal",
        "preventExtensions",
        "assign",
        "defineProperty",
        "defineProperties",
        "setPrototypeOf",
        "set",
        "deleteProperty",
    }
)
_NO_CONSTRUCTOR = "Constructors of functions compile text; programs cannot. Write the logic out."
_NO_TAMPERING = "Programs cannot change what is built in. Write a helper function instead."
_NO_PROTO = "Programs cannot reach prototypes. Use plain properties."


def check_names(subject: Subject, findings: Findings) -> None:
    """Every free name is a registered function, an allowed global, or a finding."""
    for reference in subject.names.free:
        name = reference.name
        if wrong_sign(name) is not None:
            continue  # a text in typographic quotes, say, for which there is a finding already
        if reference.use is not Use.READ:
            _assigned_free(subject, reference, findings)
        elif _only_asked_for(reference.node) and name not in subject.specs and name not in JUDGE_GLOBALS:
            continue
        elif name == "globalThis":
            _global_object(subject, reference.node, findings)
        else:
            _free_name(subject, name, reference.node, findings)
    for reference in subject.names.references:
        binding = reference.binding
        if binding is not None and binding.kind is BindingKind.CONST and reference.use is not Use.READ:
            findings.add(
                "program.const_assigned",
                reference.node,
                f"`{reference.name}` is a constant and cannot get another value.",
                f"Declare it with `let` in line {findings.line_of(binding.node)}.",
            )


def _only_asked_for(node: Node) -> bool:
    """Whether a name is the operand of `typeof`, which tells the truth of names that do not exist."""
    parent = node.parent
    operator = parent.get("operator") if parent is not None and parent.kind == "unary_expression" else None
    return operator is not None and operator.kind == "typeof"


def _free_name(subject: Subject, name: str, node: Node, findings: Findings) -> None:
    if name in subject.specs:
        if subject.reads_only and subject.specs[name].kind is FunctionKind.WRITE:
            findings.add(
                "program.write_in_explore",
                node,
                f"`{name}` writes, and here only reads exist.",
                "Answer the question with read functions; a change is made by a run.",
                details={"function": name, "functions": known_functions(subject)},
            )
    elif name in JUDGE_GLOBALS:
        if not subject.judge:
            findings.add(
                "program.judge_off",
                node,
                f"`{name}` is not available in this job.",
                "Decide in code; the judge is off in this job.",
            )
    elif name in MISSING_GLOBALS:
        findings.add(
            "program.forbidden", node, f"`{name}` does not exist here.", MISSING_GLOBALS[name], details={"name": name}
        )
    elif name not in ALLOWED_GLOBALS:
        _unknown(subject, name, node, findings)


def _assigned_free(subject: Subject, reference: Reference, findings: Findings) -> None:
    name, node = reference.name, reference.node
    if name in ALLOWED_GLOBALS or name in MISSING_GLOBALS or name in subject.specs or name in JUDGE_GLOBALS:
        findings.add(
            "program.forbidden",
            node,
            f"`{name}` is a global and cannot be replaced.",
            f"Use another name: `const {name}2 = …`.",
            details={"name": name},
        )
    else:
        findings.add(
            "program.unknown_name",
            node,
            f"`{name}` is assigned but never declared.",
            f"Declare it first: `let {name};`.",
            details={"name": name},
        )


def known_functions(subject: Subject) -> list[str]:
    """The functions the program may call, by name."""
    return [
        spec.name for spec in subject.specs.values() if not (subject.reads_only and spec.kind is FunctionKind.WRITE)
    ]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def close_names(name: str, known: list[str]) -> list[str]:
    """At most three known names that somebody writing `name` may have meant, best first."""
    by_plain = {_plain(candidate): candidate for candidate in reversed(known)}
    return [by_plain[match] for match in get_close_matches(_plain(name), list(by_plain), n=3, cutoff=0.6)]


def _unknown(subject: Subject, name: str, node: Node, findings: Findings) -> None:
    functions = known_functions(subject)
    called, wanted = _as_call(node, name)
    if called is None:
        close = close_names(name, [*_names_in_sight(subject, node), *functions, *sorted(ALLOWED_GLOBALS)])
        hint = f"Did you mean `{close[0]}`?" if close else "Declare it, or take it from `params`."
        if name == "params":
            hint = "Only `run` receives `params`; hand it to the helper as an argument."
        findings.add(
            "program.unknown_name", node, f"`{name}` is not defined.", hint, details={"name": name, "close": close}
        )
        return
    close = close_names(wanted, functions)
    listed = ", ".join(functions) or "none"
    hint = f"Did you mean `{close[0]}`? " if close else ""
    findings.add(
        "program.unknown_function",
        node,
        f"`{called}` is not a function of this job.",
        f"{hint}The functions are: {listed}.",
        details={"name": called, "close": close, "functions": functions},
    )


def _as_call(node: Node, name: str) -> tuple[str | None, str]:
    """How a free name is called (`db.query`) and the name to look for; None when it is not called."""
    top, wanted = node, name
    while top.parent is not None and top.parent.kind in _MEMBERS and top.field == "object":
        top = top.parent
        wanted = property_name(top) or wanted
    parent = top.parent
    if (
        parent is not None
        and parent.kind in {"call_expression", "new_expression"}
        and top.field in {"function", "constructor"}
    ):
        return top.text if "\n" not in top.text else name, wanted
    return None, name


def _names_in_sight(subject: Subject, node: Node) -> list[str]:
    reference = subject.names.reference(node)
    scope = reference.scope if reference is not None else None
    found: list[str] = []
    while scope is not None:
        found.extend(scope.bindings)
        scope = scope.parent
    return found


def _global_object(subject: Subject, node: Node, findings: Findings) -> None:
    """`globalThis.Math` is `Math`; every other use of the global object is refused."""
    parent = around(node).parent
    name = (
        property_name(parent) if parent is not None and is_global_object(subject.names, parent.get("object")) else None
    )
    if parent is None or name is None:
        findings.add(
            "program.forbidden",
            node,
            "`globalThis` can only be used as `globalThis.name`.",
            MISSING_GLOBALS["globalThis"],
            details={"name": "globalThis"},
        )
    elif _is_changed(parent):
        findings.add("program.forbidden", parent, f"`globalThis.{name}` cannot be set.", "Declare a variable.")
    else:
        _free_name(subject, name, parent, findings)


def check_capabilities(subject: Subject, findings: Findings) -> None:
    """Forbidden syntax, hidden constructors, prototypes and built-ins that are changed."""
    for node in subject.tree.nodes:
        _forbidden_syntax(node, findings)
        if node.kind in _MEMBERS:
            _member(subject, node, findings)
        elif node.kind == "call_expression":
            _prototype_writer(subject, node, findings)
        elif node.kind in {"pair", "pair_pattern"}:
            key = node.get("key")
            if key is not None and key.kind != "computed_property_name" and key_name(key) == "__proto__":
                findings.add("program.forbidden", key, "`__proto__` cannot be set or read.", _NO_PROTO)
            elif node.kind == "pair_pattern" and key is not None and key_name(key) == "constructor":
                _constructor_taken(node, findings)
        elif node.kind == "shorthand_property_identifier_pattern" and node.text == "constructor":
            _constructor_taken(node, findings)
        elif node.kind.startswith("shorthand_property_identifier") and node.text == "__proto__":
            findings.add("program.forbidden", node, "`__proto__` cannot be set or read.", _NO_PROTO)


def _constructor_taken(node: Node, findings: Findings) -> None:
    """`const {constructor} = () => {}`, or the constructor of a constructor; of a row it is a column."""
    pattern = node.parent
    holder = pattern.parent if pattern is not None else None
    if pattern is None or holder is None:
        return
    value = holder.get("value") or holder.get("right")
    key = holder.get("key")
    nested = holder.kind == "pair_pattern" and key is not None and key_name(key) in {"constructor", "prototype"}
    given = holder.kind in {"variable_declarator", "assignment_expression"}
    literal = given and value is not None and bare(value).kind in _LITERALS
    if nested or literal:
        findings.add(
            "program.forbidden",
            node,
            "`constructor` does not exist here.",
            _NO_CONSTRUCTOR,
            details={"name": "constructor"},
        )


def _forbidden_syntax(node: Node, findings: Findings) -> None:
    no_modules = MISSING_GLOBALS["require"]
    if node.kind == "import_statement":
        findings.add("program.forbidden", node, "`import` does not exist here.", no_modules, details={"name": "import"})
    elif node.kind == "import" and node.named:
        findings.add(
            "program.forbidden", node, "`import()` does not exist here.", no_modules, details={"name": "import"}
        )
    elif node.kind == "meta_property" and node.text.startswith("import"):
        findings.add("program.forbidden", node, "`import.meta` does not exist here.", no_modules)
    elif node.kind == "export_statement":
        findings.add(
            "program.forbidden",
            node,
            "`export` does not exist here.",
            "Define `async function run(params)` at the top of the program; Vardy calls it.",
            details={"name": "export"},
        )
    elif node.kind == "with_statement":
        findings.add("program.forbidden", node, "`with` is not allowed.", "Name the object: `row.amount`.")
    elif node.kind == "debugger_statement":
        findings.add("program.forbidden", node, "`debugger` does nothing here.", "Use `console.log`.")


def _is_changed(member: Node) -> bool:
    """Whether a member expression is assigned, updated or deleted."""
    parent = member.parent
    if parent is None:
        return False
    if parent.kind in {"assignment_expression", "augmented_assignment_expression"}:
        return member.field == "left"
    return parent.kind == "update_expression" or (parent.kind == "unary_expression" and parent.has_token("delete"))


def _member(subject: Subject, node: Node, findings: Findings) -> None:
    name, receiver = property_name(node), node.get("object")
    if name == "__proto__":
        findings.add("program.forbidden", node, "`__proto__` cannot be set or read.", _NO_PROTO)
    elif name == "constructor" and receiver is not None:
        if _reaches_constructor(subject, node, bare(receiver)):
            findings.add(
                "program.forbidden",
                node,
                "`.constructor` does not exist here.",
                _NO_CONSTRUCTOR,
                details={"name": "constructor"},
            )
    elif name is not None and name in MISSING_METHODS:
        findings.add(
            "program.unavailable_method",
            node,
            f"`{name}` throws in programs.",
            MISSING_METHODS[name],
            severity="warning",
        )
    if _is_changed(node) and receiver is not None and _is_builtin(subject, receiver):
        findings.add(
            "program.forbidden", node, f"`{short_text(node)}` is built in and cannot be changed.", _NO_TAMPERING
        )


def _reaches_constructor(subject: Subject, node: Node, receiver: Node) -> bool:
    """Whether `.constructor` can only be meant as a way to a constructor, not as a column of a row."""
    if receiver.kind in _LITERALS:
        return True
    if receiver.kind in _MEMBERS and property_name(receiver) in {"constructor", "prototype"}:
        return True
    if subject.names.free_name(receiver) is not None:
        return True
    binding = subject.names.binding(receiver)
    if binding is not None and binding.initial is not None and bare(binding.initial).kind in FUNCTIONS | CLASSES:
        return True
    if receiver.kind == "call_expression" and _is_call_of(subject, receiver, "getPrototypeOf"):
        return True
    node = around(node)
    parent = node.parent
    if receiver.kind == "this":
        # `new this.constructor()` is how a class makes another of its kind.
        return parent is not None and property_name(parent) == "constructor"
    return parent is not None and (
        (parent.kind == "call_expression" and node.field == "function")
        or (parent.kind == "new_expression" and node.field == "constructor")
        or (parent.kind in _MEMBERS and node.field == "object" and property_name(parent) == "constructor")
    )


def _is_call_of(subject: Subject, call: Node, method: str) -> bool:
    callee = call.get("function")
    if callee is None or property_name(callee) != method:
        return False
    receiver = callee.get("object")
    return is_free(subject.names, receiver, "Object") or is_free(subject.names, receiver, "Reflect")


def _is_builtin(subject: Subject, node: Node) -> bool:
    """Whether an expression is a global of the language or its prototype."""
    node = bare(node)
    while node.kind in _MEMBERS and property_name(node) == "prototype":
        receiver = node.get("object")
        if receiver is None:
            return False
        node = bare(receiver)
        if node.kind in _LITERALS:
            return True
    name = subject.names.free_name(node)
    return name is not None and (name in ALLOWED_GLOBALS or name in subject.specs or name in JUDGE_GLOBALS)


def _prototype_writer(subject: Subject, call: Node, findings: Findings) -> None:
    callee = call.get("function")
    name = property_name(callee) if callee is not None else None
    if name not in _PROTOTYPE_WRITERS or not _is_call_of(subject, call, name):
        return
    arguments = arguments_of(call)
    if arguments and _is_builtin(subject, arguments[0]):
        findings.add(
            "program.forbidden",
            call,
            f"`{short_text(arguments[0])}` is built in and cannot be changed.",
            _NO_TAMPERING,
        )
