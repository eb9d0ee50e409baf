"""The state of the service: queues, workers, readiness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.shapes import QueuesView, QueueView, WorkerView
from vardy_worker.contracts.user import Scope
from vardy_worker.contracts.view import moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_api.operations.caller import Caller
    from vardy_worker.contracts.job import QueueName
    from vardy_worker.contracts.status import Status
    from vardy_worker.ports import Clock, JobStore, Presence, Queue

QUEUES: tuple[QueueName, ...] = ("run", "commit")


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
        now_ms = self._clock.now_ms()
        return QueuesView(
            queues=tuple(self._queue_view(name, now_ms) for name in QUEUES),
            workers=tuple(
                WorkerView(
                    worker=seen.worker,
                    queues=seen.queues,
                    started_at=moment(seen.started_at_ms),
                    seen_at=moment(seen.seen_at_ms),
                )
                for seen in self._presence.seen()
            ),
        )

    def _queue_view(self, name: QueueName, now_ms: int) -> QueueView:
        oldest = self._queue.oldest_published_ms(name)
        return QueueView(
            name=name,
            depth=self._queue.depth(name),
            oldest_seconds=None if oldest is None else max(0, now_ms - oldest) / 1000,
        )

    def jobs_by_status(self) -> Mapping[Status, int]:
        """Jobs kept, by status, for the metrics."""
        return self._store.counts()

    def depths(self) -> dict[QueueName, int]:
        """Messages waiting, by queue, for the metrics."""
        return {name: self._queue.depth(name) for name in QUEUES}

    def ping(self) -> None:
        """Raises `StoreUnavailable` when the store does not answer."""
        self._store.ping()
