"""What the text shows of a literal: its types when it reaches a function, and its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.base import INT_SAFE_MAX
from vardy_worker.programs.syntax import FUNCTIONS, bare, operator, property_name, string_value

if TYPE_CHECKING:
    from vardy_worker.programs.nodes import Node

_DIGITS_MAX = 1000
_DEPTH_MAX = 40
_COMPARISONS = frozenset({"==", "!=", "===", "!==", "<", ">", "<=", ">=", "in", "instanceof"})
_ARITHMETIC = frozenset({"-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>", ">>>"})
_TEXT_METHODS = frozenset({"toFixed", "toISOString", "toPrecision", "toUpperCase", "toLowerCase", "padStart", "padEnd"})
"""Methods that give a text whatever they are called on."""
_NUMBERS = frozenset({"integer", "number"})


def literal_types(node: Node, depth: int = 0) -> frozenset[str]:
    """The JSON types that a literal, or an expression of certain type, has when it reaches a function.

    Empty when the text does not show it.
    """
    if depth > _DEPTH_MAX:
        return frozenset()
    if node.kind == "number":
        if node.text.endswith("n"):
            return frozenset({"integer", "string"})
        shown = literal_value(node)
        whole = shown is not None and (isinstance(shown[0], int) or shown[0].is_integer())
        return frozenset({"integer", "number"} if whole else {"number"})
    if node.kind == "unary_expression":
        operand = node.get("argument")
        if operand is not None and node.children[0].kind in {"-", "+"} and bare(operand).kind == "number":
            return literal_types(bare(operand))
        return _UNARY_TYPES.get(node.children[0].kind, frozenset())
    if node.kind in FUNCTIONS:
        return frozenset({"function"})
    if node.kind == "binary_expression":
        return _types_of_operator(node, depth)
    return frozenset({"string"}) if _gives_text(node) else _LITERAL_TYPES.get(node.kind, frozenset())


def _gives_text(node: Node) -> bool:
    callee = node.get("function") if node.kind == "call_expression" else None
    return callee is not None and callee.kind == "member_expression" and property_name(callee) in _TEXT_METHODS


def _types_of_operator(node: Node, depth: int) -> frozenset[str]:
    """The types of `a + b` and its like: a text on one side of `+` makes it a text."""
    sign = operator(node)
    if sign in _COMPARISONS:
        return frozenset({"boolean"})
    sides = [literal_types(bare(side), depth + 1) for side in (node.get("left"), node.get("right")) if side is not None]
    if sign == "+" and frozenset({"string"}) in sides:
        return frozenset({"string"})
    numbers = all(side and side <= _NUMBERS for side in sides)
    return _NUMBERS if numbers and (sign == "+" or sign in _ARITHMETIC) else frozenset()


_UNARY_TYPES = {"!": frozenset({"boolean"}), "delete": frozenset({"boolean"}), "typeof": frozenset({"string"})}
_LITERAL_TYPES = {
    "string": frozenset({"string"}),
    "template_string": frozenset({"string"}),
    "true": frozenset({"boolean"}),
    "false": frozenset({"boolean"}),
    "null": frozenset({"null"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object"}),
    "regex": frozenset({"regex"}),
}


def literal_value(node: Node) -> tuple[Any] | None:
    """The value of a string, number, boolean or null literal, in a tuple; None for others."""
    if node.kind in {"string", "template_string"}:
        text = string_value(node)
        return None if text is None else (text,)
    if node.kind in {"true", "false"}:
        return (node.kind == "true",)
    if node.kind == "null":
        return (None,)
    if node.kind == "binary_expression":
        return _joined_texts(node)
    if node.kind == "number":
        number = _number(node.text)
        return None if number is None else (number,)
    if node.kind == "unary_expression":
        operand = node.get("argument")
        inner = literal_value(bare(operand)) if operand is not None and bare(operand).kind == "number" else None
        if inner is not None and node.children[0].kind in {"-", "+"}:
            return (-inner[0],) if node.children[0].kind == "-" else inner
    return None


def _joined_texts(node: Node) -> tuple[Any] | None:
    """The value of texts joined by `+`; None unless all of them are literals."""
    texts: list[str] = []
    stack = [node]
    while stack:
        part = bare(stack.pop())
        left, right = part.get("left"), part.get("right")
        if part.kind == "binary_expression" and operator(part) == "+" and left is not None and right is not None:
            stack.extend((right, left))
            continue
        text = string_value(part)
        if text is None or len(texts) > _DIGITS_MAX:
            return None
        texts.append(text)
    return ("".join(texts),)


def _number(text: str) -> float | None:
    if len(text) > _DIGITS_MAX:
        return None
    digits = text.replace("_", "").removesuffix("n").lower()
    try:
        if digits[:2] in {"0x", "0o", "0b"}:
            return int(digits, 0)
        return int(digits) if digits.isdigit() else float(digits)
    except (ValueError, OverflowError):
        return None


def beyond_safe(shown: tuple[Any] | None) -> bool:
    """Whether a value is an integer whose digits a JavaScript number cannot hold."""
    return shown is not None and isinstance(shown[0], int) and abs(shown[0]) > INT_SAFE_MAX


def is_big_integer(shown: tuple[Any] | None) -> bool:
    """Whether a text is an integer that a JavaScript number cannot hold; those travel as texts."""
    digits = shown[0].removeprefix("-") if shown is not None and isinstance(shown[0], str) else ""
    return digits.isascii() and digits.isdigit() and len(digits) < _DIGITS_MAX and int(digits) > INT_SAFE_MAX
