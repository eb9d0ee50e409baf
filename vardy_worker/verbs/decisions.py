"""Approving and denying: bound to the digest, by distinct people, never by the requester."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.decision import Choice, Decision
from vardy_worker.contracts.errors import ErrorInfo, RequestError
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import approvers, newest_decisions
from vardy_worker.ports import Change
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS, conflict, is_approved, require_digest, status_event

if TYPE_CHECKING:
    from vardy_worker.contracts.decision import DecisionMessage
    from vardy_worker.contracts.job import JobRecord


def decide(
    job: JobRecord, *, message: DecisionMessage, now_ms: int, four_eyes: bool, retain_seconds: int | None = None
) -> Change | None:
    """One person's decision on a parked plan.

    Returns None when the same person, with the same roles, said the same before: nothing to
    do. The last approval that is needed moves the job to `COMMITTING`; a denial ends it.
    Raises `RequestError`: `digest.missing`, `digest.mismatch`, `plan.none`, `job.conflict`,
    `approval.expired`, `approval.requester`, `approval.role`, `approval.reason`.
    """
    _check(job, message, now_ms, four_eyes=four_eyes)
    earlier = newest_decisions(job).get(message.user.id)
    if earlier is not None and _is_the_same(earlier, message):
        return None
    decision = Decision(
        decision=message.decision,
        digest=message.digest,
        user=message.user,
        reason=message.reason,
        via=message.via,
        key_id=message.key_id,
        at_ms=now_ms,
    )
    decided = job.model_copy(update={"decisions": (*job.decisions, decision)})
    noted = AuditNote(
        action=Action.DECISION_APPROVE if decision.decision is Choice.APPROVE else Action.DECISION_DENY,
        at_ms=now_ms,
        by=decision.user.id,
        digest=decision.digest,
        details={"roles": list(decision.user.roles), "revision": job.revision},
        reason=decision.reason,
    )
    told = Event(
        type="decision",
        data={"decision": decision.decision.value, "user": decision.user.id, "digest": decision.digest},
        at_ms=now_ms,
    )
    if decision.decision is Choice.DENY:
        return _denied(decided, decision, told, noted, retain_seconds)
    if decided.policy is not None and is_approved(decided.policy, approvers(decided)):
        return Change(
            job_id=job.id,
            expect_status=frozenset({Status.PENDING_APPROVAL}),
            expect_version=job.version,
            to=Status.COMMITTING,
            set={"decisions": decided.decisions, "settled_at_ms": None, "commit_checked": False},
            events=(told, status_event(Status.COMMITTING, now_ms)),
            audit=(noted,),
            due_at_ms=now_ms + PUBLISH_GRACE_MS,
            release=True,
        )
    return Change(
        job_id=job.id,
        expect_status=frozenset({Status.PENDING_APPROVAL}),
        expect_version=job.version,
        set={"decisions": decided.decisions},
        events=(told,),
        audit=(noted,),
    )


def _check(job: JobRecord, message: DecisionMessage, now_ms: int, *, four_eyes: bool) -> None:
    if job.status is not Status.PENDING_APPROVAL:
        raise conflict(job, "decided")
    require_digest(job, message.digest)
    if job.expires_at_ms is not None and now_ms >= job.expires_at_ms:
        raise RequestError(
            "The time to decide is over; submit the job again.",
            code="approval.expired",
            details={"expires_at_ms": job.expires_at_ms},
        )
    if four_eyes and message.decision is Choice.APPROVE and message.user.id == job.submission.user.id:
        raise RequestError(
            f"{message.user.id} asked for this job, so another person must approve it.",
            code="approval.requester",
            details={"user": message.user.id},
        )
    needs = job.policy.approvals if job.policy else ()
    if not any(need.open_to(message.user.roles) for need in needs):
        wanted = sorted({role for need in needs for role in need.roles})
        raise RequestError(
            f"Only people with one of these roles may decide: {', '.join(wanted)}.",
            code="approval.role",
            details={"roles": wanted, "user": message.user.id},
        )
    if message.decision is Choice.DENY and not message.reason.strip():
        raise RequestError("Say why the plan is denied.", code="approval.reason", details={"field": "reason"})


def _is_the_same(earlier: Decision, message: DecisionMessage) -> bool:
    return earlier.decision is message.decision and set(earlier.user.roles) == set(message.user.roles)


def _denied(job: JobRecord, decision: Decision, told: Event, noted: AuditNote, retain_seconds: int | None) -> Change:
    error = ErrorInfo(
        code="policy.denied",
        message=f"{decision.user.id} denied the plan: {decision.reason}",
        details={"user": decision.user.id, "reason": decision.reason, "digest": decision.digest},
    )
    return Change(
        job_id=job.id,
        expect_status=frozenset({Status.PENDING_APPROVAL}),
        expect_version=job.version,
        to=Status.POLICY_BLOCKED,
        set={"decisions": job.decisions, "error": error, "settled_at_ms": decision.at_ms},
        events=(told, status_event(Status.POLICY_BLOCKED, decision.at_ms, code=error.code)),
        audit=(noted,),
        due_at_ms=None,
        release=True,
        retain_seconds=retain_seconds,
    )
