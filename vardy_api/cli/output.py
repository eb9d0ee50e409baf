"""Where commands write: JSON or text to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from functools import cached_property
from typing import IO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from vardy_api.cli.grid import Grid
from vardy_api.cli.text import visible

PIPED_WIDTH = 10_000
"""Columns where nobody's terminal sets a limit, so that pipes get whole lines."""


class Output:
    """The two streams. Colour and cutting to the width happen on a terminal only."""

    @cached_property
    def stdout(self) -> Console:
        """For what was asked."""
        return _console(sys.stdout)

    @cached_property
    def stderr(self) -> Console:
        """For progress, questions and errors."""
        return _console(sys.stderr)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at standard output."""
        return self.stdout.is_terminal

    @property
    def now(self) -> datetime:
        """The time that `ago` and `until` are measured from."""
        return datetime.now(UTC)

    def line(self, text: str | Text = "", style: str = "") -> None:
        """One paragraph, wrapped at the terminal's width."""
        self.stdout.print(text if isinstance(text, Text) else Text(visible(text), style=style))

    def raw(self, text: str) -> None:
        """Text that must stay as it is, apart from characters that could deceive."""
        sys.stdout.write(visible(text if text.endswith("\n") else text + "\n"))
        sys.stdout.flush()

    def exact(self, text: str) -> None:
        """A text for a file: as it is, except on a terminal, where it could deceive."""
        if self.is_terminal:
            self.raw(text)
        else:
            sys.stdout.write(text)
            sys.stdout.flush()

    def grid(self, grid: Grid, *, indent: int = 0) -> None:
        """A table, as wide as the terminal allows."""
        self.draw(grid.fitted(self.stdout.width - indent), indent=indent)

    def draw(self, renderable: RenderableType, *, indent: int = 0) -> None:
        """A drawing; pipes get it without the blanks that fill its lines up."""
        drawn = Padding(renderable, (0, 0, 0, indent), expand=False) if indent else renderable
        if self.is_terminal:
            self.stdout.print(drawn)
            return
        with self.stdout.capture() as capture:
            self.stdout.print(drawn)
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
        sys.stdout.flush()


def _console(file: IO[str]) -> Console:
    width = None if file.isatty() or "COLUMNS" in os.environ or "FORCE_COLOR" in os.environ else PIPED_WIDTH
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
