"""The line ends of JavaScript, as line feeds."""

from __future__ import annotations

import re

_SEPARATOR = re.compile("[\u2028\u2029]")
_QUOTES = "\"'"
_NO_QUOTE = re.compile(r"(?<=\w)'(?=\w)|\\.")
"""Apostrophes inside of words, and what is escaped."""
_SINGLE_TICK = re.compile(r"(?<![`\\])`(?!``)")
_SEPARATORS_MAX = 10_000
"""More of them than these are no text that somebody wrote: all are line ends."""


def plain_lines(text: str) -> str:
    r"""The text with `\r\n`, `\r`, U+2028 and U+2029 as line feeds; lone surrogates become `?`.

    A U+2028 or U+2029 inside of quotes or of a template is data and stays: JavaScript, the
    grammar and the engine count no line there. Everywhere else they end a line, a comment too.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode()
    separators = [match.start() for match in _SEPARATOR.finditer(text)]
    if not separators:
        return text
    chars = list(text)
    data = _data(text, separators) if len(separators) <= _SEPARATORS_MAX else frozenset()
    for place in separators:
        if place not in data:
            chars[place] = "\n"
    return "".join(chars)


def _data(text: str, separators: list[int]) -> frozenset[int]:
    """Which separators stand inside of quotes or of a template."""
    ticks = [match.start() for match in _SINGLE_TICK.finditer(text)]
    found: set[int] = set()
    passed = line = 0
    for place in separators:
        while passed < len(ticks) and ticks[passed] < place:
            passed += 1
        line = max(line, text.rfind("\n", line, place) + 1)
        if passed % 2 or _is_quoted(text, line, place):
            found.add(place)
        else:
            line = place + 1
    return frozenset(found)


def _is_quoted(text: str, line: int, place: int) -> bool:
    """Whether quotes of one kind open before a place in its line and close behind it."""
    end = text.find("\n", place)
    before = _NO_QUOTE.sub("", text[line:place])
    after = _NO_QUOTE.sub("", text[place : end if end >= 0 else len(text)])
    return any(before.count(quote) % 2 and after.count(quote) for quote in _QUOTES)
