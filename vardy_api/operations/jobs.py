"""Reading jobs: one, listed; its plan and its console."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vardy_api.operations.caller import Caller
from vardy_worker.contracts.audit import Origin
from vardy_worker.contracts.errors import RequestError, StoreUnavailable
from vardy_worker.contracts.ids import JOB_ID
from vardy_worker.contracts.job import ConsoleRecord
from vardy_worker.contracts.user import Scope
from vardy_worker.contracts.view import instant
from vardy_worker.verbs import expire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.job import JobFilter, JobPage, JobRecord
    from vardy_worker.contracts.journal import JournalEntry
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.ports import Clock, JobStore

_READ_BY_API = Origin(via="api")
"""From where a plan is ended whose time a reader found to be over."""


def job_not_found(job_id: str) -> RequestError:
    """The same for a job that does not exist and one that is not visible."""
    return RequestError(
        f"There is no job {job_id[:60]}, or the API key may not see it.",
        code="job.not_found",
        details={"job": job_id[:60]},
    )


def plan_of(job: JobRecord) -> Plan:
    """The job's plan. Raises `plan.none`, `plan.erased`."""
    if job.plan is None:
        raise RequestError("The job has no plan.", code="plan.none", details={"status": job.status.value})
    if job.is_erased:
        raise RequestError(
            "The contents of the job were erased; of its plan only the digest is left.",
            code="plan.erased",
            details={"digest": job.digest, "erased_at": job.erased_at_ms and instant(job.erased_at_ms).isoformat()},
        )
    return job.plan


class JobOperations:
    """The use cases of readers."""

    def __init__(self, store: JobStore, clock: Clock, *, retain_seconds: int) -> None:
        self._store = store
        self._clock = clock
        self._retain_seconds = retain_seconds

    def find(self, caller: Caller, job_id: str) -> JobRecord:
        """The record as stored, if visible. Raises `job.not_found`."""
        job = self._store.get(job_id) if JOB_ID.match(job_id) else None
        if job is None or not caller.sees(job):
            raise job_not_found(job_id)
        return job

    def read(self, caller: Caller, job_id: str) -> JobRecord:
        """The job as it is now. A plan whose time is over has ended, whether or not anything swept it."""
        return self.after_expiry(self.find(caller, job_id))

    def look_up(self, job_id: str) -> JobRecord | None:
        """The same for whoever checks by itself who may see it; None if it is not there."""
        job = self._store.get(job_id)
        return job and self.after_expiry(job)

    def after_expiry(self, job: JobRecord) -> JobRecord:
        """The job, ended first if it waited too long for people; seen so too where the store cannot write."""
        change = expire(job, now_ms=self._clock.now_ms(), retain_seconds=self._retain_seconds)
        if change is None:
            return job
        try:
            self._store.change(replace(change, audit=tuple(note.done_from(_READ_BY_API) for note in change.audit)))
        except StoreUnavailable:
            return job.model_copy(update={"status": change.to, **change.set})
        return self._store.get(job.id) or job

    def list(self, caller: Caller, where: JobFilter, *, cursor: str | None, limit: int) -> JobPage:
        """A page of the visible jobs, newest first. Raises `cursor.invalid`."""
        if not caller.sees_all:
            where = where.model_copy(update={"owner": caller.key.owner})
        return self._store.list_jobs(where, cursor=cursor, limit=limit)

    def plan(self, caller: Caller, job_id: str) -> Plan:
        """The plan with its exact text. Raises `plan.none`, `plan.erased`."""
        return plan_of(self.find(caller, job_id))

    def journal(self, caller: Caller, job_id: str) -> Sequence[JournalEntry]:
        """The commit journal of a visible job, oldest first; empty before its commit."""
        self.find(caller, job_id)
        return self._store.journal(job_id)

    def attempts(self, caller: Caller, job_id: str) -> JobRecord:
        """The job, for what the model answered to it. For operators: a model may have written anything."""
        caller.need(Scope.OPERATE)
        return self.find(caller, job_id)

    def console(self, caller: Caller, job_id: str) -> ConsoleRecord:
        """What the program printed: for the job's owner and for operators."""
        job = self.find(caller, job_id)
        if job.owner != caller.key.owner:
            caller.need(Scope.OPERATE)
        return self._store.console(job_id) or ConsoleRecord()
