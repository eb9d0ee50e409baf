"""A command in a terminal of its own, as a person would run it."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal with a running command. `shown` is all it has written so far."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], *, columns: int = 80) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._process = subprocess.Popen(
            command, env=dict(environment), stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def plain(self) -> str:
        """What was written, without colours and movements of the cursor."""
        return _CONTROL.sub("", self.shown).replace("\r\n", "\n")

    @property
    def is_coloured(self) -> bool:
        """Whether any text had a style."""
        return bool(_STYLE.search(self.shown))

    def wait_for(self, text: str, *, seconds: float = 30.0) -> None:
        """Reads on until the text was shown."""
        deadline = time.monotonic() + seconds
        while text not in self.plain:
            assert self._read(deadline - time.monotonic()), f"{text!r} did not come; shown was: {self.plain}"

    def type(self, line: str) -> None:
        """What a person types, with Enter."""
        os.write(self._master, line.encode() + b"\n")

    def interrupt(self) -> None:
        """Ctrl-C, pressed again when nothing came of it: Python drops a signal that meets a destructor."""
        before = self.plain.rstrip()
        self._process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 5.0
        while self.plain.rstrip() == before:
            if not self._read(deadline - time.monotonic()):
                break
        if self.plain.rstrip() == before and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def end(self, *, seconds: float = 30.0) -> int:
        """Reads on until the command ends; its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        return self._process.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, seconds: float) -> bool:
        readable, _, _ = select.select([self._master], [], [], max(0.0, seconds))
        if not readable:
            return False
        try:
            chunk = os.read(self._master, 65_536)
        except OSError:
            # How Linux says that nobody holds the other end any more.
            return False
        self.shown += chunk.decode(errors="replace")
        return bool(chunk)
