"""Numbers, escapes and regular expressions that the grammar lets pass and the language forbids."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from vardy_worker.programs.regex_forms import regex_fault
from vardy_worker.programs.strictness import is_strict

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.programs.nodes import Node

    Fault = tuple[str, str] | None

_DIGITS = r"[0-9](?:_?[0-9])*"
_WHOLE = r"(?:0|[1-9](?:_?[0-9])*)"
_NUMBER = re.compile(
    rf"(?:0[xX][0-9a-fA-F](?:_?[0-9a-fA-F])*|0[oO][0-7](?:_?[0-7])*|0[bB][01](?:_?[01])*|{_WHOLE})n?"
    rf"|(?:{_WHOLE}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_OLD_NUMBER = re.compile(r"0[0-7]+|0[0-9]*[89][0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_CODE_POINT = re.compile(r"\\u\{([0-9a-fA-F]+)\}")
_OLD_ESCAPE = re.compile(r"\\(?:[1-9]|0[0-9])")
_NO_OCTAL = "Write `\\x` and two hexadecimal digits."


def _number(node: Node) -> Fault:
    text = node.text
    behind = node.source[node.end : node.end + 1]
    if behind.isalnum() or behind in {"_", "$"}:
        return f"`{text}{behind}` is not a number.", "Put a space behind the number."
    if _NUMBER.fullmatch(text):
        return None
    if not _OLD_NUMBER.fullmatch(text):
        return f"`{text[:40]}` is not a number.", "Write it without leading zeros, and `_` between digits only."
    return (
        (f"`{text}` is not allowed in strict code.", "Write it without the zero, or with `0o`.")
        if is_strict(node)
        else None
    )


def _escape(node: Node) -> Fault:
    found = _CODE_POINT.fullmatch(node.text)
    if found is not None and (len(found[1].lstrip("0")) > 6 or int(found[1], 16) > sys.maxunicode):  # noqa: PLR2004 - digits of the largest
        return f"`{node.text[:20]}` is no character.", "The last one is `\\u{10FFFF}`."
    following = node.source[node.end : node.end + 1]
    octal = _OLD_ESCAPE.match(node.text + (following if node.text == "\\0" else ""))
    if octal is None or node.parent is None:
        return None
    if node.parent.kind == "template_string" and not _is_tagged(node.parent):
        return f"`{node.text}` is not allowed in a template.", _NO_OCTAL
    if node.parent.kind == "string" and is_strict(node):
        return f"`{node.text}` is not allowed in strict code.", _NO_OCTAL
    return None


def _is_tagged(template: Node) -> bool:
    return template.parent is not None and template.parent.kind == "call_expression" and template.field == "arguments"


RULES: dict[str, Callable[[Node], Fault]] = {"number": _number, "escape_sequence": _escape, "regex": regex_fault}
"""By kind of node: what is wrong with it, and what to do; None when nothing is."""
