"""JSON as YAML for people: one key a line, short lists in a row, texts of several lines as blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from vardy_worker.recipe_files.scalars import is_shown, quoted, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonValue

WIDTH: Final = 100
"""Characters of a list up to which it stands in a row."""
_KEY: Final = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_KEY_CHARACTERS_MAX: Final = 1000
"""Longer keys must be announced by a question mark."""


def yaml_lines(value: Mapping[str, JsonValue]) -> list[str]:
    """The lines of a mapping, without line ends. No line holds `*/`."""
    return [line for key, item in value.items() for line in _entry(key, item)]


def _entry(key: str, value: JsonValue) -> list[str]:
    name = spelled(key) if _KEY.fullmatch(key) else quoted(key)
    if len(name) > _KEY_CHARACTERS_MAX:
        return [f"? {name}", *_attached(":", value)]
    return _attached(f"{name}:", value)


def _attached(start: str, value: JsonValue) -> list[str]:
    """The value behind its key: in the same line where it fits, indented below it where it does not."""
    if (short := _in_a_row(value)) is not None:
        return [f"{start} {short}"]
    if isinstance(value, str):
        kept = "" if value.endswith("\n") else "-"
        return [f"{start} |{kept}", *_indented(value.removesuffix("\n").split("\n"))]
    return [start, *_indented(_block(value))]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]


def _block(value: JsonValue) -> list[str]:
    if isinstance(value, dict):
        return yaml_lines(value)
    return [line for item in value for line in _item(item)]


def _item(value: JsonValue) -> list[str]:
    if (short := _in_a_row(value)) is not None:
        return [f"- {short}"]
    if isinstance(value, str):
        return [f"- {quoted(value)}"]
    first, *others = _block(value)
    return [f"- {first}", *_indented(others)]


def _in_a_row(value: JsonValue) -> str | None:
    """The value in one line; None where it needs several."""
    if isinstance(value, str):
        return None if _is_block(value) else spelled(value)
    if isinstance(value, dict):
        return None if value else "{}"
    if not isinstance(value, list):
        return spelled(value)
    if any(isinstance(item, dict | list) for item in value):
        return None
    row = "[" + ", ".join(spelled(item, in_flow=True) for item in value) + "]"
    return row if len(row) <= WIDTH or not value else None


def _is_block(text: str) -> bool:
    """Whether a text of several lines may stand as it is: nothing hidden in it, and no end of the comment."""
    lines = text.removesuffix("\n").split("\n")
    return (
        len(lines) > 1
        and lines[0][:1] not in {"", " "}
        and bool(lines[-1])
        and "*/" not in text
        and all(is_shown(line) and line == line.rstrip(" ") for line in lines)
    )
