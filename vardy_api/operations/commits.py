"""The verbs of requesters and operators: cancel, requeue, resolve, discard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.operations.decisions import own_job_or_operator
from vardy_worker import verbs
from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.operations.changes import Changes
    from vardy_api.operations.jobs import JobOperations
    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.user import User
    from vardy_worker.ports import Change, Clock, JobStore


class CommitOperations:
    """The use cases of operators."""

    def __init__(
        self,
        store: JobStore,
        jobs: JobOperations,
        changes: Changes,
        catalogue: CatalogueReader,
        clock: Clock,
        *,
        retain_seconds: int,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._changes = changes
        self._catalogue = catalogue
        self._clock = clock
        self._retain_seconds = retain_seconds

    def cancel(self, caller: Caller, job_id: str, *, user: User | None) -> JobRecord:
        """Cancels a job: for its submitter, or an operator. One that commits stops before the next effect."""
        caller.need(Scope.SUBMIT, Scope.OPERATE)
        by = caller.actor(user)

        def verb(job: JobRecord) -> Change | None:
            own_job_or_operator(caller, job)
            change = verbs.cancel(job, by=by, now_ms=self._clock.now_ms(), retain_seconds=self._retain_seconds)
            if change is None and not self._store.request_cancel(job_id, by=by, audit=[self._wish(caller, job, by)]):
                # It ended between the look and the request.
                return verb(self._jobs.find(caller, job_id))
            return change

        return self._changes.apply(caller, job_id, verb)

    def _wish(self, caller: Caller, job: JobRecord, by: str) -> AuditNote:
        return AuditNote(
            action=Action.JOB_CANCEL_REQUESTED,
            at_ms=self._clock.now_ms(),
            by=by,
            origin=caller.origin,
            digest=job.digest,
        )

    def requeue(self, caller: Caller, job_id: str, *, user: User | None, dry_run: bool = False) -> JobRecord:
        """Starts a commit again at the first effect that is not done; a dry run only says whether that is refused."""
        caller.need(Scope.OPERATE)
        by = caller.actor(user)
        catalogue = self._catalogue.current()

        def verb(job: JobRecord) -> Change | None:
            change = verbs.requeue(job, catalogue=catalogue, by=by, now_ms=self._clock.now_ms())
            return None if dry_run else change

        return self._changes.apply(caller, job_id, verb)

    def resolve(
        self,
        caller: Caller,
        job_id: str,
        seq: int,
        *,
        done: bool,
        result: JsonValue,
        reason: str,
        user: User | None,
    ) -> JobRecord:
        """Settles one effect of unknown outcome by the operator's word."""
        caller.need(Scope.OPERATE)
        by = caller.actor(user)

        def verb(job: JobRecord) -> Change:
            return verbs.resolve(
                job,
                seq,
                done=done,
                result=result,
                reason=reason,
                by=by,
                now_ms=self._clock.now_ms(),
                check_result=self._catalogue.check_result,
            )

        return self._changes.apply(caller, job_id, verb)

    def discard(self, caller: Caller, job_id: str, *, reason: str, user: User | None) -> JobRecord:
        """Gives up the rest of a `PARTIAL` job."""
        caller.need(Scope.OPERATE)
        by = caller.actor(user)

        def verb(job: JobRecord) -> Change:
            return verbs.discard(
                job, by=by, reason=reason, now_ms=self._clock.now_ms(), retain_seconds=self._retain_seconds
            )

        return self._changes.apply(caller, job_id, verb)
