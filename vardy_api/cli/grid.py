"""Tables without lines that keep every column: only the named ones give way to a narrow terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

GAP = 2
NARROWEST = 8
"""Columns that a column which gives way keeps at least."""


class Grid:
    """Rows of cells. `gives_way` names columns in the order in which they are narrowed.

    Those in `keeps` stay as wide as it says until the others are at their narrowest.

    A narrowed cell is cut with an ellipsis, in `whole` wrapped instead. Cells are text
    that is safe to print; see `text.visible`.
    """

    def __init__(
        self,
        *columns: str,
        gives_way: tuple[str, ...],
        keeps: Mapping[str, int] | None = None,
        whole: bool = False,
        right: frozenset[str] = frozenset(),
    ) -> None:
        self._columns = columns
        self._gives_way = gives_way
        self._keeps = keeps or {}
        self._whole = whole
        self._right = right
        self._rows: list[tuple[Text, ...]] = []

    def row(self, *cells: str | Text) -> None:
        """Adds a row."""
        self._rows.append(tuple(cell if isinstance(cell, Text) else Text(cell) for cell in cells))

    def fitted(self, width: int) -> Table:
        """The table, drawn to fit into `width` columns where that is possible."""
        widths = self._widths(width)
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        for name in self._columns:
            table.add_column(
                name.upper(),
                width=widths[name],
                justify="right" if name in self._right else "left",
                overflow="fold" if self._whole else "ellipsis",
                no_wrap=not self._whole,
            )
        for row in self._rows:
            table.add_row(*row)
        return table

    def _widths(self, width: int) -> Mapping[str, int]:
        widths = {
            name: max([cell_len(name), *(cell_len(row[index].plain) for row in self._rows)])
            for index, name in enumerate(self._columns)
        }
        excess = sum(widths.values()) + GAP * (len(widths) - 1) - width
        turns = [(name, self._keeps.get(name, 0)) for name in self._gives_way]
        turns += [(name, 0) for name in self._keeps]
        for name, kept in turns:
            if excess <= 0:
                break
            least = max(NARROWEST, cell_len(name), kept)
            given = min(excess, max(0, widths[name] - least))
            widths[name] -= given
            excess -= given
        return widths
