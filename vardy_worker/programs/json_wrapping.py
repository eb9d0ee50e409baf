"""Programs inside JSON: `{"code": "async function run(params) {…}"}`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from vardy_worker.programs.sheet import Sheet
from vardy_worker.programs.syntax import key_name, parse_javascript

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYS = frozenset({"code", "program", "javascript", "js", "typescript", "source", "script"})
_CARRIERS = frozenset({"arguments", "input", "parameters", "args"})
_CLOSINGS = {"{": "}", "[": "]", '"': '"'}
_CODE = re.compile(r"\bfunction\b|=>|\bawait\b|\breturn\b")
_OPENING = re.compile(r"\{\s{0,200}\"|\[\s{0,200}\{")
_PROGRAM = re.compile(
    r"\s{0,200}(?:```|//|/\*|(?:export\s{1,9}(?:default\s{1,9})?)?(?:async\b|function\b|const\s|let\s|var\s))"
)
_LEVELS_MAX = 4
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def unwrap_json(sheet: Sheet) -> Sheet | None:
    """The program inside of a JSON text, each line mapped to where it stands in the JSON.

    None when the text holds no JSON object with a program under one of the usual keys.
    Line ends inside of strings are tolerated, as models write them.
    """
    start = _start(sheet.text)
    if start >= 0 and sheet.text[start] != '"' and not _may_hold_program(sheet.text):
        return None
    end = sheet.text.rfind(_CLOSINGS[sheet.text[start]]) + 1 if start >= 0 else 0
    if end <= start + 1:
        return None
    try:
        data = json.loads(sheet.text[start:end], strict=False)
    except (ValueError, RecursionError):
        return _unwrap_object(sheet, start, end)
    lines = next(_line_lists(data), None)
    if lines is not None:
        return _joined_lines(sheet, start, lines)
    codes = [data] if isinstance(data, str) else [*_texts(data), *_programs(data)]
    code = next((code for code in codes if _CODE.search(code)), next(iter(codes), None))
    if code is None or (isinstance(data, str) and not _CODE.search(code)):
        return None
    for literal in _strings(sheet.text, start):
        decoded = _decode(sheet, *literal)
        if decoded.text == code:
            return _with_plain_lines(decoded)
    return None


def unescaped(sheet: Sheet) -> Sheet | None:
    """A program in one line whose line ends are written as escapes; None when it is not one."""
    text = sheet.text.strip()
    if "\n" in text or "\\n" not in text or not _PROGRAM.match(text):
        return None
    return _decode(sheet, 0, len(sheet.text))


def _may_hold_program(text: str) -> bool:
    return any(key in text for key in _KEYS) or ("run" in text and _CODE.search(text) is not None)


def _start(text: str) -> int:
    """Where the JSON begins; -1 when nothing looks like it."""
    space = len(text) - len(text.lstrip())
    if text[space : space + 1] in _CLOSINGS:
        return space
    found = _OPENING.search(text)
    return found.start() if found is not None else -1


def _unwrap_object(sheet: Sheet, start: int, end: int) -> Sheet | None:
    """The program inside of an object that is JavaScript rather than JSON, with a template for the code."""
    text = sheet.text[start:end]
    tree = parse_javascript(f"({text}\n)")
    if not tree.ok or text[:1] != "{":
        return None
    for pair in (node for node in tree.nodes if node.kind == "pair"):
        key, value = pair.get("key"), pair.get("value")
        if (
            key is None
            or value is None
            or key_name(key) not in _KEYS
            or value.kind not in {"string", "template_string"}
        ):
            continue
        if any(child.kind == "template_substitution" for child in value.children):
            continue
        # One parenthesis stands before the text in the tree.
        decoded = _with_plain_lines(_decode(sheet, start + value.start, start + value.end - 2))
        if _CODE.search(decoded.text):
            return decoded
    return None


def _texts(data: Any, level: int = 0) -> Iterator[str]:
    """The texts under the usual keys, outer ones first."""
    if level > _LEVELS_MAX:
        return
    if isinstance(data, list):
        data = dict(enumerate(data))
    if isinstance(data, dict):
        yield from (v for k, v in data.items() if isinstance(v, str) and str(k).lower() in _KEYS and v.strip())
        # Calls of tools carry their arguments as JSON inside of a text.
        yield from (v for k, v in data.items() if isinstance(v, str) and k in _CARRIERS and v.lstrip()[:1] == "{")
        for value in data.values():
            yield from _texts(value, level + 1)


def _line_lists(data: Any, level: int = 0) -> Iterator[list[str]]:
    """Lists of lines under the usual keys."""
    if not isinstance(data, dict | list) or level > _LEVELS_MAX:
        return
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        texts = value if isinstance(value, list) and all(isinstance(text, str) for text in value) else []
        if str(key).lower() in _KEYS and any(_CODE.search(text) for text in texts):
            yield texts
        yield from _line_lists(value, level + 1)


def _joined_lines(sheet: Sheet, start: int, lines: list[str]) -> Sheet | None:
    """A program whose lines are the texts of a list."""
    decoded = [_decode(sheet, *literal) for literal in _strings(sheet.text, start)]
    texts = [part.text for part in decoded]
    for first in range(len(texts) - len(lines) + 1):
        if texts[first] == lines[0] and texts[first : first + len(lines)] == lines:
            rows = (row for part in decoded[first : first + len(lines)] for row in part.lines)
            return _with_plain_lines(Sheet("\n".join(lines), tuple(rows)))
    return None


def _programs(data: Any, level: int = 0) -> Iterator[str]:
    """The texts under any key that are a program with `run`."""
    if isinstance(data, str):
        if _PROGRAM.match(data) and "run" in data and _CODE.search(data):
            yield data
    elif isinstance(data, dict | list) and level <= _LEVELS_MAX:
        for value in data.values() if isinstance(data, dict) else data:
            yield from _programs(value, level + 1)


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
            # Models forget to escape the backslash of `/\\d+/`, which no JSON text may have.
            char = _ESCAPES.get(escape, f"\\{escape}" if escape.isalnum() else escape)
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
