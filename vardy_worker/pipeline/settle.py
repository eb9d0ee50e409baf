"""The changes by which a worker ends its part of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.errors import FenceLost
from vardy_worker.contracts.journal import count_effects
from vardy_worker.contracts.status import WAITING_FOR_PEOPLE, Status
from vardy_worker.ports import Change, Changed
from vardy_worker.verbs.shared import rules_asking, status_event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.errors import ErrorInfo
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.journal import EffectRecord
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.policy import PolicyResult
    from vardy_worker.ports import JobStore
    from vardy_worker.stages.commit import Unwritten


def settled(
    job: JobRecord,
    to: Status,
    *,
    fence: int,
    now_ms: int,
    retain_seconds: int,
    error: ErrorInfo | None = None,
    fields: Mapping[str, object] | None = None,
    unwritten: Unwritten | None = None,
    expires_at_ms: int | None = None,
    audit: tuple[AuditNote, ...] = (),
) -> Change:
    """The job reaches a status in which a wait returns.

    Plans that wait for people become due when they expire. Those and `PARTIAL` jobs, which
    somebody must end, are kept for good; all others for the retention time.
    """
    waiting = to in WAITING_FOR_PEOPLE
    written = {"error": error, "stage": None, "settled_at_ms": now_ms, **(fields or {})}
    if expires_at_ms is not None:
        written["expires_at_ms"] = expires_at_ms
    return Change(
        job_id=job.id,
        expect_status=frozenset({job.status}),
        expect_fence=fence,
        to=to,
        set=written,
        effects=unwritten.effects if unwritten else (),
        journal=unwritten.journal if unwritten else (),
        events=(
            *(unwritten.events if unwritten else ()),
            status_event(to, now_ms, code=error.code if error else ""),
        ),
        audit=audit,
        due_at_ms=expires_at_ms if waiting else None,
        release=True,
        retain_seconds=0 if waiting or to is Status.PARTIAL else retain_seconds,
    )


def plan_made(plan: Plan, policy: PolicyResult, now_ms: int) -> AuditNote:
    """The note of a plan and its verdict."""
    return AuditNote(
        action=Action.PLAN_MADE,
        at_ms=now_ms,
        digest=plan.digest,
        details={
            "effects": len(policy.effects),
            "revision": 1,
            "verdict": policy.verdict.value,
            "rules_digest": policy.rules_digest,
            "rules": rules_asking(policy),
        },
    )


def job_settled(job: JobRecord, records: list[EffectRecord], error: ErrorInfo | None, now_ms: int) -> AuditNote:
    """The note of a commit that ended, or stopped."""
    counts = count_effects(records).model_dump(exclude_defaults=True)
    details = {"effects": counts} | ({"code": error.code} if error else {})
    return AuditNote(action=Action.JOB_SETTLED, at_ms=now_ms, digest=job.digest, details=details)


def apply(store: JobStore, change: Change) -> None:
    """Applies a worker's change. Raises `FenceLost` when the job is not this worker's any more."""
    reply = store.change(change)
    if not isinstance(reply, Changed):
        raise FenceLost(f"Job {change.job_id} was taken over, cancelled or deleted meanwhile.")
