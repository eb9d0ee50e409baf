"""Objects and classes that hold `run`: `const api = { async run(params) {…} }`, a static method, a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.nodes import Node
from vardy_worker.programs.syntax import CLASSES, FUNCTIONS, bare, key_name, property_name

if TYPE_CHECKING:
    from vardy_worker.programs.scopes import Binding, Names
    from vardy_worker.programs.syntax import Tree

_FROZEN = frozenset({"Object.freeze", "Object.seal"})
_DEPTH_MAX = 4


def holders_of(names: Names) -> dict[str, str]:
    """By name of a top-level object or class that has `run`: how to reach it, like `api.run`."""
    found = ((binding, run_of(names, binding)) for binding in names.top.bindings.values())
    reached = {binding.name: path for binding, path in found if path is not None}
    values = [binding.initial for binding in names.top.bindings.values() if binding.name in reached]
    made = {value.get("constructor") for value in values if value is not None and value.kind == "new_expression"}
    # The class of an object that is there is not meant besides it.
    return {name: path for name, path in reached.items() if name not in {node.text for node in made if node}}


def run_of(names: Names, binding: Binding) -> str | None:
    """How to reach the `run` that a name holds; None when it holds none."""
    value = binding.initial
    if value is None:
        return None
    if not holds_run(names, bare(value)):
        return f"{binding.name}.run" if bare(value).kind == "object" and _is_given_run(binding) else None
    return f"new {binding.name}().run" if bare(value).kind in CLASSES and not _static(value) else f"{binding.name}.run"


def _is_given_run(binding: Binding) -> bool:
    """Whether the top of the program puts a function into an object: `api.run = async (params) => …`."""
    for reference in binding.references:
        member = reference.node.parent
        if member is None or reference.node.field != "object" or property_name(member) != "run":
            continue
        assignment = member.parent
        if assignment is None or assignment.kind != "assignment_expression" or member.field != "left":
            continue
        value, statement = assignment.get("right"), assignment.parent
        at_top = statement is not None and statement.parent is not None and statement.parent.kind == "program"
        if at_top and value is not None and bare(value).kind in FUNCTIONS:
            return True
    return False


def holds_run(names: Names, value: Node, depth: int = 0) -> bool:
    """Whether an expression is an object or class with a `run` that can be called."""
    if depth > _DEPTH_MAX:
        return False
    if value.kind == "object":
        return run_member(value) is not None
    if value.kind in CLASSES:
        return _run_of_class(value) is not None
    if value.kind == "new_expression":
        callee = value.get("constructor")
        binding = names.binding(bare(callee)) if callee is not None else None
        made = bare(callee) if binding is None and callee is not None else binding.initial if binding else None
        return made is not None and made.kind in CLASSES and _run_of_class(made) is False
    callee = value.get("function") if value.kind == "call_expression" else None
    if callee is None:
        return False
    if callee.text in _FROZEN:
        arguments = value.get("arguments")
        given = arguments.named_children() if arguments is not None else []
        return len(given) == 1 and holds_run(names, bare(given[0]), depth + 1)
    outcome = _outcome_of(bare(callee))
    return outcome is not None and holds_run(names, outcome, depth + 1)


def _static(value: Node) -> bool:
    return _run_of_class(bare(value)) is True


def _outcome_of(function: Node) -> Node | None:
    """What a function literal that is called where it stands returns at its end."""
    body = function.get("body") if function.kind in FUNCTIONS and not function.has_token("async") else None
    if body is None:
        return None
    if body.kind != "statement_block":
        return bare(body)
    last = next(iter(reversed(body.named_children())), None)
    value = last.named_children() if last is not None and last.kind == "return_statement" else []
    return bare(value[0]) if value else None


def run_member(literal: Node) -> Node | None:
    """The member of an object literal that is called `run` and may be a function."""
    for member in literal.named_children():
        key = member if member.kind == "shorthand_property_identifier" else member.get("key") or member.get("name")
        if key is None or key_name(key) != "run":
            continue
        value = member.get("value")
        if member.kind != "pair" or (value is not None and bare(value).kind in FUNCTIONS | {"identifier"}):
            return member
    return None


def _run_of_class(node: Node) -> bool | None:
    """Whether the `run` of a class is static; None when there is none that can be called."""
    body = node.get("body")
    members = body.named_children() if body is not None else []
    runs = [member for member in members if _is_run(member)]
    if len(runs) != 1:
        return None
    if runs[0].has_token("static"):
        return True
    return False if not any(_takes_arguments(member) for member in members) else None


def _is_run(member: Node) -> bool:
    if member.kind == "method_definition":
        key = member.get("name")
        accessor = member.has_token("get") or member.has_token("set")
        return key is not None and key_name(key) == "run" and not accessor
    key, value = member.get("property"), member.get("value")
    return key is not None and key_name(key) == "run" and value is not None and bare(value).kind in FUNCTIONS


def _takes_arguments(member: Node) -> bool:
    """Whether a member is a constructor that must be given something."""
    name, parameters = member.get("name"), member.get("parameters")
    if member.kind != "method_definition" or name is None or name.text != "constructor" or parameters is None:
        return False
    return any(parameter.kind != "assignment_pattern" for parameter in parameters.named_children())


def block_with_run(names: Names) -> Node | None:
    """The one block at the top that declares `run`: `{ async function run(params) {…} }`."""
    blocks = [node for node in names.tree.root.named_children() if node.kind == "statement_block"]
    if len(blocks) != 1 or ("run" in names.top.bindings and not names.top.bindings["run"].hoisted):
        return None
    declared = names.inside(blocks[0])
    outside = [name for name, binding in names.top.bindings.items() if not binding.hoisted]
    return blocks[0] if "run" in declared and not any(name in declared for name in outside) else None


def hidden_run(tree: Tree) -> Node | None:
    """The first function or method called `run` anywhere in a program; None when there is none."""
    for node in tree.nodes:
        if node.kind not in FUNCTIONS and node.kind not in {"pair", "field_definition", "variable_declarator"}:
            continue
        key, value = node.get("name") or node.get("key") or node.get("property"), node.get("value")
        if key is None or (key.text if key.kind == "identifier" else key_name(key)) != "run":
            continue
        if node.kind in FUNCTIONS or (value is not None and bare(value).kind in FUNCTIONS):
            return node
    return None
