"""The clock."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall and monotonic time, so that tests can stand still."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
