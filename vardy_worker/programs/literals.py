"""What the text shows of a literal: its types when it reaches a function, and its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.base import INT_SAFE_MAX
from vardy_worker.programs.syntax import FUNCTIONS, bare, string_value

if TYPE_CHECKING:
    from vardy_worker.programs.nodes import Node

_DIGITS_MAX = 1000


def literal_types(node: Node) -> frozenset[str]:
    """The JSON types a literal has when it reaches a function; empty when the text does not show it."""
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
        return frozenset({"boolean"}) if node.children[0].kind == "!" else frozenset()
    if node.kind in FUNCTIONS:
        return frozenset({"function"})
    return _LITERAL_TYPES.get(node.kind, frozenset())


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
    if node.kind == "number":
        number = _number(node.text)
        return None if number is None else (number,)
    if node.kind == "unary_expression":
        operand = node.get("argument")
        inner = literal_value(bare(operand)) if operand is not None and bare(operand).kind == "number" else None
        if inner is not None and node.children[0].kind in {"-", "+"}:
            return (-inner[0],) if node.children[0].kind == "-" else inner
    return None


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
