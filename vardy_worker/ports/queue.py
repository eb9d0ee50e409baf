"""The queue that tells workers of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vardy_worker.contracts.job import QueueName


class Queue(Protocol):
    """Tells workers that a job exists. Messages carry ids only and may be lost or repeated."""

    def publish(self, queue: QueueName, job_id: str) -> None:
        """Raises `QueueUnavailable`; the reconciler publishes again."""

    def depth(self, queue: QueueName) -> int:
        """Messages waiting."""

    def oldest_published_ms(self, queue: QueueName) -> int | None:
        """When the oldest waiting message was published; None when the queue is empty."""
