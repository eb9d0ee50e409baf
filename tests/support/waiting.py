"""Waiting for what happens in another process or thread: by looking, up to a deadline."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def eventually(condition: Callable[[], bool], *, seconds: float = 10.0) -> bool:
    """Whether the condition came true before the deadline."""
    pause = threading.Event()
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.01)
    return True
