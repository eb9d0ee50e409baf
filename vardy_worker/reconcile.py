"""Finds jobs that nobody works on any more, and publishes them again.

Runs in every worker, any number of copies at once: the store hides a due job from the
other copies while one looks at it. The message is only a hint, so the reconciler and
not the broker's visibility timeout is what brings a lost job back.

    QUEUED, due            the message was lost, unless the queue's backlog explains the wait
    RUNNING, lease over    its worker was lost: publish; the next claim counts deliveries
    COMMITTING, due        the same, or a retry is due, or the message was lost
    waiting, expired       nobody decided in time: POLICY_BLOCKED
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import TransientError
from vardy_worker.contracts.job import QUEUE_NAMES
from vardy_worker.contracts.status import WAITING_FOR_PEOPLE, Status
from vardy_worker.logs import get_logger
from vardy_worker.ports import WorkerSeen
from vardy_worker.verbs import expire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vardy_worker.contracts.job import QueueName
    from vardy_worker.ports import AuditTrail, Clock, DueJob, JobStore, Presence, Queue
    from vardy_worker.settings import Settings

log = get_logger(__name__)

DUE_BATCH = 200
HIDE_MS = 5_000
"""A job that was looked at is looked at again after this time, if it is still due."""
BACKLOG_DEPTH = 500
"""More waiting messages than this are a backlog: its jobs are looked at more rarely, so that a
look costs the same however long the queue is."""
HIDE_IN_BACKLOG_MS = 60_000
REBUILD_SECONDS = 60.0
TRIM_BATCH = 200
"""Audit entries removed in one look; while there are more, each look removes as many."""
TRIM_SECONDS = 60.0
BEAT_SECONDS = 5.0
BEAT_TTL_SECONDS = 20
BACKOFF_SECONDS_MAX = 10.0


class Reconciler:
    """One copy of the reconciler; `look` does one round.

    `confined` is asked before each beat how far the worker's sandbox is confined; see `WorkerSeen`.
    """

    def __init__(
        self,
        *,
        store: JobStore,
        audit: AuditTrail,
        queue: Queue,
        presence: Presence,
        clock: Clock,
        settings: Settings,
        worker: str,
        confined: Callable[[], bool | None] = lambda: None,
    ) -> None:
        self._store = store
        self._audit = audit
        self._queue = queue
        self._presence = presence
        self._clock = clock
        self._settings = settings
        self._worker = worker
        self._confined = confined
        self._started_at_ms = clock.now_ms()
        self._looked_at_ms: int | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_rebuild = 0.0
        self._next_beat = 0.0
        self._next_trim = 0.0

    def start(self) -> None:
        """Looks every `VARDY_RECONCILE_SECONDS` from a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="vardy-reconciler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, and says that this worker is gone."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self._presence.gone(self._worker)
        except TransientError as error:
            log.warning("reconcile.goodbye_lost", reason=error.message)

    def look(self) -> int:
        """One round; returns how many jobs were published again or expired."""
        now = self._clock.monotonic()
        if now >= self._next_beat:
            self._beat()
            self._next_beat = now + BEAT_SECONDS
        if now >= self._next_rebuild:
            self._store.rebuild_due(grace_ms=HIDE_MS)
            self._next_rebuild = now + REBUILD_SECONDS
        if now >= self._next_trim:
            older_than_ms = self._settings.audit_retention_seconds * 1000
            trimmed = self._audit.trim(older_than_ms=older_than_ms, limit=TRIM_BATCH)
            self._next_trim = now if trimmed == TRIM_BATCH else now + TRIM_SECONDS
        acted = 0
        hide_queued_ms = HIDE_IN_BACKLOG_MS if self._queue.depth("run") > BACKLOG_DEPTH else HIDE_MS
        while due := self._store.take_due(limit=DUE_BATCH, hide_ms=HIDE_MS, hide_queued_ms=hide_queued_ms):
            oldest = {name: self._queue.oldest_published_ms(name) for name in QUEUE_NAMES}
            acted += sum(self._try(job, oldest) for job in due)
            if len(due) < DUE_BATCH:
                break
        self._looked_at_ms = self._clock.now_ms()
        return acted

    def _try(self, job: DueJob, oldest: Mapping[QueueName, int | None]) -> bool:
        try:
            return self._handle(job, oldest)
        except TransientError:
            raise
        except Exception:
            # A record that this process cannot read, such as a newer version's, must not keep it from the others.
            log.exception("reconcile.job_failed", job_id=job.job_id)
            return False

    def _handle(self, job: DueJob, oldest: Mapping[QueueName, int | None]) -> bool:
        if job.status in WAITING_FOR_PEOPLE:
            return self._expire(job.job_id)
        queue = _queue_of(job.status)
        if queue is None:
            return False
        waiting_since = oldest[queue]
        if job.status is Status.QUEUED and waiting_since is not None and waiting_since <= job.created_at_ms:
            # Older messages still wait, so this job's own is most likely behind them.
            return False
        self._queue.publish(queue, job.job_id)
        log.info("reconcile.published", job_id=job.job_id, status=job.status, deliveries=job.deliveries)
        return True

    def _expire(self, job_id: str) -> bool:
        job = self._store.get(job_id)
        change = job and expire(job, now_ms=self._clock.now_ms(), retain_seconds=self._settings.job_retention_seconds)
        if not change:
            return False
        self._store.change(change)
        log.info("reconcile.expired", job_id=job_id)
        return True

    def _beat(self) -> None:
        self._presence.beat(
            WorkerSeen(
                worker=self._worker,
                queues=tuple(self._settings.worker_queues),
                started_at_ms=self._started_at_ms,
                seen_at_ms=self._clock.now_ms(),
                confined=self._confined(),
                looked_at_ms=self._looked_at_ms,
            ),
            ttl_seconds=BEAT_TTL_SECONDS,
        )

    def _run(self) -> None:
        pause = self._settings.reconcile_seconds
        while not self._stop.wait(pause):
            try:
                self.look()
                pause = self._settings.reconcile_seconds
            except TransientError as error:
                pause = min(pause * 2, BACKOFF_SECONDS_MAX)
                log.warning("reconcile.waiting", code=error.code, reason=error.message, seconds=pause)
            except Exception:
                # The last resort: without this thread, nobody would find the jobs of lost workers.
                pause = min(pause * 2, BACKOFF_SECONDS_MAX)
                log.exception("reconcile.crashed", seconds=pause)


def _queue_of(status: Status) -> QueueName | None:
    if status in {Status.QUEUED, Status.RUNNING}:
        return "run"
    return "commit" if status is Status.COMMITTING else None
