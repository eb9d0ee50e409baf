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
    """The things, one by one, with a bar on a terminal and a line now and then elsewhere; none in JSON runs."""
    stderr = session.out.stderr
    if session.as_json:
        yield from things
    elif stderr.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=stderr, transient=True) as bar:
            yield from bar.track(things, description=verb)
    else:
        yield from _in_lines(session, verb, things)


def _in_lines(session: Session, verb: str, things: Sequence[T]) -> Iterator[T]:
    said = time.monotonic()
    for number, thing in enumerate(things, start=1):
        yield thing
        if number < len(things) and time.monotonic() - said >= LINE_SECONDS:
            session.note(f"{verb}: {number} of {len(things)}")
            said = time.monotonic()


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
