"""Committing a planned job, cancelling, and the operator's verbs: requeue, resolve, discard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import VARDY, Action, AuditNote
from vardy_worker.contracts.base import sha256_json
from vardy_worker.contracts.errors import DISCARDED, ErrorInfo, RequestError, is_discarded
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.ids import idempotency_key
from vardy_worker.contracts.journal import DONE, EffectRecord, EffectState, JournalEntry
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.status import WAITING_FOR_PEOPLE, Status
from vardy_worker.contracts.view import effect_records
from vardy_worker.ports import Change
from vardy_worker.verbs.shared import (
    PUBLISH_GRACE_MS,
    blocked_error,
    conflict,
    require_digest,
    revised_plan,
    rules_asking,
    status_event,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.functions import Catalogue, FunctionSpec
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.plan import Effect
    from vardy_worker.contracts.policy import PolicyResult


def commit_planned(
    job: JobRecord,
    *,
    digest: str,
    evaluate: Callable[[JobRecord], PolicyResult],
    now_ms: int,
    approval_ttl_seconds: int,
    by: str = VARDY,
    retain_seconds: int | None = None,
) -> Change:
    """Commits a `PLANNED` job under the rules now active, by which `evaluate` judges its plan.

    Allow: `COMMITTING`. Approve: `PENDING_APPROVAL`, as a new revision when the rules are
    other ones than the plan was made under. Block: `POLICY_BLOCKED`.
    Raises `RequestError`: `job.conflict`, `digest.*`, `plan.none`, `approval.expired`.
    """
    if job.status is not Status.PLANNED:
        raise conflict(job, "committed")
    require_digest(job, digest)
    if job.expires_at_ms is not None and now_ms >= job.expires_at_ms:
        raise RequestError(
            "The planned job has expired; submit it again.",
            code="approval.expired",
            details={"expires_at_ms": job.expires_at_ms},
        )
    policy = evaluate(job)
    noted = AuditNote(
        action=Action.COMMIT_REQUESTED,
        at_ms=now_ms,
        by=by,
        digest=digest,
        details={"verdict": policy.verdict.value, "rules_digest": policy.rules_digest},
    )
    if policy.verdict is Verdict.BLOCK:
        error = blocked_error(policy)
        return Change(
            job_id=job.id,
            expect_status=frozenset({Status.PLANNED}),
            expect_version=job.version,
            to=Status.POLICY_BLOCKED,
            set={"policy": policy, "error": error, "settled_at_ms": now_ms},
            events=(status_event(Status.POLICY_BLOCKED, now_ms, code=error.code),),
            audit=(noted,),
            due_at_ms=None,
            retain_seconds=retain_seconds,
        )
    if policy.verdict is Verdict.ALLOW:
        return Change(
            job_id=job.id,
            expect_status=frozenset({Status.PLANNED}),
            expect_version=job.version,
            to=Status.COMMITTING,
            set={"policy": policy, "settled_at_ms": None, "commit_checked": False},
            events=(status_event(Status.COMMITTING, now_ms),),
            audit=(noted,),
            due_at_ms=now_ms + PUBLISH_GRACE_MS,
            release=True,
        )
    return park(
        job,
        policy=policy,
        now_ms=now_ms,
        approval_ttl_seconds=approval_ttl_seconds,
        expect=Status.PLANNED,
        noted=noted,
    )


def park(
    job: JobRecord,
    *,
    policy: PolicyResult,
    now_ms: int,
    approval_ttl_seconds: int,
    expect: Status,
    fence: int | None = None,
    noted: AuditNote | None = None,
) -> Change:
    """Parks an existing plan for approval. `noted` says who wanted it; without it the rules did.

    Under other rules than it was made, and where its approvals do not suffice any more, it
    becomes a new revision: the same effects, a new digest, and so void decisions and new
    idempotency keys. Never for a plan of which anything was, or may have been, applied.
    """
    expires_at_ms = now_ms + approval_ttl_seconds * 1000
    fields: dict[str, object] = {
        "policy": policy,
        "settled_at_ms": now_ms,
        "expires_at_ms": expires_at_ms,
        "commit_checked": False,
    }
    effects: tuple[EffectRecord, ...] = ()
    digest, revision = job.digest, job.revision
    again = expect is Status.COMMITTING
    if again or job.policy is None or policy.rules_digest != job.policy.rules_digest:
        plan = revised_plan(job, policy)
        digest, revision = plan.digest, job.revision + 1
        fields |= {"plan": plan, "revision": revision}
        effects = tuple(
            EffectRecord(seq=record.seq, idempotency_key=idempotency_key(job.id, plan.digest, record.seq))
            for record in job.effects
        )
    noted = noted or AuditNote(action=Action.PLAN_REPARKED, at_ms=now_ms, details={"rules_digest": policy.rules_digest})
    asked = {"digest": digest, "details": {**noted.details, "revision": revision, "rules": rules_asking(policy)}}
    return Change(
        job_id=job.id,
        expect_status=frozenset({expect}),
        expect_version=job.version if fence is None else None,
        expect_fence=fence,
        to=Status.PENDING_APPROVAL,
        set=fields,
        effects=effects,
        events=(status_event(Status.PENDING_APPROVAL, now_ms),),
        audit=(noted.model_copy(update=asked),),
        due_at_ms=expires_at_ms,
        release=True,
    )


def expire(job: JobRecord, *, now_ms: int, retain_seconds: int | None = None) -> Change | None:
    """Ends a plan whose time is over; None while it is not. Expiry never approves."""
    if job.status not in WAITING_FOR_PEOPLE or job.expires_at_ms is None or now_ms < job.expires_at_ms:
        return None
    error = ErrorInfo(
        code="policy.expired",
        message="Nobody decided in time, so nothing was changed. Submit the job again.",
        details={"expires_at_ms": job.expires_at_ms},
    )
    return Change(
        job_id=job.id,
        expect_status=WAITING_FOR_PEOPLE,
        expect_version=job.version,
        to=Status.POLICY_BLOCKED,
        set={"error": error, "settled_at_ms": now_ms},
        events=(status_event(Status.POLICY_BLOCKED, now_ms, code=error.code),),
        audit=(AuditNote(action=Action.PLAN_EXPIRED, at_ms=now_ms, digest=job.digest),),
        due_at_ms=None,
        release=True,
        retain_seconds=retain_seconds,
    )


CANCELLED_AT_ONCE = frozenset({Status.QUEUED, Status.RUNNING}) | WAITING_FOR_PEOPLE


def cancel(job: JobRecord, *, by: str, now_ms: int, retain_seconds: int | None = None) -> Change | None:
    """Cancels a job that has not begun to commit.

    Returns None for `COMMITTING`: the caller asks the store to `request_cancel`, and the
    worker stops before the next effect. Raises `RequestError` `job.conflict` otherwise.
    """
    if job.status is Status.COMMITTING:
        return None
    if job.status not in CANCELLED_AT_ONCE:
        raise conflict(job, "cancelled")
    error = ErrorInfo(code="job.cancelled", message=f"{by} cancelled the job.", details={"by": by})
    return Change(
        job_id=job.id,
        expect_status=CANCELLED_AT_ONCE,
        expect_version=job.version,
        to=Status.CANCELLED,
        set={"error": error, "settled_at_ms": now_ms, "stage": None},
        events=(status_event(Status.CANCELLED, now_ms, code=error.code),),
        audit=(AuditNote(action=Action.JOB_CANCELLED, at_ms=now_ms, by=by, digest=job.digest),),
        due_at_ms=None,
        release=True,
        retain_seconds=retain_seconds,
    )


def may_repeat(record: EffectRecord, *, idempotent: bool, key_valid_seconds: float | None, now_ms: int) -> bool:
    """Whether an effect of unknown outcome may be called again with its key."""
    if not idempotent:
        return False
    if key_valid_seconds is None or record.first_started_at_ms is None:
        return True
    return now_ms < record.first_started_at_ms + key_valid_seconds * 1000


def _why_not_repeated(name: str, spec: FunctionSpec | None) -> str:
    if spec is None:
        return f"no worker has {name} any more"
    if not spec.idempotent:
        return f"{name} is not idempotent"
    return f"{name} takes a key again for {spec.key_valid_seconds:g} s only, and they are over"


def requeue(job: JobRecord, *, catalogue: Catalogue, by: str, now_ms: int) -> Change:
    """Starts the commit of a `PARTIAL`, or of a commit's `FUNCTION_ERROR`, again.

    It goes on at the first effect that is not done. Raises `RequestError`: `job.conflict`
    (other status, discarded, or no commit), `approval.expired`, `commit.unresolved`.
    """
    records = effect_records(job)
    begun = job.status is Status.PARTIAL or (job.status is Status.FUNCTION_ERROR and job.plan is not None)
    if not begun or job.is_erased or is_discarded(job.error):
        raise conflict(job, "requeued")
    if job.status is Status.FUNCTION_ERROR and job.expires_at_ms is not None and now_ms >= job.expires_at_ms:
        raise RequestError(
            "The approval has expired and nothing was applied; submit the job again.",
            code="approval.expired",
            details={"expires_at_ms": job.expires_at_ms},
        )
    functions = [effect.function for effect in job.plan.body().effects] if job.plan else []
    unresolved: dict[int, str] = {}
    for record, name in zip(records, functions, strict=True):
        spec = catalogue.get(name)
        repeatable = spec is not None and may_repeat(
            record, idempotent=spec.idempotent, key_valid_seconds=spec.key_valid_seconds, now_ms=now_ms
        )
        if record.state is EffectState.UNKNOWN and not repeatable:
            unresolved[record.seq] = _why_not_repeated(name, spec)
    if unresolved:
        seq, why = next(iter(unresolved.items()))
        raise RequestError(
            f"Nobody knows whether effect {seq} was applied, and repeating it is not safe: {why}. "
            "Find out at the target and resolve it as done or not done, then requeue.",
            code="commit.unresolved",
            details={"effects": list(unresolved)},
        )
    again = tuple(record.model_copy(update={"tries": 0}) for record in records if record.state not in DONE)
    return Change(
        job_id=job.id,
        expect_status=frozenset({job.status}),
        expect_version=job.version,
        to=Status.COMMITTING,
        set={
            "error": None,
            "settled_at_ms": None,
            "commit_checked": False,
            "not_before_ms": 0,
            "cancel_requested_by": "",
        },
        effects=again,
        events=(Event(type="status", data={"status": Status.COMMITTING.value, "requeued_by": by}, at_ms=now_ms),),
        audit=(
            AuditNote(
                action=Action.COMMIT_REQUEUED,
                at_ms=now_ms,
                by=by,
                digest=job.digest,
                details={"effects": [record.seq for record in again]},
            ),
        ),
        due_at_ms=now_ms + PUBLISH_GRACE_MS,
        release=True,
        retain_seconds=0,
    )


def resolve(
    job: JobRecord,
    seq: int,
    *,
    done: bool,
    result: JsonValue,
    reason: str,
    by: str,
    now_ms: int,
    check_result: Callable[[str, JsonValue], str | None],
) -> Change:
    """Settles one effect of unknown outcome by an operator's word; the status stays.

    `check_result(function, result)` says what is wrong with a result, or None. A result is
    needed when a later effect, or the output, refers to it. Raises `RequestError`:
    `job.conflict`, `effect.not_found`, `effect.not_unknown`, `effect.result`, `approval.reason`.
    """
    if job.status is not Status.PARTIAL or job.plan is None or job.is_erased:
        raise conflict(job, "resolved")
    effects = job.plan.body().effects
    record = next((item for item in effect_records(job) if item.seq == seq), None)
    if record is None:
        raise RequestError(
            f"The plan has effects 0 to {len(effects) - 1}.", code="effect.not_found", details={"effect": seq}
        )
    if record.state is not EffectState.UNKNOWN:
        raise RequestError(
            f"Effect {seq} is {record.state.value}; only an UNKNOWN one is resolved.",
            code="effect.not_unknown",
            details={"effect": seq, "state": record.state.value},
        )
    if not reason.strip():
        raise RequestError("Say how you found out.", code="approval.reason", details={"field": "reason"})
    if done:
        refs = [ref for effect in effects for ref in effect.refs] + list(job.output_refs)
        needed = any(ref.effect == seq for ref in refs)
        problem = check_result(effects[seq].function, result) if needed or result is not None else None
        if problem:
            raise RequestError(problem, code="effect.result", details={"effect": seq})
    state = EffectState.RESOLVED_DONE if done else EffectState.RESOLVED_NOT_DONE
    settled = record.model_copy(
        update={
            "state": state,
            "result": result if done else None,
            "ended_at_ms": now_ms,
            "error": None,
            "maybe_applied": False,
        }
    )
    return Change(
        job_id=job.id,
        expect_status=frozenset({Status.PARTIAL}),
        expect_version=job.version,
        effects=(settled,),
        journal=(_said(job, settled, effects[seq], by=by, reason=reason, now_ms=now_ms),),
        events=(_effect_event(settled, by, now_ms),),
        audit=(
            AuditNote(
                action=Action.EFFECT_RESOLVED,
                at_ms=now_ms,
                by=by,
                digest=job.digest,
                details={"effect": seq, "state": state.value, "function": effects[seq].function},
                reason=reason,
            ),
        ),
    )


def discard(job: JobRecord, *, by: str, reason: str, now_ms: int, retain_seconds: int | None = None) -> Change:
    """Ends a `PARTIAL` for good: what was never tried becomes `SKIPPED`, the rest stays as it is.

    Raises `RequestError`: `job.conflict`, `approval.reason`.
    """
    if job.status is not Status.PARTIAL or is_discarded(job.error):
        raise conflict(job, "discarded")
    if not reason.strip():
        raise RequestError("Say why the rest is not wanted.", code="approval.reason", details={"field": "reason"})
    effects = job.plan.body().effects if job.plan else ()
    skipped = tuple(
        record.model_copy(update={"state": EffectState.SKIPPED, "ended_at_ms": now_ms})
        for record in effect_records(job)
        if record.state is EffectState.PENDING
    )
    error = ErrorInfo(
        code=DISCARDED,
        message=f"{by} gave up the rest of the plan: {reason}",
        details={"by": by, "skipped": [record.seq for record in skipped]},
    )
    return Change(
        job_id=job.id,
        expect_status=frozenset({Status.PARTIAL}),
        expect_version=job.version,
        set={"error": error},
        effects=skipped,
        journal=tuple(
            _said(job, record, effects[record.seq], by=by, reason=reason, now_ms=now_ms) for record in skipped
        ),
        events=(
            *(_effect_event(record, by, now_ms) for record in skipped),
            Event(type="status", data={"status": "PARTIAL", "code": error.code}, at_ms=now_ms),
        ),
        audit=(
            AuditNote(
                action=Action.COMMIT_DISCARDED,
                at_ms=now_ms,
                by=by,
                digest=job.digest,
                details={"skipped": [record.seq for record in skipped]},
                reason=reason,
            ),
        ),
        retain_seconds=retain_seconds,
    )


def _said(job: JobRecord, record: EffectRecord, effect: Effect, *, by: str, reason: str, now_ms: int) -> JournalEntry:
    """The journal's entry of what an operator made of an effect."""
    return JournalEntry(
        at_ms=now_ms,
        seq=record.seq,
        state=record.state,
        attempt=record.attempts,
        fence=job.fence,
        worker="",
        idempotency_key=record.idempotency_key,
        args_sha256=sha256_json(effect.args),
        by=by,
        reason=reason,
    )


def _effect_event(record: EffectRecord, by: str, now_ms: int) -> Event:
    return Event(type="effect", data={"seq": record.seq, "state": record.state.value, "by": by}, at_ms=now_ms)
