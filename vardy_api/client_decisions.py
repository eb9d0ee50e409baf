"""The client's methods that decide about plans, and lead jobs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api import client_calls as calls
from vardy_api.client_arguments import as_seconds, as_user, checked, job_id_of, shown_plan
from vardy_api.client_waiting import WaitingFlows
from vardy_api.shapes import DecisionRequest, PersonRequest, ReasonRequest, ResolveRequest
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from vardy_api.client_arguments import Person
    from vardy_api.client_flows import Flow
    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.view import JobView


class DecisionFlows(WaitingFlows):
    """Approving, denying and committing plans; cancelling and repairing jobs.

    None of these is sent a second time when its answer was lost, since the first may have
    been carried out: `Unreachable` then asks the caller to look at the job.
    """

    def commit(
        self,
        job: JobView,
        *,
        user: Person = None,
        reason: str = "",
        wait: bool = True,
        timeout_seconds: float | None = None,
    ) -> Flow[JobView]:
        """Lets exactly the plan that `job` shows be executed, and waits for the end.

        A `PENDING_APPROVAL` job is approved by `user`, who must not be the person that
        asked for it (`approval.requester`) while four eyes are demanded; a `PLANNED` one
        is committed for `user`, under the rules and approvals as always.
        """
        shown_plan(job, None)
        if job.status is Status.PLANNED:
            return (yield from self.commit_planned(job, user=user, wait=wait, timeout_seconds=timeout_seconds))
        return (yield from self.approve(job, user=user, reason=reason, wait=wait, timeout_seconds=timeout_seconds))

    def approve(
        self,
        job: JobView | str,
        *,
        user: Person = None,
        reason: str = "",
        digest: str | None = None,
        wait: bool = True,
        timeout_seconds: float | None = None,
    ) -> Flow[JobView]:
        """Approves the plan that was shown; a job given by id alone needs its `digest`."""
        as_seconds(timeout_seconds, "timeout_seconds")
        decided = yield from self._decide(job, Choice.APPROVE, user, reason, digest)
        return (yield from self._wait_if(decided, wait=wait, timeout_seconds=timeout_seconds))

    def deny(self, job: JobView | str, *, reason: str, user: Person = None, digest: str | None = None) -> Flow[JobView]:
        """Denies the plan that was shown, which ends the job."""
        return (yield from self._decide(job, Choice.DENY, user, reason, digest))

    def _decide(
        self, job: JobView | str, choice: Choice, user: Person, reason: str, digest: str | None
    ) -> Flow[JobView]:
        job_id, shown = shown_plan(job, digest)
        with checked():
            request = DecisionRequest(decision=choice, user=as_user(user), reason=reason)
        return (yield from self._perform(calls.decide(job_id, shown, request)))

    def commit_planned(
        self,
        job: JobView | str,
        *,
        user: Person = None,
        digest: str | None = None,
        wait: bool = True,
        timeout_seconds: float | None = None,
    ) -> Flow[JobView]:
        """Commits a `PLANNED` job under the rules now active; it may come back `PENDING_APPROVAL`."""
        as_seconds(timeout_seconds, "timeout_seconds")
        job_id, shown = shown_plan(job, digest)
        begun = yield from self._perform(calls.commit_planned(job_id, shown, PersonRequest(user=as_user(user))))
        return (yield from self._wait_if(begun, wait=wait, timeout_seconds=timeout_seconds))

    def cancel(self, job: JobView | str, *, user: Person = None) -> Flow[JobView]:
        """Cancels a job; one that is committing stops before its next effect."""
        return (yield from self._act(job, "cancel", PersonRequest(user=as_user(user))))

    def requeue(self, job: JobView | str, *, user: Person = None, dry_run: bool = False) -> Flow[JobView]:
        """Starts the commit again at the first effect that is not done; a dry run only raises what would refuse it."""
        request = PersonRequest(user=as_user(user))
        if dry_run:
            return (yield from self._perform(calls.try_requeue(job_id_of(job), request)))
        return (yield from self._act(job, "requeue", request))

    def discard(self, job: JobView | str, *, reason: str, user: Person = None) -> Flow[JobView]:
        """Gives up the rest of a `PARTIAL` job for good."""
        with checked():
            request = ReasonRequest(reason=reason, user=as_user(user))
        return (yield from self._act(job, "discard", request))

    def resolve(
        self,
        job: JobView | str,
        seq: int,
        *,
        done: bool,
        reason: str,
        result: JsonValue = None,
        user: Person = None,
    ) -> Flow[JobView]:
        """Says of an `UNKNOWN` effect whether it was applied, and how that was found out."""
        with checked():
            request = ResolveRequest(done=done, result=result, reason=reason, user=as_user(user))
        return (yield from self._perform(calls.resolve(job_id_of(job), seq, request)))

    def _act(self, job: JobView | str, verb: str, request: PersonRequest | ReasonRequest) -> Flow[JobView]:
        return (yield from self._perform(calls.act(job_id_of(job), verb, request)))
