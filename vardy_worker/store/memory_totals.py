"""Totals of users in memory, for tests: the semantics of `redis_totals` under the lock of the jobs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.totals import HOUR_MS
from vardy_worker.store.totals import KEEP_MS, UserTotals

if TYPE_CHECKING:
    from vardy_worker.contracts.totals import CountedPlan, EffectTotals, TotalsCorrection
    from vardy_worker.ports import Clock


@dataclass(slots=True)
class _Stored:
    version: str
    era: str
    last: int
    hours: dict[int, bytes] = field(default_factory=dict)
    expires_at_ms: int = 0


class MemoryTotals:
    """The part of `MemoryJobStore` that keeps totals; the store holds its lock around every call."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stored: dict[str, _Stored] = {}
        self._corrections: dict[str, list[TotalsCorrection]] = {}

    def count(self, user: str, earlier: CountedPlan | None, *, totals: EffectTotals, window_hours: int) -> CountedPlan:
        """The plan as it is counted now; the store notes it in the job."""
        found = self.read(user)
        if earlier is not None and earlier.before is not None:
            return found.again(earlier, window_hours)
        count = found.counting(earlier, totals, window_hours, version=secrets.token_hex(8))
        stored = _Stored(count.version, count.counted.era, found.now, {**found.hours, **count.written})
        for hour in count.dropped:
            stored.hours.pop(hour, None)
        stored.expires_at_ms = self._clock.now_ms() + KEEP_MS
        self._stored[user] = stored
        self._corrections.pop(user, None)
        return count.counted

    def correct(self, correction: TotalsCorrection) -> None:
        """Keeps a correction until the next plan is counted; not of totals that were erased since."""
        if self.read(correction.user).era == correction.era:
            self._corrections.setdefault(correction.user, []).append(correction)

    def read(self, user: str) -> UserTotals:
        """One user's totals and the present hour."""
        now_ms = self._clock.now_ms()
        stored = self._stored.get(user)
        if stored is None or stored.expires_at_ms <= now_ms:
            stored = _Stored("", "", 0)
        return UserTotals(
            now=now_ms // HOUR_MS,
            era=stored.era,
            version=stored.version,
            last=stored.last,
            hours=dict(stored.hours),
            corrections=tuple(self._corrections.get(user, ())),
        )

    def erase(self, user: str) -> bool:
        """See `JobStore.erase_user_totals`."""
        known = [self._stored.pop(user, None), self._corrections.pop(user, None)]
        return any(each is not None for each in known)
