"""Waiting for what happens in another process or thread: by looking, up to a deadline."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def at_rest(value: Callable[[], T], *, seconds: float = 0.3, deadline_seconds: float = 10.0) -> T:
    """The value, once it has stayed the same for so long."""
    pause = threading.Event()
    deadline = time.monotonic() + deadline_seconds
    before, since = value(), time.monotonic()
    while time.monotonic() - since < seconds:
        assert time.monotonic() < deadline, "it never came to rest"
        pause.wait(0.01)
        now = value()
        if now != before:
            before, since = now, time.monotonic()
    return before


def eventually(condition: Callable[[], bool], *, seconds: float = 10.0) -> bool:
    """Whether the condition came true before the deadline."""
    pause = threading.Event()
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.01)
    return True
