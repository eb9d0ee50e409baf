"""How far a long command is, on a terminal and elsewhere, and a Ctrl-C that cuts nothing in two."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vardy_api.cli.session import Session

T = TypeVar("T")

LINE_SECONDS = 5.0
"""How often a line says how far it is, where no terminal can draw a bar."""


def progress(session: Session, verb: str, things: Sequence[T]) -> Iterator[T]:
    """The things, one by one, with their progress shown; see `shown_progress`."""
    with shown_progress(session, verb) as advance:
        for thing in things:
            yield thing
            advance(1, len(things))


@contextmanager
def shown_progress(session: Session, verb: str) -> Iterator[Callable[[int, int | None], None]]:
    """Shows how far work is: by a bar on a terminal, by a line now and then elsewhere, not at all in JSON runs.

    What this gives is told how much more is done, and of how much; None where that is not known.
    """
    stderr = session.out.stderr
    if session.as_json:
        yield lambda _more, _total: None
    elif stderr.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=stderr, transient=True) as bar:
            task = bar.add_task(verb, total=None)
            yield lambda more, total: bar.update(task, advance=more, total=total)
    else:
        yield _by_lines(session, verb)


def _by_lines(session: Session, verb: str) -> Callable[[int, int | None], None]:
    done, said = 0, time.monotonic()

    def advance(more: int, total: int | None) -> None:
        nonlocal done, said
        done += more
        if done != total and time.monotonic() - said >= LINE_SECONDS:
            session.note(f"{verb}: {done}" + ("" if total is None else f" of {total}"))
            said = time.monotonic()

    return advance


@contextmanager
def between_steps() -> Iterator[Callable[[], None]]:
    """Puts a Ctrl-C off to the next call of what this gives, which raises `KeyboardInterrupt`.

    So a change under way is not cut off, and whether it happened is known. A second Ctrl-C
    does not wait. Outside the main thread, where no signal arrives, nothing is put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    asked = False

    def ask(_number: int, _frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    def step() -> None:
        if asked:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield step
    finally:
        signal.signal(signal.SIGINT, before)
