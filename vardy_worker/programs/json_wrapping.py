"""Programs inside JSON: `{"code": "async function run(params) {…}"}`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vardy_worker.programs.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYS = frozenset({"code", "program", "javascript", "js", "typescript", "source", "script"})
_LEVELS_MAX = 4
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def unwrap_json(sheet: Sheet) -> Sheet | None:
    """The program inside of a JSON text, each line mapped to where it stands in the JSON.

    None when the text holds no JSON object with a program under one of the usual keys.
    Line ends inside of strings are tolerated, as models write them.
    """
    start, end = sheet.text.find("{"), sheet.text.rfind("}")
    if start < 0 or end < start or not any(f'"{key}"' in sheet.text for key in _KEYS):
        return None
    try:
        data = json.loads(sheet.text[start : end + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    code = _find(data)
    if code is None:
        return None
    for literal in _strings(sheet.text, start):
        decoded = _decode(sheet, *literal)
        if decoded.text == code:
            return _with_plain_lines(decoded)
    return None


def _find(data: Any, level: int = 0) -> str | None:
    if level > _LEVELS_MAX:
        return None
    if isinstance(data, list):
        data = dict(enumerate(data))
    if not isinstance(data, dict):
        return None
    for key, value in data.items():
        if isinstance(value, str) and str(key).lower() in _KEYS and value.strip():
            return value
    found = (_find(value, level + 1) for value in data.values() if isinstance(value, dict | list))
    return next((code for code in found if code is not None), None)


def _strings(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The places of the string literals of a JSON text, without their quotes."""
    place = start
    while (opening := text.find('"', place)) >= 0:
        end = opening + 1
        while end < len(text) and text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        yield opening + 1, min(end, len(text))
        place = end + 1


def _decode(sheet: Sheet, start: int, end: int) -> Sheet:
    """The text of a JSON string, each of its lines mapped to the line it stands in."""
    row = sheet.text.count("\n", 0, start)
    text: list[str] = []
    lines = [sheet.lines[row]]
    place = start
    while place < end:
        char = sheet.text[place]
        size = 1
        if char == "\n":
            row += 1
        elif char == "\\":
            escape = sheet.text[place + 1 : place + 2]
            size = 6 if escape == "u" else 2
            char = _ESCAPES.get(escape, escape)
            if escape == "u":
                char = _unicode(sheet.text[place + 2 : place + 6])
        text.append(char)
        if char == "\n":
            lines.append(sheet.lines[row])
        place += size
    # Two escapes of surrogates make one character, as in json.loads.
    joined = "".join(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Sheet(joined, tuple(lines))


def _unicode(digits: str) -> str:
    try:
        return chr(int(digits, 16))
    except ValueError:
        return "\ufffd"


def _with_plain_lines(sheet: Sheet) -> Sheet:
    """The text with all line ends as line feeds."""
    return Sheet(sheet.text.replace("\r\n", "\n").replace("\r", "\n"), sheet.lines)
