"""Forms that the grammar lets pass and the language forbids, whatever the names in them mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs import class_forms, literal_forms, name_forms, statement_forms, target_forms
from vardy_worker.programs.syntax import operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.programs.codes import Findings
    from vardy_worker.programs.nodes import Node
    from vardy_worker.programs.syntax import Tree

    Fault = tuple[str, str] | None

_LOGIC = frozenset({"||", "&&"})
_UNARY = frozenset({"unary_expression", "await_expression"})


def check_forms(tree: Tree, findings: Findings) -> None:
    """Forms that the grammar lets pass and the language forbids."""
    for node in tree.nodes:
        for rule in _RULES.get(node.kind, ()):
            fault = rule(node)
            if fault is not None:
                findings.add("program.syntax", node, *fault)


def _without_value(declarator: Node) -> Fault:
    declaration, name = declarator.parent, declarator.get("name")
    if declaration is None or name is None or declarator.get("value") is not None:
        return None
    if declaration.has_token("const") or name.kind in {"object_pattern", "array_pattern"}:
        return f"`{name.text[:40]}` gets no value.", "Give it one with `=`, or declare it with `let`."
    return None


def _mixed_operators(node: Node) -> Fault:
    sign, left, right = operator(node), node.get("left"), node.get("right")
    inner = {operator(side) for side in (left, right) if side is not None and side.kind == "binary_expression"}
    if (sign == "??" and inner & _LOGIC) or (sign in _LOGIC and "??" in inner):
        return "`??` is mixed with `||` or `&&`.", "Put parentheses around the one that comes first."
    if sign == "**" and left is not None and left.kind in _UNARY:
        return f"`{left.text[:40]} **` is not allowed.", "Put parentheses around the part before `**`."
    return None


def _caught(statement: Node) -> Fault:
    if statement.get("handler") is None and statement.get("finalizer") is None:
        return "`try` has neither `catch` nor `finally`.", "Add `catch`, or leave `try` out."
    return None


_OWN: dict[str, Callable[[Node], Fault]] = {
    "variable_declarator": _without_value,
    "try_statement": _caught,
    "binary_expression": _mixed_operators,
}
_GROUPS = (
    _OWN,
    class_forms.RULES,
    literal_forms.RULES,
    name_forms.RULES,
    statement_forms.RULES,
    target_forms.RULES,
)
_RULES: dict[str, tuple[Callable[[Node], Fault], ...]] = {
    kind: tuple(group[kind] for group in _GROUPS if kind in group)
    for kind in {kind for group in _GROUPS for kind in group}
}
