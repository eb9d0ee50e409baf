"""A company whose target system is a folder, for tests that end a worker at a bad moment.

Every call is written down before anything else happens, with its key and its process. A
line counts as applied once per idempotency key where the function is idempotent, and at
every call where it is not. A gate is a named pipe: a call that comes to one waits there
until the test opens it, or until its process is killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from vardy_worker import CallContext, Functions

FOLDER = "LEDGER_DIR"

functions = Functions()


class Ledger:
    """The folder, seen from the company's side and from the test's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def note(self, function: str, name: str, key: str, attempt: int) -> None:
        """Writes a call down: one line, one write, so that no kill leaves half of it."""
        line = json.dumps({"function": function, "name": name, "key": key, "attempt": attempt, "pid": os.getpid()})
        self._append("calls", line)

    def apply(self, name: str, *, once_per: str = "") -> None:
        """The effect itself. With `once_per`, a second time with the same key changes nothing.

        One write, so that a kill finds it applied or not, and never half of each.
        """
        self._append("applied", f"{name} {once_per}")

    def calls(self, name: str) -> list[dict[str, Any]]:
        return [call for call in self.all_calls() if call["name"] == name]

    def applied(self, name: str) -> int:
        """How often the effect happened at the target."""
        return self.all_applied()[name]

    def all_applied(self) -> Counter[str]:
        """The same for every name: a key counts once."""
        lines = [line.split(" ") for line in self._lines("applied")]
        keyed = {(name, key) for name, key in lines if key}
        return Counter([name for name, _ in keyed] + [name for name, key in lines if not key])

    def all_calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._lines("calls")]

    def slow_down(self, seconds_max: float) -> None:
        """From now on, calls take a while of chance, writes before and after they are applied."""
        (self.folder / "pace").write_text(str(seconds_max), encoding="ascii")

    def travel(self) -> None:
        """The way to a target that was slowed down, or back."""
        try:
            seconds = float((self.folder / "pace").read_text(encoding="ascii") or 0)
        except FileNotFoundError:
            return
        threading.Event().wait(random.uniform(0, seconds))  # noqa: S311 - how long a way is, guards nothing

    def hurry(self) -> None:
        """From now on, calls take no time again."""
        (self.folder / "pace").unlink()

    def shut(self, gate: str) -> None:
        """From now on, calls wait at this gate."""
        os.mkfifo(self._gate(gate))

    def open(self, gate: str) -> None:
        """Lets one waiting call through, and every later one."""
        path = self._gate(gate)
        with path.open("wb"):
            path.unlink()

    def forget(self, gate: str) -> None:
        """Takes the gate away after whoever waited there was killed."""
        self._gate(gate).unlink()

    def wait_at(self, gate: str) -> None:
        """Waits while the gate is shut."""
        try:
            self._gate(gate).read_bytes()
        except FileNotFoundError:
            return

    def _gate(self, name: str) -> Path:
        return self.folder / f"gate-{name}"

    def _append(self, file: str, line: str) -> None:
        descriptor = os.open(self.folder / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)

    def _lines(self, file: str) -> list[str]:
        path = self.folder / file
        if not path.exists():
            return []
        # Another process may be writing the last line.
        return path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()


def _ledger() -> Ledger:
    return Ledger(Path(os.environ[FOLDER]))


@functions.read(timeout_seconds=60)
def count_lines(name: str) -> int:
    """How many lines of this name there are. Waits at the gate of that name."""
    ledger = _ledger()
    ledger.note("count_lines", name, "", 0)
    ledger.travel()
    ledger.wait_at(name)
    return ledger.applied(name)


@functions.read
def crash(name: str) -> int:
    """Ends the whole worker."""
    _ledger().note("crash", name, "", 0)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@functions.write(idempotent=True, timeout_seconds=60)
def add_line(context: CallContext, name: str) -> int:
    """Adds a line. Waits at the gates `before-…` and `after-…`, before and after it is added."""
    ledger = _ledger()
    ledger.note("add_line", name, context.idempotency_key, context.attempt)
    ledger.travel()
    ledger.wait_at(f"before-{name}")
    ledger.apply(name, once_per=context.idempotency_key)
    ledger.wait_at(f"after-{name}")
    ledger.travel()
    return ledger.applied(name)


@functions.write(timeout_seconds=60)
def post_letter(context: CallContext, name: str) -> int:
    """The same, by a target that knows no keys."""
    ledger = _ledger()
    ledger.note("post_letter", name, context.idempotency_key, context.attempt)
    ledger.travel()
    ledger.wait_at(f"before-{name}")
    ledger.apply(name)
    ledger.wait_at(f"after-{name}")
    ledger.travel()
    return ledger.applied(name)


@functions.write(idempotent=True)
def crash_writing(context: CallContext, name: str) -> int:
    """Adds a line, and ends the whole worker before it can say so."""
    ledger = _ledger()
    ledger.note("crash_writing", name, context.idempotency_key, context.attempt)
    ledger.apply(name, once_per=context.idempotency_key)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
