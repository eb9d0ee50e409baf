"""From a person's wish to a changed job: load, decide by a pure verb, compare-and-set, publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from vardy_worker.contracts.errors import QueueUnavailable, RequestError
from vardy_worker.contracts.status import Status
from vardy_worker.logs import get_logger
from vardy_worker.ports import Change, Changed

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.jobs import JobOperations
    from vardy_worker.contracts.job import JobRecord, QueueName
    from vardy_worker.ports import JobStore, Queue

TRIES_MAX = 20
"""How often a verb starts over after losing a race; each loss means that another change won."""

Verb: TypeAlias = "Callable[[JobRecord], Change | None]"

log = get_logger(__name__)


def keeps_changing(job: JobRecord) -> RequestError:
    """Every try lost a race against another change."""
    return RequestError(
        "The job keeps changing; look at it again.", code="job.conflict", details={"status": job.status.value}
    )


class Changes:
    """Applies verbs to jobs."""

    def __init__(self, store: JobStore, queue: Queue, jobs: JobOperations) -> None:
        self._store = store
        self._queue = queue
        self._jobs = jobs

    def apply(self, caller: Caller, job_id: str, verb: Verb) -> JobRecord:
        """The job after the verb; a verb that returns None changes nothing.

        Raises what the verb raises, `job.not_found`, and `job.conflict` after too many lost races.
        """
        for _ in range(TRIES_MAX):
            job = self._jobs.find(caller, job_id)
            try:
                change = verb(job)
            except RequestError as error:
                if error.code == "approval.expired":
                    self._jobs.after_expiry(job)
                raise
            if change is None:
                return job
            change = replace(change, audit=tuple(note.done_from(caller.origin) for note in change.audit))
            if isinstance(self._store.change(change), Changed):
                if change.to is Status.COMMITTING:
                    self.publish("commit", job_id)
                to = change.to or job.status
                log.info("job.changed", job_id=job_id, status=to.value, key_id=caller.key.id)
                return self._jobs.find(caller, job_id)
        raise keeps_changing(job)

    def publish(self, queue: QueueName, job_id: str) -> None:
        """Tells the workers. A lost message is no error: the reconciler publishes it again."""
        try:
            self._queue.publish(queue, job_id)
        except QueueUnavailable as error:
            log.warning("job.not_published", queue=queue, job_id=job_id, reason=error.message)
