"""Totals of users in Redis: one hash a user, one field an hour, and a list of corrections."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.quota import QuotaOf
from vardy_worker.contracts.totals import HOUR_MS, TotalsCorrection
from vardy_worker.store.connection import translated
from vardy_worker.store.keys import account
from vardy_worker.store.redis_audit import until_unmoved
from vardy_worker.store.totals import KEEP_MS, UserTotals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis import Redis

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.totals import CountedPlan, EffectTotals
    from vardy_worker.store.keys import Keys
    from vardy_worker.store.redis_audit import AuditWriter
    from vardy_worker.store.scripts import Arg, Scripts
    from vardy_worker.store.totals import Count

TRIES_MAX: Final = 100
"""How often counting starts over; each loss means that another plan of the same user was counted."""


class RedisTotals:
    """The part of `RedisJobStore` that keeps totals. One round trip to read, one more to count."""

    def __init__(self, client: Redis, keys: Keys, scripts: Scripts, audit: AuditWriter) -> None:
        self._client = client
        self._keys = keys
        self._scripts = scripts
        self._audit = audit

    def count(self, job: JobRecord, *, fence: int, totals: EffectTotals, window_hours: int) -> CountedPlan | None:
        """See `JobStore.count_plan`. Raises `StoreUnavailable` after losing too many races."""
        user = job.submission.user.id
        for _ in range(TRIES_MAX):
            stored = self.read(user, window_hours=window_hours, plan=job.counted)
            if job.counted is not None and job.counted.before is not None:
                return stored.again(job.counted, window_hours)
            count = stored.counting(job.counted, totals, window_hours, version=secrets.token_hex(8))
            match self.send_count(job.id, user, fence, stored, count):
                case b"counted":
                    return count.counted
                case b"lost":
                    return None
        msg = f"So many plans of one user were counted at once that job {job.id} lost {TRIES_MAX} races; try again."
        raise StoreUnavailable(msg)

    def send_count(self, job_id: str, user: str, fence: int, stored: UserTotals, count: Count) -> bytes:
        """One sending of a count; every further one has no effect and the same answer."""
        keys = [self._keys.job(job_id), self._keys.totals(user), self._keys.corrections(user)]
        noted = count.counted.model_dump_json().encode()
        args: list[Arg] = [
            fence,
            stored.version,
            count.version,
            noted,
            len(stored.corrections),
            KEEP_MS,
            stored.now,
            len(count.written),
        ]
        for hour, totals in count.written.items():
            args += (hour, totals)
        reply: bytes = self._scripts.run("count_plan", keys, [*args, *count.dropped])
        return reply

    def read(self, user: str, *, window_hours: int, plan: CountedPlan | None = None) -> UserTotals:
        """One user's totals of a window, and the present hour by the server's clock.

        Only the hours that are needed are read; which those are is guessed from this
        machine's clock, and read again where the guess was wrong.
        """
        guess = UserTotals(now=int(time.time() * 1000) // HOUR_MS + 1)
        asked = guess.needed(window_hours + 2, plan)
        while True:
            stored = self._fetch(user, sorted(asked))
            missing = stored.needed(window_hours, plan) - asked
            if not missing:
                return stored
            asked |= missing

    def _fetch(self, user: str, hours: Sequence[int]) -> UserTotals:
        with translated():
            # One transaction: a correction is either in the list or in its hour.
            pipe = self._client.pipeline(transaction=True)
            pipe.hmget(self._keys.totals(user), ["_era", "_version", "_last", *map(str, hours)])
            pipe.lrange(self._keys.corrections(user), 0, -1)
            pipe.time()
            (era, version, last, *totals), corrections, (seconds, _) = pipe.execute()
        return UserTotals(
            now=int(seconds) * 1000 // HOUR_MS,
            era=(era or b"").decode(),
            version=(version or b"").decode(),
            last=int(last or 0),
            hours={hour: stored for hour, stored in zip(hours, totals, strict=True) if stored is not None},
            corrections=tuple(TotalsCorrection.model_validate_json(line) for line in corrections),
        )

    def erase(self, user: str, notes: Sequence[AuditNote]) -> bool:
        """See `JobStore.erase_user_totals`. Safe to send twice, but for its answer."""
        keys = [self._keys.totals(user), self._keys.corrections(user)]

        def send() -> int:
            entries = self._audit.of_settings(notes)
            args: list[Arg] = [self._keys.account_prefix, account(QuotaOf.USER, user), entries.arg]
            return int(self._scripts.run_safely("erase_totals", [*keys, *entries.keys], args, fsync=False))

        return bool(until_unmoved(send, lambda reply: reply < 0))
