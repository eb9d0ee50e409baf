"""Forms that the grammar lets pass and the language forbids, whatever the names in them mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vardy_worker.programs.syntax import CLASSES, operator

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings
    from vardy_worker.programs.nodes import Node
    from vardy_worker.programs.syntax import Tree

_REGEX_FLAGS = frozenset("dgimsuvy")
_REGEX_DATA = re.compile(r"\\.|\[(?:[^\]\\]|\\.)*\]", re.DOTALL)
_BAD_NUMBER = re.compile(r"0\d+n")
_TARGETS = frozenset({"member_expression", "subscript_expression"})
_LOGIC = frozenset({"||", "&&"})


def check_forms(tree: Tree, findings: Findings) -> None:
    """Forms that the grammar lets pass and the language forbids."""
    for node in tree.nodes:
        fault = _fault(node)
        if fault is not None:
            findings.add("program.syntax", node, *fault)


def _fault(node: Node) -> tuple[str, str] | None:  # noqa: PLR0911 - one case a kind of node
    """Message and hint for what is wrong with a node; None when nothing is."""
    match node.kind:
        case "variable_declarator":
            return _without_value(node)
        case "try_statement" if node.get("handler") is None and node.get("finalizer") is None:
            return "`try` has neither `catch` nor `finally`.", "Add `catch`, or leave `try` out."
        case "binary_expression":
            return _mixed_operators(node)
        case "regex":
            return _odd_flags(node) or _open_group(node)
        case "number" if _BAD_NUMBER.fullmatch(node.text):
            return f"`{node.text}` is not a number.", "Write it without leading zeros."
        case "assignment_expression" | "augmented_assignment_expression" | "update_expression":
            return _optional_target(node)
        case "private_property_identifier":
            return _undeclared_private(node)
        case "class_body":
            return _two_constructors(node)
        case "super" if not any(above.kind in {"method_definition", "class_body"} for above in node.ancestors()):
            return "`super` stands outside of a class.", "Call the function by its name."
    return None


def _without_value(declarator: Node) -> tuple[str, str] | None:
    declaration, name = declarator.parent, declarator.get("name")
    if declaration is None or name is None or declarator.get("value") is not None:
        return None
    if declaration.has_token("const") or name.kind in {"object_pattern", "array_pattern"}:
        return f"`{name.text[:40]}` gets no value.", "Give it one with `=`, or declare it with `let`."
    return None


def _mixed_operators(node: Node) -> tuple[str, str] | None:
    sign, left, right = operator(node), node.get("left"), node.get("right")
    inner = {operator(side) for side in (left, right) if side is not None and side.kind == "binary_expression"}
    if (sign == "??" and inner & _LOGIC) or (sign in _LOGIC and "??" in inner):
        return "`??` is mixed with `||` or `&&`.", "Put parentheses around the one that comes first."
    if sign == "**" and left is not None and left.kind == "unary_expression":
        return f"`{left.text[:40]} **` is not allowed.", "Put parentheses around the part before `**`."
    return None


def _odd_flags(regex: Node) -> tuple[str, str] | None:
    flags = regex.get("flags")
    text = flags.text if flags is not None else ""
    if len(set(text)) == len(text) and set(text) <= _REGEX_FLAGS and not {"u", "v"} <= set(text):
        return None
    return f"`{text}` are not flags of a regular expression.", "Each of d, g, i, m, s, u, y may be given once."


def _open_group(regex: Node) -> tuple[str, str] | None:
    pattern = regex.get("pattern")
    rest = _REGEX_DATA.sub("", pattern.text if pattern is not None else "")
    depth = 0
    for sign in rest:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
    if not depth:
        return None
    return "A group of this regular expression is not closed, or never opened.", r"Write `\(` for the sign itself."


def _optional_target(node: Node) -> tuple[str, str] | None:
    target = node.get("left") or node.get("argument")
    while target is not None and target.kind in _TARGETS:
        if target.get("optional_chain") is not None:
            return "Nothing can be assigned to `?.`.", "Test the object with `if`, then assign with `.`."
        target = target.get("object")
    return None


def _undeclared_private(name: Node) -> tuple[str, str] | None:
    for above in name.ancestors():
        if above.kind not in CLASSES:
            continue
        body = above.get("body")
        members = body.named_children() if body is not None else []
        declared = (member.get("name") or member.get("property") for member in members)
        if any(found is not None and found.text == name.text for found in declared):
            return None
    return f"`{name.text}` is not declared in a class around it.", "Declare it in the class: `#name = value;`."


def _two_constructors(body: Node) -> tuple[str, str] | None:
    names = (member.get("name") for member in body.named_children() if not member.has_token("static"))
    found = [name for name in names if name is not None and name.text == "constructor"]
    return ("A class has one constructor only.", "Join them.") if len(found) > 1 else None
