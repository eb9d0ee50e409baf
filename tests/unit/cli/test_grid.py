"""Tables fit the terminal, and no column disappears."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vardy_api.cli.grid import GAP, NARROWEST, Grid

COLUMNS = ("job", "status", "asked")


def lines(grid: Grid, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(grid.fitted(width))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_wide_terminal_shows_everything() -> None:
    grid = Grid(*COLUMNS, gives_way=("asked",))
    grid.row("job_1", "SUCCESS", "how much is owed by whom")
    assert lines(grid, 80) == ["JOB    STATUS   ASKED", "job_1  SUCCESS  how much is owed by whom"]


def test_a_narrow_terminal_cuts_only_what_gives_way() -> None:
    grid = Grid(*COLUMNS, gives_way=("asked",))
    grid.row("job_1", "SUCCESS", "how much is owed by whom")
    assert lines(grid, 30)[1] == "job_1  SUCCESS  how much is o…"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (46, "job_1  how much is owed by …  PENDING_APPROVAL"),
        (31, "job_1  how much is …  PENDING_…"),
        (28, "job_1  how much i…  PENDING…"),
    ],
)
def test_a_column_that_is_kept_is_the_last_to_be_cut(width: int, shown: str) -> None:
    grid = Grid("job", "asked", "status", gives_way=("asked", "status"), keeps={"asked": 13})
    grid.row("job_1", "how much is owed by whom", "PENDING_APPROVAL")
    assert lines(grid, width)[1] == shown


def test_a_whole_table_wraps_instead() -> None:
    grid = Grid("what", "note", gives_way=("note",), whole=True)
    grid.row("job_1", "repeating it is not safe")
    assert " ".join(line[7:].strip() for line in lines(grid, 22)[1:]) == "repeating it is not safe"


@pytest.mark.parametrize("width", [40, 60, 100])
def test_rows_are_never_wider_than_the_terminal(width: int) -> None:
    grid = Grid("job", "status", "for", "asked", gives_way=("asked", "for"))
    grid.row("job_1", "PENDING", "a person with a very long name", "x" * 500)
    assert max(map(len, lines(grid, width))) <= width


@given(
    st.lists(st.tuples(*[st.text(alphabet="ab ü漢", max_size=30)] * 3), max_size=4),
    st.integers(min_value=3 * (NARROWEST + GAP), max_value=100),
)
def test_every_header_stays(rows: list[tuple[str, str, str]], width: int) -> None:
    grid = Grid(*COLUMNS, gives_way=("asked", "job", "status"))
    for row in rows:
        grid.row(*row)
    head = lines(grid, width)[0].split()
    assert head == ["JOB", "STATUS", "ASKED"]
