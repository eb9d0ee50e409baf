"""Erasure: taking the contents out of jobs that are over, and removing what a person's plans added up to and spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.operations.changes import TRIES_MAX, keeps_changing
from vardy_worker import verbs
from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.user import Scope, composed
from vardy_worker.logs import get_logger
from vardy_worker.ports import Conflict

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.jobs import JobOperations
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import Clock, JobStore

log = get_logger(__name__)


class ErasureOperations:
    """The use cases of erasure. They need `operate`: what an owner could erase would be no evidence against it."""

    def __init__(self, store: JobStore, jobs: JobOperations, clock: Clock) -> None:
        self._store = store
        self._jobs = jobs
        self._clock = clock

    def erase(self, caller: Caller, job_id: str, *, dry_run: bool = False) -> JobRecord:
        """The job without its contents; erasing twice is the same. A dry run only says whether it would be refused.

        Raises `auth.scope`, `job.not_found`, and `job.conflict` while something can still become of it.
        """
        caller.need(Scope.OPERATE)
        for _ in range(TRIES_MAX):
            job = self._jobs.read(caller, job_id)
            now_ms = self._clock.now_ms()
            note = verbs.erase(job, by=caller.actor(), now_ms=now_ms)
            if note is None or dry_run:
                return job
            audit = (note.done_from(caller.origin),)
            reply = self._store.erase(job_id, expect_version=job.version, at_ms=now_ms, audit=audit)
            if not isinstance(reply, Conflict):
                log.info("job.erased", job_id=job_id, key_id=caller.key.id)
                return self._jobs.find(caller, job_id)
        raise keeps_changing(job)

    def erase_totals(self, caller: Caller, user: str) -> None:
        """Erases what a person's plans of the last hours added up to, and what the person spent on models.

        Erasing twice is the same. Limits over time begin anew for the person. Raises `auth.scope`.
        """
        caller.need(Scope.OPERATE)
        person = composed(user)
        noted = AuditNote(
            action=Action.TOTALS_ERASED,
            at_ms=self._clock.now_ms(),
            by=caller.actor(),
            origin=caller.origin,
            subject=person,
        )
        if self._store.erase_user_totals(person, audit=[noted]):
            log.info("totals.erased", key_id=caller.key.id)
