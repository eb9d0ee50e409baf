"""A text that remembers which line of the model's text each of its lines came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the characters from `start` to `end` with `text`, which may have several lines."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """`lines[n]` is the model's line (from 1) of line `n + 1` of `text`; 0: Vardy added it."""

    text: str
    lines: tuple[int, ...]

    @classmethod
    def of(cls, text: str, first: int = 1) -> Sheet:
        """A text whose lines are the model's, from line `first` on."""
        return cls(text, tuple(range(first, first + text.count("\n") + 1)))

    def part(self, first: int, after: int) -> Sheet:
        """The lines from index `first` up to, not including, `after`."""
        return Sheet("\n".join(self.text.split("\n")[first:after]), self.lines[first:after])

    def blank(self, start: int, end: int) -> Edit:
        """The edit that puts spaces over a range and keeps its line ends, and so every column."""
        return Edit(start, end, blanked(self.text[start:end]))

    def apply(self, edits: Iterable[Edit]) -> Sheet:
        """The text after all edits, which must not overlap.

        A new line maps to the first line it took a character from. Edits at the same place
        apply in the order given.
        """
        writer = _Writer(self.lines)
        done = 0
        for edit in sorted(edits, key=lambda e: e.start):
            writer.copy(self.text[done : edit.start])
            writer.replace(self.text[edit.start : edit.end], edit.text)
            done = edit.end
        writer.copy(self.text[done:])
        return writer.sheet()

    def join(self, other: Sheet) -> Sheet:
        """This text, then the other below it."""
        return Sheet(f"{self.text}\n{other.text}", self.lines + other.lines)


def blanked(text: str) -> str:
    """Spaces for every character that does not end a line."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


class _Writer:
    """Builds the edited text and its lines."""

    def __init__(self, lines: tuple[int, ...]) -> None:
        self._from = lines
        self._row = 0
        self._text: list[str] = []
        self._lines: list[int] = [0]

    def _touch(self) -> None:
        if self._lines[-1] == 0:
            self._lines[-1] = self._from[self._row]

    def copy(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self._touch()
                self._row += 1
                self._lines.append(0)
            if line:
                self._touch()
        self._text.append(text)

    def replace(self, old: str, new: str) -> None:
        # Old and new lines go side by side: a replacement with as many lines keeps the map.
        old_rows, new_rows = old.count("\n"), new.count("\n")
        first = self._row
        for number in range(new_rows):
            if old:
                self._row = first + min(number, old_rows)
                self._touch()
            self._lines.append(0)
        self._row = first + old_rows
        if old and new.rpartition("\n")[2]:
            self._touch()
        self._text.append(new)

    def sheet(self) -> Sheet:
        return Sheet("".join(self._text), tuple(self._lines))
