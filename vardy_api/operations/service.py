"""The state of the service: queues, workers, readiness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.shapes import QueuesView, QueueView, WorkerView
from vardy_worker.contracts.job import QUEUE_NAMES
from vardy_worker.contracts.user import Scope
from vardy_worker.contracts.view import instant, moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_api.operations.caller import Caller
    from vardy_worker.contracts.job import QueueName
    from vardy_worker.contracts.status import Status
    from vardy_worker.ports import Clock, JobStore, Presence, Queue, WorkerSeen


def queue_views(queue: Queue, now_ms: int) -> tuple[QueueView, ...]:
    """The queues as they are now."""
    views = []
    for name in QUEUE_NAMES:
        oldest = queue.oldest_published_ms(name)
        waited = None if oldest is None else max(0, now_ms - oldest) / 1000
        views.append(QueueView(name=name, depth=queue.depth(name), oldest_seconds=waited))
    return tuple(views)


def worker_view(seen: WorkerSeen) -> WorkerView:
    """The public shape of a live worker."""
    return WorkerView(
        worker=seen.worker,
        queues=seen.queues,
        started_at=instant(seen.started_at_ms),
        seen_at=instant(seen.seen_at_ms),
        confined=seen.confined,
        looked_at=moment(seen.looked_at_ms),
    )


class ServiceOperations:
    """The use cases of those who keep it running."""

    def __init__(self, store: JobStore, queue: Queue, presence: Presence, clock: Clock) -> None:
        self._store = store
        self._queue = queue
        self._presence = presence
        self._clock = clock

    def queues(self, caller: Caller) -> QueuesView:
        """The queues and the live workers."""
        caller.need(Scope.OPERATE, Scope.ADMIN)
        return QueuesView(
            queues=queue_views(self._queue, self._clock.now_ms()),
            workers=tuple(map(worker_view, self._presence.seen())),
        )

    def jobs_by_status(self) -> Mapping[Status, int]:
        """Jobs kept, by status, for the metrics."""
        return self._store.counts()

    def depths(self) -> dict[QueueName, int]:
        """Messages waiting, by queue, for the metrics."""
        return {name: self._queue.depth(name) for name in QUEUE_NAMES}

    def ping(self) -> None:
        """Raises `StoreUnavailable` when the store does not answer."""
        self._store.ping()
