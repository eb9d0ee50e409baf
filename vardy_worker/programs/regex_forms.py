"""Patterns and flags of regular expressions that no engine accepts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_worker.programs.nodes import Node

_FLAGS = frozenset("dgimsuvy")
_TOKEN = re.compile(
    r"(?P<escape>\\(?:k<[^>]*>|[pP]\{[^}]*\}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[1-9][0-9]*|.))"
    r"|(?P<set>\[(?:[^\]\\]|\\.)*\])"
    r"|(?P<open>\((?:\?(?:<(?![=!])(?P<name>[^>)]*)>|<?[=!]|:))?)"
    r"|(?P<close>\))"
    r"|(?P<count>\{(?P<least>[0-9]+)(?:(?P<comma>,)(?P<most>[0-9]*))?\}\??)"
    r"|(?P<repeat>[*+?]\??)"
    r"|(?P<start>[\^|])|(?P<other>.)",
    re.DOTALL,
)
_RANGE = re.compile(r"(\\.|[^\\])-(\\.|[^\\\]])", re.DOTALL)
_UNICODE_ESCAPES = re.compile(
    r"\\(?:[dDsSwWbBfnrtv0^$\\.*+?()\[\]{}|/-]|k<|[pP]\{|u\{|u[0-9a-fA-F]{4}|x|c[A-Za-z]|[1-9])"
)
_GROUP_NAME = re.compile(r"(?:[\w$]|\\u\{?[0-9a-fA-F]{1,6}\}?)+")
_LAST_CHARACTER = 0x10FFFF


def regex_fault(regex: Node) -> tuple[str, str] | None:
    """What is wrong with a regular expression, and what to do; None when nothing is."""
    flags, pattern = regex.get("flags"), regex.get("pattern")
    marks = flags.text if flags is not None else ""
    if len(set(marks)) != len(marks) or not set(marks) <= _FLAGS or {"u", "v"} <= set(marks):
        return f"`{marks}` are not flags of a regular expression.", "Each of d, g, i, m, s, u, y may be given once."
    if pattern is None or "v" in marks:
        return None
    return _Pattern(pattern.text, unicode="u" in marks).fault()


class _Pattern:
    """Reads one pattern from left to right."""

    def __init__(self, text: str, *, unicode: bool) -> None:
        self._text = text
        self._unicode = unicode
        self._names: list[str] = []
        self._wanted: list[str] = []
        self._groups = 0
        self._back = 0

    def fault(self) -> tuple[str, str] | None:
        found = self._read()
        if found is not None:
            return found
        if len(set(self._names)) != len(self._names) and "|" not in self._text:
            return "Two groups of this regular expression have one name.", "Give one of them another name."
        if (self._unicode or self._names) and not set(self._wanted) <= set(self._names):
            return "A group that this regular expression names does not exist.", r"Check the names in `\k<…>`."
        if self._unicode and self._back > self._groups:
            return f"There is no group {self._back} in this regular expression.", "Count the groups."
        return None

    def _read(self) -> tuple[str, str] | None:  # noqa: C901 - one case a token
        repeatable = False
        looks: list[bool] = []
        for token in _TOKEN.finditer(self._text):
            kind = token.lastgroup if token.lastgroup not in {"name", "least", "comma", "most"} else ""
            kind = kind or ("open" if token["open"] else "count")
            fault: tuple[str, str] | None = None
            if kind in {"repeat", "count"}:
                fault = self._counted(token) if repeatable else self._nothing(kind)
                repeatable = False
            elif kind == "open":
                looks.append(token[0].startswith(("(?<=", "(?<!")) or (self._unicode and token[0] in {"(?=", "(?!"}))
                fault = self._opened(token)
                repeatable = False
            elif kind == "close":
                if not looks:
                    return _UNBALANCED
                repeatable = not looks.pop()
            elif kind == "escape":
                fault = self._escaped(token[0])
                repeatable = token[0] not in {r"\b", r"\B"}
            elif kind == "set":
                fault = self._set(token[0])
                repeatable = True
            else:
                repeatable = kind == "other" and token[0] != "$"
                if self._unicode and kind == "other" and token[0] in "{}]":
                    fault = (f"`{token[0]}` must be escaped here.", rf"Write `\{token[0]}`.")
                if kind == "other" and token[0] == "[":
                    fault = _UNBALANCED
            if fault is not None:
                return fault
        return _UNBALANCED if looks else None

    def _nothing(self, kind: str) -> tuple[str, str] | None:
        if kind == "count" and not self._unicode:
            return "There is nothing to repeat before `{`.", r"Write `\{` for the sign itself."
        return "There is nothing to repeat in this regular expression.", "Escape the sign, or put something before it."

    def _counted(self, token: re.Match[str]) -> tuple[str, str] | None:
        if token["most"] and int(token["most"][:20]) < int(token["least"][:20]):
            return "The numbers of this repetition are in the wrong order.", "Put the smaller one first."
        return None

    def _opened(self, token: re.Match[str]) -> tuple[str, str] | None:
        name = token["name"]
        if name is not None and (not _GROUP_NAME.fullmatch(name) or name[:1].isdigit()):
            return f"`{name[:40]}` is no name of a group.", "Use letters and digits, a letter first."
        if name is not None:
            self._names.append(name)
        self._groups += token[0] == "(" or name is not None
        return None

    def _escaped(self, text: str) -> tuple[str, str] | None:
        if text.startswith("\\k<"):
            self._wanted.append(text[3:-1])
        if text[1].isdigit() and text[1] != "0":
            self._back = max(self._back, int(text[1:][:9]))
        if not self._unicode:
            return None
        if text.startswith("\\u{") and int(text[3:-1][:20] or "0", 16) > _LAST_CHARACTER:
            return f"`{text}` is no character.", "The last one is `\\u{10FFFF}`."
        if not _UNICODE_ESCAPES.match(text) or text in {"\\p", "\\P", "\\u"}:
            return f"`{text}` is no escape of a regular expression with `u`.", "Leave the backslash out."
        return None

    def _set(self, text: str) -> tuple[str, str] | None:
        inner = text[1:-1].removeprefix("^")
        for first, last in _RANGE.findall(inner):
            if len(first) == 1 and len(last) == 1 and first > last:
                return f"`{first}-{last}` is a range in the wrong order.", "Put the smaller sign first."
        return None


_UNBALANCED = (
    "A group of this regular expression is not closed, or never opened.",
    r"Write `\(` for the sign itself.",
)
