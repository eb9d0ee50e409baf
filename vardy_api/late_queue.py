"""The queue of the API, built after the API serves: loading Celery takes a third of a second."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.job import QueueName
    from vardy_worker.queue import CeleryQueue


class LateQueue:
    """The `Queue` port over one that is built at its first use, or by `load` before that."""

    def __init__(self, build: Callable[[], CeleryQueue]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._built: CeleryQueue | None = None

    def load(self) -> CeleryQueue:
        """Builds the queue unless it is there; other threads that need it wait meanwhile."""
        with self._lock:
            if self._built is None:
                self._built = self._build()
            return self._built

    def publish(self, queue: QueueName, job_id: str) -> None:
        """See `Queue.publish`."""
        self.load().publish(queue, job_id)

    def depth(self, queue: QueueName) -> int:
        """See `Queue.depth`."""
        return self.load().depth(queue)

    def oldest_published_ms(self, queue: QueueName) -> int | None:
        """See `Queue.oldest_published_ms`."""
        return self.load().oldest_published_ms(queue)

    def close(self) -> None:
        """Closes the connections, if any were made."""
        with self._lock:
            if self._built is not None:
                self._built.close()
