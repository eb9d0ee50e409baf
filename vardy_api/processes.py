"""Child processes of `vardy dev` and `vardy demo`: started, watched, and never left behind.

Each child gets a pipe as its standard input that nobody writes to. It ends when the parent
dies, however that happens, and the child then ends itself (`end_with_parent`); that works
on every platform, where Linux alone has a death signal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WATCH_VARIABLE = "VARDY_END_WITH_PARENT"
STOP_SECONDS = 20.0
KEPT_LINES = 40


def end_with_parent() -> None:
    """Asks this process to end (SIGTERM) when its standard input closes; for children only."""
    if os.environ.pop(WATCH_VARIABLE, "") != "1":
        return

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="vardy-parent-watch", daemon=True).start()


@dataclass(slots=True)
class Child:
    """One running child. `tail` holds its last lines, for a message when it fails."""

    name: str
    process: subprocess.Popen[str]
    tail: list[str] = field(default_factory=list)
    pump: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def stop(self, *, timeout_seconds: float = STOP_SECONDS) -> None:
        """Asks it to end, waits, and kills it if it does not."""
        if self.is_running:
            self.process.terminate()
            try:
                self.process.wait(timeout_seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.pump is not None:
            self.pump.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


def start_child(
    name: str, arguments: Sequence[str], *, environment: Mapping[str, str], show: Callable[[str, str], None]
) -> Child:
    """Starts `vardy ARGUMENTS` of this very installation; each line it writes goes to `show(name, line)`."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", "vardy_api.cli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environment, WATCH_VARIABLE: "1"},
        # Its own session: a Ctrl-C reaches the parent alone, which stops the children in order.
        start_new_session=True,
    )
    child = Child(name=name, process=process)
    child.pump = threading.Thread(target=_pump, args=(child, process.stdout, show), daemon=True)
    child.pump.start()
    return child


def _pump(child: Child, stream: IO[str] | None, show: Callable[[str, str], None]) -> None:
    if stream is None:
        return
    for raw in stream:
        line = raw.rstrip("\n")
        child.tail.append(line)
        del child.tail[:-KEPT_LINES]
        show(child.name, line)
