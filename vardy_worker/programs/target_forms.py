"""What can be assigned to, and what patterns may look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.syntax import bare, short_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.programs.nodes import Node

    Fault = tuple[str, str] | None

_MEMBERS = frozenset({"member_expression", "subscript_expression"})
_SIMPLE = _MEMBERS | {"identifier", "undefined"}
_PATTERNS = frozenset({"array_pattern", "object_pattern"})
_OPTIONAL = ("Nothing can be assigned to `?.`.", "Test the object with `if`, then assign with `.`.")
_NAME = "Assign to a variable or a property."


def _assignment(node: Node) -> Fault:
    target = node.get("left")
    if target is None:
        return None
    pattern = node.kind == "assignment_expression" and target.kind in _PATTERNS
    if not pattern and bare(target).kind not in _SIMPLE:
        return f"Nothing can be assigned to `{short_text(target)}`.", _NAME
    return _optional(target)


def _update(node: Node) -> Fault:
    target = node.get("argument")
    if target is None:
        return None
    if bare(target).kind not in _SIMPLE:
        return f"`{short_text(target)}` cannot be counted up or down.", _NAME
    return _optional(target)


def _optional(target: Node | None) -> Fault:
    target = bare(target) if target is not None else None
    while target is not None and target.kind in _MEMBERS:
        if target.get("optional_chain") is not None:
            return _OPTIONAL
        target = target.get("object")
    return None


def _array_pattern(pattern: Node) -> Fault:
    return _rest(pattern) or next((fault for child in pattern.named_children() if (fault := _optional(child))), None)


def _object_pattern(pattern: Node) -> Fault:
    for child in pattern.named_children():
        inner = child.named_children() if child.kind == "rest_pattern" else []
        if inner and bare(inner[0]).kind in _PATTERNS:
            return "`...` in an object pattern takes a name.", "Give the rest a name, and take it apart afterwards."
        fault = _optional(child.get("value"))
        if fault is not None:
            return fault
    return _rest(pattern)


def _rest(pattern: Node) -> Fault:
    children = pattern.named_children()
    if any(child.kind in {"rest_pattern", "spread_element"} for child in children[:-1]):
        return "`...` must stand at the end.", "Move it behind the others."
    last = children[-1] if children else None
    if last is not None and last.kind == "rest_pattern" and last is not pattern.children[-2]:
        return "No comma may stand behind `...`.", "Leave the comma out."
    return None


def _rest_pattern(rest: Node) -> Fault:
    inner = rest.named_children()
    if inner and inner[0].kind == "assignment_pattern":
        return "`...` takes no default.", "Leave it out; without arguments the rest is `[]`."
    return None


RULES: dict[str, Callable[[Node], Fault]] = {
    "assignment_expression": _assignment,
    "augmented_assignment_expression": _assignment,
    "update_expression": _update,
    "array_pattern": _array_pattern,
    "object_pattern": _object_pattern,
    "formal_parameters": _rest,
    "rest_pattern": _rest_pattern,
}
"""By kind of node: what is wrong with it, and what to do; None when nothing is."""
