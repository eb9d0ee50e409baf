"""How a program offers its entry: a function called `run`, an export, or the only function there is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.programs.globals import ALLOWED_GLOBALS
from vardy_worker.programs.holders import holds_run, run_member
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import Binding, Names
from vardy_worker.programs.syntax import FUNCTIONS, bare, key_name, property_name

if TYPE_CHECKING:
    from collections.abc import Iterable
_EXPORT_OBJECTS = frozenset({"module", "exports", "globalThis", "window", "self", "global"})
_RUN_KEYS = frozenset({"run", "default"})
_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_DECLARATIONS = frozenset(
    {
        "function_declaration",
        "generator_function_declaration",
        "class_declaration",
        "lexical_declaration",
        "variable_declaration",
        "import_statement",
        "empty_statement",
    }
)


@dataclass(slots=True)
class Offers:
    """What the top of a program says about its entry.

    `literal` is an exported function without a name, with the statement it fills;
    `name` an exported name, `holder` an exported object or class with `run`, and its
    statement. `prefixes` are the ranges of `export` before declarations, `statements` those
    that only export.
    """

    literal: tuple[Node, Node] | None = None
    name: str | None = None
    holder: tuple[Node, Node] | None = None
    prefixes: list[tuple[int, int]] = field(default_factory=list)
    statements: list[Node] = field(default_factory=list)


def read_offers(names: Names) -> Offers:
    """Finds the exports, of modules and of CommonJS."""
    offers = Offers()
    statements = [node for node in names.tree.root.named_children() if node.kind != "empty_statement"]
    others: list[tuple[Node, Node]] = []
    for statement in statements:
        if statement.kind == "export_statement":
            _module_export(names, statement, offers)
        elif statement.kind in _VARIABLES:
            _export_of_variable(names, statement, offers)
        elif statement.kind == "expression_statement":
            others.extend(_commonjs_export(names, statement, offers))
    if len(others) == 1 and offers == Offers(statements=offers.statements):
        # `exports.handler = …` and nothing else.
        _offer(names, *others[0], offers)
    if len(statements) == 1 and statements[0].kind == "expression_statement":
        alone = bare(statements[0].named_children()[0])
        if alone.kind == "object" and run_member(alone) is not None:
            _offer(names, alone, statements[0], offers)
    return offers


def _module_export(names: Names, statement: Node, offers: Offers) -> None:
    declaration, value = statement.get("declaration"), statement.get("value")
    default = statement.has_token("default")
    if declaration is not None:
        name = declaration.get("name")
        offers.prefixes.append((statement.start, declaration.start))
        if default and name is not None and declaration.kind in FUNCTIONS:
            offers.name = name.text
        return
    if value is not None:
        _offer(names, value, statement, offers)
        return
    for specifier in (node for node in statement.walk() if node.kind == "export_specifier"):
        name, alias = specifier.get("name"), specifier.get("alias")
        if name is not None and (alias or name).text in _RUN_KEYS:
            offers.name = name.text
    if statement.get("source") is None:
        offers.statements.append(statement)


def _commonjs_export(names: Names, statement: Node, offers: Offers) -> list[tuple[Node, Node]]:
    """Reads `module.exports = …` and its relatives; returns what is exported under another name."""
    expression = next(iter(statement.named_children()), None)
    if expression is None or expression.kind != "assignment_expression":
        return []
    targets, value = _assigned(expression)
    if any(names.free_name(target) == "run" for target in targets):
        _offer(names, value, statement, offers)
    exports = [_export_path(names, target) for target in targets]
    named = [(holder, path) for holder, path in exports if holder in _EXPORT_OBJECTS]
    if any(path[-1] in _RUN_KEYS or (holder == "module" and path == ["exports"]) for holder, path in named):
        _offer(names, value, statement, offers)
    elif any(holder in {"module", "exports"} for holder, _ in named):
        if bare(value).kind in FUNCTIONS:
            return [(value, statement)]
        offers.statements.append(statement)
    return []


def _export_of_variable(names: Names, statement: Node, offers: Offers) -> None:
    """Reads `const f = exports.run = …`: the export between the name and the value goes."""
    for declarator in statement.named_children():
        name, value = declarator.get("name"), declarator.get("value")
        if name is None or name.kind != "identifier" or value is None:
            continue
        targets, inner = _assigned(value)
        if targets and all(_export_path(names, target)[0] in _EXPORT_OBJECTS for target in targets):
            offers.prefixes.append((value.start, inner.start))
            offers.name = name.text


def _assigned(expression: Node) -> tuple[list[Node], Node]:
    """The targets of `a = b = value`, and the value."""
    targets: list[Node] = []
    value = expression
    while value.kind == "assignment_expression":
        left, right = value.get("left"), value.get("right")
        if left is None or right is None:
            break
        targets.append(left)
        value = bare(right)
    return targets, value


def _export_path(names: Names, target: Node) -> tuple[str, list[str]]:
    """The free name at the root of `module.exports.run` with the names behind it; "" when it is none."""
    if target.kind != "member_expression":
        return "", []
    path = [property_name(target) or ""]
    root = target.get("object")
    while root is not None and root.kind == "member_expression":
        path.insert(0, property_name(root) or "")
        root = root.get("object")
    return (names.free_name(root) or "" if root is not None else ""), path


def _offer(names: Names, value: Node, statement: Node, offers: Offers) -> None:
    """Takes an exported value: a function, a name, or an object or class with `run`."""
    value = bare(value)
    if value.kind == "call_expression":
        # `export default define(async (params) => …)`
        arguments = value.get("arguments")
        inner = arguments.named_children() if arguments is not None else []
        if len(inner) == 1 and bare(inner[0]).kind in FUNCTIONS:
            value = bare(inner[0])
    if value.kind in FUNCTIONS:
        offers.literal = (value, statement)
    elif value.kind == "identifier":
        offers.name = value.text
        offers.statements.append(statement)
    elif value.kind == "object" and not _needs_its_object(value):
        _offer_object(value, statement, offers)
    elif holds_run(names, value):
        offers.holder = (value, statement)


def _needs_its_object(literal: Node) -> bool:
    """Whether the `run` of an object literal uses `this`, and so must stay in its object."""
    member = run_member(literal)
    function = member if member is None or member.kind == "method_definition" else member.get("value")
    if function is None or bare(function).kind not in FUNCTIONS:
        return False
    inner = bare(function).walk(lambda node: node.kind not in FUNCTIONS or node.kind == "arrow_function")
    return any(node.kind in {"this", "super"} for node in inner)


def _offer_object(literal: Node, statement: Node, offers: Offers) -> None:
    for member in literal.named_children():
        key = member if member.kind == "shorthand_property_identifier" else member.get("key") or member.get("name")
        if key is None or key_name(key) not in _RUN_KEYS:
            continue
        value = member.get("value")
        if member.kind == "method_definition":
            offers.literal = (member, statement)
        elif member.kind == "shorthand_property_identifier":
            offers.name = member.text
            offers.statements.append(statement)
        elif value is not None and bare(value).kind in FUNCTIONS:
            offers.literal = (bare(value), statement)
        elif value is not None and bare(value).kind == "identifier":
            offers.name = bare(value).text
            offers.statements.append(statement)
        return


def top_functions(names: Names) -> list[Binding]:
    """The functions that the top of a program declares, in source order."""
    found = [binding for binding in names.top.bindings.values() if binding.function is not None]
    return sorted(found, key=lambda binding: binding.node.start)


def is_definition(names: Names, statement: Node) -> bool:
    """Whether a statement only defines: functions, classes, and values that call nothing outside."""
    if statement.kind not in _DECLARATIONS:
        text = statement.text.strip("; \n")
        return statement.kind == "expression_statement" and text[:1] in {'"', "'"} and text[1:-1].isprintable()
    for node in outside_functions(statement):
        if node.kind == "await_expression":
            return False
        callee = node.get("function") if node.kind == "call_expression" else None
        name = names.free_name(bare(callee)) if callee is not None else None
        if name is not None and name not in ALLOWED_GLOBALS:
            return False
    return True


def outside_functions(statement: Node) -> Iterable[Node]:
    """The nodes of a statement that run when it runs, not inside of functions it defines."""
    return statement.walk(lambda node: node.kind not in FUNCTIONS) if statement.kind not in FUNCTIONS else ()


def likely_entry(names: Names) -> Binding | None:
    """The function that is meant as `run` when none has that name; None when it is not clear.

    The only function; else the only one that calls functions from outside and is called by
    no other; else the only such one that takes a parameter.
    """
    functions = top_functions(names)
    if len(functions) == 1:
        return functions[0]
    entries = [b for b in functions if _calls_out(names, b) and not _is_called(b)]
    if len(entries) > 1:
        entries = [b for b in entries if _takes_params(b)]
    return entries[0] if len(entries) == 1 else None


def _calls_out(names: Names, binding: Binding) -> bool:
    """Whether a function calls names from outside of the program, itself or through its helpers."""
    seen: set[int] = set()
    pending = [binding]
    while pending:
        function = pending.pop().function
        if function is None or id(function) in seen:
            continue
        seen.add(id(function))
        for node in function.walk():
            callee = node.get("function") if node.kind == "call_expression" else None
            if callee is None:
                continue
            name = names.free_name(bare(callee))
            if name is not None and name not in ALLOWED_GLOBALS:
                return True
            helper = names.binding(bare(callee))
            pending.extend([helper] if helper is not None else [])
    return False


def _is_called(binding: Binding) -> bool:
    function = binding.function
    return any(function is None or not reference.node.is_within(function) for reference in binding.references)


def _takes_params(binding: Binding) -> bool:
    function = binding.function
    if function is None:
        return False
    parameters = function.get("parameters")
    return function.get("parameter") is not None or (parameters is not None and bool(parameters.named_children()))
