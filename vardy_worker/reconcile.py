"""Finds jobs that nobody works on any more, and publishes them again.

Runs in every worker, any number of copies at once: the store hides a due job from the
other copies while one looks at it. The message is only a hint, so the reconciler and
not the broker's visibility timeout is what brings a lost job back.

    QUEUED, due            the message was lost, unless the queue's backlog explains the wait
    RUNNING, lease over    its worker was lost: publish; the next claim counts deliveries
    COMMITTING, due        the same, or a retry is due, or the message was lost
    waiting, expired       nobody decided in time: POLICY_BLOCKED

One look does a bounded amount of work, however much there is to do: it publishes and expires
a few hundred jobs, and leaves the rest to the next looks, without letting a lost job wait
behind thousands of others.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
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
TAKEN_MAX = 10_000
"""Due jobs taken in one look."""
EXPIRED_MAX = 200
"""Plans ended in one look. They need no hurry: an expired plan is refused whether or not it was ended."""
HIDE_MS = 5_000
"""A job that was looked at is looked at again after this time, if it is still due."""
BACKLOG_DEPTH = 500
"""More waiting messages than this are a backlog: its jobs are looked at more rarely, so that a
look costs the same however long the queue is. Messages of queued jobs are made up to this depth,
or by `DUE_BATCH` a look."""
HIDE_IN_BACKLOG_MS = 60_000
REBUILD_MS = 60_000
REBUILD_JOBS = 5_000
"""Live jobs looked at for a missing due time in one look, until all were; then not for `REBUILD_MS`."""
TRIM_BATCH = 200
"""Audit entries removed in one look; while there are more, each look removes as many."""
TRIM_SECONDS = 60.0
BEAT_SECONDS = 5.0
BEAT_TTL_SECONDS = 20
RENEWAL_SECONDS = 2.0
"""Pause after an outage; a lease that could not be renewed is tried each second."""
BACKOFF_SECONDS_MAX = 10.0


@dataclass(slots=True)
class _Look:
    """What one look has done, and may still do."""

    hide_queued_ms: int
    queued_left: int
    expired_left: int = EXPIRED_MAX
    taken: int = 0
    acted: int = 0

    def may_expire(self) -> bool:
        """Whether one more plan may be ended in this look."""
        self.expired_left -= 1
        return self.expired_left >= 0

    def may_publish_queued(self) -> bool:
        """Whether one more message of a queued job may be made up for. If not, such jobs are due again soon."""
        self.queued_left -= 1
        if self.queued_left >= 0:
            return True
        self.hide_queued_ms = HIDE_MS
        return False


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
        self._published: dict[QueueName, dict[str, int]] = {name: {} for name in QUEUE_NAMES}
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
        self._store.rebuild_due(grace_ms=HIDE_MS, every_ms=REBUILD_MS, limit=REBUILD_JOBS)
        if now >= self._next_trim:
            trimmed = self._audit.trim(older_than_ms=self._trim_age_ms(), limit=TRIM_BATCH)
            self._next_trim = now if trimmed == TRIM_BATCH else now + TRIM_SECONDS
        acted = self._look_at_due()
        self._looked_at_ms = self._clock.now_ms()
        return acted

    def _trim_age_ms(self) -> int:
        """How old by the server's clock an entry is that may go.

        A server whose clock is ahead of this machine's would take young entries for old ones.
        """
        ahead_ms = max(0, self._store.server_now_ms() - self._clock.now_ms())
        return self._settings.audit_retention_seconds * 1000 + ahead_ms

    def _look_at_due(self) -> int:
        depth = self._queue.depth("run")
        look = _Look(
            hide_queued_ms=HIDE_IN_BACKLOG_MS if depth > BACKLOG_DEPTH else HIDE_MS,
            queued_left=max(BACKLOG_DEPTH - depth, DUE_BATCH),
        )
        while look.taken < TAKEN_MAX:
            due = self._store.take_due(limit=DUE_BATCH, hide_ms=HIDE_MS, hide_queued_ms=look.hide_queued_ms)
            if due:
                oldest = {name: self._oldest(name) for name in QUEUE_NAMES}
                look.acted += sum(self._try(job, oldest, look) for job in due)
            look.taken += len(due)
            if len(due) < DUE_BATCH:
                break
        return look.acted

    def _oldest(self, queue: QueueName) -> int | None:
        """When the oldest message was published; forgets this copy's own that are before it, as a worker has them."""
        oldest = self._queue.oldest_published_ms(queue)
        own = self._published[queue]
        self._published[queue] = {} if oldest is None else {job_id: at for job_id, at in own.items() if at >= oldest}
        return oldest

    def _try(self, job: DueJob, oldest: Mapping[QueueName, int | None], look: _Look) -> bool:
        try:
            return self._handle(job, oldest, look)
        except TransientError:
            raise
        except Exception:
            # A record that this process cannot read, such as a newer version's, must not keep it from the others.
            log.exception("reconcile.job_failed", job_id=job.job_id)
            return False

    def _handle(self, job: DueJob, oldest: Mapping[QueueName, int | None], look: _Look) -> bool:
        if job.status in WAITING_FOR_PEOPLE:
            return look.may_expire() and self._expire(job.job_id)
        queue = _queue_of(job.status)
        if queue is None:
            return False
        waiting_since = oldest[queue]
        published_ms = self._published[queue].get(job.job_id, 0)
        if job.status is Status.QUEUED:
            published_ms = max(published_ms, job.created_at_ms)
        if waiting_since is not None and waiting_since <= published_ms:
            # Messages that are as old still wait, so this job's own is most likely among them.
            return False
        if job.status is Status.QUEUED and not look.may_publish_queued():
            return False
        self._queue.publish(queue, job.job_id)
        self._published[queue][job.job_id] = self._clock.now_ms()
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
        was_away = False
        while not self._stop.wait(pause):
            try:
                if was_away:
                    # Leases ran out meanwhile: those who still have their jobs in hand renew them first.
                    self._store.ping()
                    was_away, pause = False, RENEWAL_SECONDS
                    continue
                self.look()
                pause = self._settings.reconcile_seconds
            except TransientError as error:
                was_away = True
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
