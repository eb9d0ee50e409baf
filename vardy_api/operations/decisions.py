"""Decisions on parked plans, and the commit of planned jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.active_rules import evaluate_plan
from vardy_worker.contracts.decision import DecisionMessage
from vardy_worker.contracts.errors import RequestError, RulesError
from vardy_worker.contracts.user import Scope
from vardy_worker.verbs import commit_planned, decide

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.operations.changes import Changes
    from vardy_worker.active_rules import ActiveRules
    from vardy_worker.contracts.decision import Choice
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.policy import PolicyResult
    from vardy_worker.contracts.user import User
    from vardy_worker.ports import Change, Clock, JobStore


class DecisionOperations:
    """The use cases of approvers, and of those who commit what they planned."""

    def __init__(
        self,
        store: JobStore,
        changes: Changes,
        catalogue: CatalogueReader,
        rules: ActiveRules,
        clock: Clock,
        *,
        four_eyes: bool,
        approval_ttl_seconds: int,
        retain_seconds: int,
    ) -> None:
        self._store = store
        self._changes = changes
        self._catalogue = catalogue
        self._rules = rules
        self._clock = clock
        self._four_eyes = four_eyes
        self._approval_ttl_seconds = approval_ttl_seconds
        self._retain_seconds = retain_seconds

    def decide(
        self,
        caller: Caller,
        job_id: str,
        *,
        digest: str,
        decision: Choice,
        user: User | None,
        reason: str,
    ) -> JobRecord:
        """One person's word on exactly the plan with this digest.

        Raises `auth.scope`, `auth.person`, and all that `verbs.decide` raises.
        """
        caller.need(Scope.DECIDE)
        message = DecisionMessage(
            job_id=job_id,
            digest=digest,
            decision=decision,
            user=caller.person(user),
            reason=reason,
            via=caller.via,
            key_id=caller.key.id,
        )

        def verb(job: JobRecord) -> Change | None:
            return decide(
                job,
                message=message,
                now_ms=self._clock.now_ms(),
                four_eyes=self._four_eyes,
                retain_seconds=self._retain_seconds,
            )

        return self._changes.apply(caller, job_id, verb)

    def commit_planned(self, caller: Caller, job_id: str, *, digest: str, user: User | None) -> JobRecord:
        """Commits a `PLANNED` job under the rules active now: for its submitter, or an operator.

        Raises `auth.scope`, `auth.person`, `commit.blocked` when the active rules cannot
        be used, and all that `verbs.commit_planned` raises.
        """
        caller.need(Scope.SUBMIT, Scope.OPERATE)
        by = caller.person(user).id

        def verb(job: JobRecord) -> Change:
            own_job_or_operator(caller, job)
            return commit_planned(
                job,
                digest=digest,
                evaluate=self._evaluate,
                now_ms=self._clock.now_ms(),
                approval_ttl_seconds=self._approval_ttl_seconds,
                by=by,
                retain_seconds=self._retain_seconds,
            )

        return self._changes.apply(caller, job_id, verb)

    def _evaluate(self, job: JobRecord) -> PolicyResult:
        try:
            return evaluate_plan(
                job,
                rules=self._rules,
                store=self._store,
                catalogue=self._catalogue.current(),
                four_eyes=self._four_eyes,
            )
        except RulesError as error:
            raise RequestError(
                f"The active rules cannot be used, so nothing is committed: {error.message}",
                code="commit.blocked",
                details=error.details,
            ) from error


def own_job_or_operator(caller: Caller, job: JobRecord) -> None:
    """Raises `auth.scope` unless the caller submitted the job or may operate."""
    if job.owner != caller.key.owner or not caller.has(Scope.SUBMIT):
        caller.need(Scope.OPERATE)
