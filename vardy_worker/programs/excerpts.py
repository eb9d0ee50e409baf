"""Source excerpts as compilers print them."""

from __future__ import annotations

import unicodedata

_LINES_AROUND = 1
_WIDTH_MAX = 160
_WIDE_SPACE = "\u3000"


def excerpt(source: str, line: int, column: int, line_map: tuple[int, ...] = ()) -> str:
    """The line of a finding with one line around it, and a caret under the column.

        2 |   const rows = await list_invoices({});
      > 3 |   return rows.lenght.toFixed(2);
          |               ^
        4 | }

    `line` and `column` count from 1. With a `line_map` the source is an extracted program,
    and `line` is one of the model's text. A line outside of the source gives "".
    """
    lines = source.split("\n")
    shown = {number + 1: number for number in range(len(lines))}
    if line_map:
        shown = {}
        for number, known in enumerate(line_map[: len(lines)]):
            if known:
                shown.setdefault(known, number)
    if line not in shown:
        return ""
    wanted = [number for number in range(line - _LINES_AROUND, line + _LINES_AROUND + 1) if number in shown]
    width = len(str(wanted[-1]))
    out: list[str] = []
    for number in wanted:
        text = lines[shown[number]].replace("\t", " ").rstrip()
        cut = max(0, column - _WIDTH_MAX // 2) if len(text) > _WIDTH_MAX else 0
        mark = ">" if number == line else " "
        out.append(f"{mark} {number:>{width}} | {text[cut : cut + _WIDTH_MAX]}".rstrip())
        if number == line:
            out.append(f"  {' ' * width} | {_space_below(text.ljust(column)[cut : max(column, 1) - 1])}^")
    return "\n".join(out)


def _space_below(text: str) -> str:
    """Blanks as wide as a text, which may have Chinese signs or emoji that fill two cells of a terminal."""
    return "".join(_WIDE_SPACE if unicodedata.east_asian_width(sign) in {"W", "F"} else " " for sign in text)
