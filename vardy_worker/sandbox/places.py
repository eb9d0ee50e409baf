"""Where in a program an error really is.

QuickJS records positions of calls and throws, not of property reads and variables: an
error in one of those is reported at the last position before it, often the function's
first line. Its message names the property or variable, so where that name stands only once
after the reported position, that is the place.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PROPERTY: Final = re.compile(r"^cannot (?:read|set) property '(?P<name>[^']+)' of (?:undefined|null)$")
_VARIABLE: Final = re.compile(r"^[`']?(?P<name>[\w$]+)[`']? (?:is not defined|does not exist here)")


class Place(NamedTuple):
    """Line and column, from 1; zeros when unknown."""

    line: int
    column: int


def narrowed(source: str, reported: Place, message: str) -> Place:
    """The place of an error with this message, at or after the reported one."""
    pattern = _searched(message)
    if pattern is None or reported.line < 1:
        return reported
    begin = _offset(source, reported)
    found = list(pattern.finditer(source, begin))
    if len(found) != 1:
        return reported
    at = found[0].start("at")
    line_begin = source.rfind("\n", 0, at) + 1
    return Place(line=source.count("\n", 0, at) + 1, column=at - line_begin + 1)


def _searched(message: str) -> re.Pattern[str] | None:
    of_property = _PROPERTY.match(message)
    if of_property:
        # `.name`, `["name"]` and `{name} = …` alike.
        return re.compile(rf"(?<![\w$])(?P<at>{re.escape(of_property['name'])})(?![\w$])")
    of_variable = _VARIABLE.match(message)
    if of_variable:
        return re.compile(rf"(?<![\w$.])(?P<at>{re.escape(of_variable['name'])})(?![\w$])")
    return None


def _offset(source: str, place: Place) -> int:
    lines = source.split("\n")
    before = sum(len(line) + 1 for line in lines[: place.line - 1])
    return before + max(0, place.column - 1)
