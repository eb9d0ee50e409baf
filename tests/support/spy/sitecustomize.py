"""Python runs this first in any process that has the folder on `PYTHONPATH`: it reports on the process.

Into the folder `SPY_DIR`: `<pid>.modules`, the loaded modules, at SIGUSR2 and at the end; and
`<pid>.connections`, a line for each address that was connected to. Nothing else is changed.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["SPY_DIR"])


def write_modules(*_: object) -> None:
    """Whole at once, so that nobody reads half of it."""
    path = FOLDER / f"{os.getpid()}.modules"
    half = path.with_suffix(".half")
    half.write_text("\n".join(sorted(sys.modules)), encoding="utf-8")
    half.replace(path)


def note_connection(event: str, details: tuple[Any, ...]) -> None:
    """An audit hook, which sees what any library does, however it does it."""
    if event == "socket.connect":
        line = f"{details[1]!r}\n".encode()
        opened = os.open(FOLDER / f"{os.getpid()}.connections", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(opened, line)
        os.close(opened)


sys.addaudithook(note_connection)
signal.signal(signal.SIGUSR2, write_modules)
atexit.register(write_modules)
