"""Rates in memory, for tests: the buckets of `lua/include/rate.lua`."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.quota import QuotaOf, RateExceeded
from vardy_worker.documents import KEYS
from vardy_worker.ports import Outdated

if TYPE_CHECKING:
    from vardy_worker.ports import Clock, Document, Documents

MINUTE_US: Final = 60_000_000


class MemoryBuckets:
    """Buckets alone; the clock stands for the server's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at: dict[tuple[QuotaOf, str], int] = {}

    def take(self, of: QuotaOf, name: str, per_minute: int) -> RateExceeded | None:
        """See `Rates.take`."""
        with self._lock:
            now = self._clock.now_ms() * 1000
            full_at = max(now, min(self._full_at.get((of, name), 0), now + MINUTE_US))
            taken = full_at + MINUTE_US // per_minute
            wait = taken - now - MINUTE_US
            self._full_at[of, name] = full_at if wait > 0 else taken
            return RateExceeded(of=of, maximum=per_minute, wait_ms=math.ceil(wait / 1000)) if wait > 0 else None


class MemoryRates(MemoryBuckets):
    """The `Rates` port without a server."""

    def __init__(self, clock: Clock, documents: Documents) -> None:
        super().__init__(clock)
        self._documents = documents

    def take_of_key(self, known: Document, per_minute: int) -> RateExceeded | Outdated | None:
        """See `Rates.take_of_key`."""
        newest = self._documents.get(KEYS, known.name)
        if newest is None or newest.value != known.value:
            return Outdated()
        return self.take(QuotaOf.KEY, known.name, per_minute)
