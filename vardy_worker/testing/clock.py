"""Time as a test wants it."""

from __future__ import annotations

import time
from typing import Protocol

from vardy_worker.ports import Clock


class Calendar(Clock, Protocol):
    """A clock whose calendar a test moves."""

    def move_to(self, now_ms: int) -> None:
        """Moves the calendar on; a time in the past leaves it alone."""


class MovableClock:
    """A calendar that stands still until it is moved, and the real stopwatch.

    Expiry, leases and retries go by the calendar. Timeouts of programs and functions, which
    run for real, go by the stopwatch.
    """

    def __init__(self, now_ms: int | None = None) -> None:
        self._now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return self._now_ms

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def move_to(self, now_ms: int) -> None:
        """Moves the calendar on; a time in the past leaves it alone."""
        self._now_ms = max(self._now_ms, now_ms)
