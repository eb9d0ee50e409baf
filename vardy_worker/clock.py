"""The system's clock."""

from __future__ import annotations

import time


class SystemClock:
    """Wall and monotonic time of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
