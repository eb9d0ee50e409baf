"""Erasing what a job holds: only once nothing can become of it any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.erasure import may_be_erased
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord

_FIRST = {
    Status.PARTIAL: "discard the rest of it first",
    Status.PENDING_APPROVAL: "deny or cancel it first",
    Status.PLANNED: "cancel it first",
}


def erase(job: JobRecord, *, by: str, now_ms: int) -> AuditNote | None:
    """What the audit trail notes of erasing the job; None for one that was erased before.

    Raises `RequestError` `job.conflict` while something can still become of it.
    """
    if job.is_erased:
        return None
    if not may_be_erased(job.status, job.error.code if job.error else None):
        first = _FIRST.get(job.status, "cancel it first, or wait until it has ended")
        raise RequestError(
            f"The job is {job.status.value}, so its contents cannot be erased yet: {first}.",
            code="job.conflict",
            details={"status": job.status.value, "version": job.version},
        )
    return AuditNote(action=Action.JOB_ERASED, at_ms=now_ms, by=by, digest=job.digest)
