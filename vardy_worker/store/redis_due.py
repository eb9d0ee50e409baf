"""When jobs must be looked at again, in Redis: what the reconciler takes, and what keeps it complete."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from vardy_worker.contracts.status import Status
from vardy_worker.ports import DueJob
from vardy_worker.store.codec import LIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.store.keys import Keys
    from vardy_worker.store.scripts import Arg, Scripts

REBUILD_BATCH: Final = 1000
"""Live jobs looked at by one script call: below three milliseconds of the server's time where all have a due time."""

SWEEP_BATCH: Final = 200
"""Jobs removed by one script call: about three milliseconds of the server's time."""

_ENDED_FIRST: Final = sorted(Status, key=lambda status: (status in LIVE, status != Status.SUCCESS, status))
"""Where a job that has expired most likely is comes first."""


class RedisDue:
    """The part of `RedisJobStore` that the reconciler lives on."""

    def __init__(self, keys: Keys, scripts: Scripts) -> None:
        self._keys = keys
        self._scripts = scripts
        self._job_prefix = keys.job("")

    def take(self, *, limit: int, hide_ms: int, hide_queued_ms: int | None) -> Sequence[DueJob]:
        """See `JobStore.take_due`."""
        args: list[Arg] = [self._job_prefix, limit, hide_ms, hide_ms if hide_queued_ms is None else hide_queued_ms]
        rows = self._scripts.run("take_due", [self._keys.due], args)
        return [_due_job(row) for row in rows]

    def rebuild(self, *, grace_ms: int, every_ms: int, limit: int | None) -> int:
        """See `JobStore.rebuild_due`. Removes what is left of as many expired jobs, too."""
        self._sweep(limit)
        keys = [self._keys.rebuilding, self._keys.due]
        found = looked_at = ended = 0
        while not ended and (limit is None or looked_at < limit):
            batch = REBUILD_BATCH if limit is None else min(REBUILD_BATCH, limit - looked_at)
            args: list[Arg] = [self._job_prefix, self._keys.index_prefix, batch, grace_ms, every_ms, *sorted(LIVE)]
            without, count, ended = self._scripts.run("rebuild_due", keys, args)
            found += without
            looked_at += count
        return found

    def _sweep(self, limit: int | None) -> None:
        of_chains = (self._keys.audit_heads, self._keys.audit_anchors, self._keys.audit_chains)
        keys = [self._keys.expiring, self._keys.expiring_indexes, self._keys.due, *of_chains]
        removed = 0
        while limit is None or removed < limit:
            batch = SWEEP_BATCH if limit is None else min(SWEEP_BATCH, limit - removed)
            chain_prefix = self._keys.audit_chain("")
            args: list[Arg] = [self._job_prefix, self._keys.index_prefix, batch, chain_prefix, *_ENDED_FIRST]
            count = self._scripts.run("sweep_expired", keys, args)
            removed += count
            if count < batch:
                return


def _due_job(row: list[Any]) -> DueJob:
    job_id, status, deliveries, created_at_ms = row
    return DueJob(
        job_id=job_id.decode(),
        status=Status(json.loads(status)),
        deliveries=int(deliveries),
        created_at_ms=int(created_at_ms),
    )
