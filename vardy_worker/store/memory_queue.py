"""The queue in memory, for tests."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from vardy_worker.contracts.job import QUEUE_NAMES

if TYPE_CHECKING:
    from vardy_worker.contracts.job import QueueName
    from vardy_worker.ports import Clock


class MemoryQueue:
    """The `Queue` port for tests; `take` stands for the worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[QueueName, deque[tuple[str, int]]] = {name: deque() for name in QUEUE_NAMES}

    def publish(self, queue: QueueName, job_id: str) -> None:
        """See `Queue.publish`. Never fails."""
        self._waiting[queue].append((job_id, self._clock.now_ms()))

    def take(self, queue: QueueName) -> str | None:
        """The job id of the oldest message, taken out; None when the queue is empty."""
        return self._waiting[queue].popleft()[0] if self._waiting[queue] else None

    def depth(self, queue: QueueName) -> int:
        """See `Queue.depth`."""
        return len(self._waiting[queue])

    def oldest_published_ms(self, queue: QueueName) -> int | None:
        """See `Queue.oldest_published_ms`."""
        return self._waiting[queue][0][1] if self._waiting[queue] else None
