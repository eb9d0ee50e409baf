"""The public shapes: what API, client, CLI, panel and callbacks show of a job.

Derived from the stored record in one place, so that every view tells the same.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject, JsonValue
from vardy_worker.contracts.decision import Choice, Decision
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.ids import idempotency_key
from vardy_worker.contracts.job import SCHEMA, JobKind, Mode, Timings, Usage
from vardy_worker.contracts.journal import EffectCounts, EffectRecord, EffectState, count_effects
from vardy_worker.contracts.plan import duplicates, effects_named
from vardy_worker.contracts.policy import SmallestChange, Verdict
from vardy_worker.contracts.program import Finding
from vardy_worker.contracts.status import Stage, Status, is_settled
from vardy_worker.contracts.user import User

if TYPE_CHECKING:
    from vardy_worker.contracts.explore import Round
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.journal import JournalEntry


class ProgramView(Contract):
    """The program that ran."""

    source: str
    sha256: str
    attempts: int
    warnings: tuple[Finding, ...] = ()


class ApprovalView(Contract):
    """One approval that is asked for, and who has given it (ids of people)."""

    rule: str
    roles: tuple[str, ...]
    quorum: int
    message: str = ""
    approved_by: tuple[str, ...] = ()


class PlanView(Contract):
    """The plan's head: digest, verdict, approvals, counts. Its bytes are at `/plan`."""

    digest: str
    revision: int
    verdict: Verdict
    rules_digest: str
    expires_at: datetime | None = None
    warnings: tuple[str, ...] = ()
    approvals: tuple[ApprovalView, ...] = ()
    avoidable: SmallestChange | None = None
    """How the approval could be avoided; null where no way is known. Of the rules of `rules_digest`."""
    outside: tuple[str, ...] = ()
    """What takes it outside the envelope of its recipe."""
    counts: EffectCounts


class EffectView(Contract):
    """One effect with its verdict and where its commit stands.

    `rules` are those that matched; empty when the default applied, or `failed_rule`, which
    could not be evaluated, blocks alone.
    """

    seq: int
    function: str
    args: JsonObject
    refs: tuple[Ref, ...] = ()
    verdict: Verdict
    rules: tuple[str, ...] = ()
    failed_rule: str = ""
    message: str = ""
    state: EffectState = EffectState.PENDING
    idempotency_key: str
    attempts: int = 0
    result: JsonValue = None
    error: ErrorInfo | None = None


class RoundView(Contract):
    """One round of an explore. One without `ended_at` is under way; a `summary` may be null."""

    n: int
    program: str | None = None
    summary: JsonValue = None
    truncated: bool = False
    error: ErrorInfo | None = None
    ended_at: datetime | None = None


class DecisionView(Contract):
    """One person's word on a plan. `via` says where it came from, such as `api` or `cli`."""

    decision: Choice
    digest: str
    user: User
    reason: str = ""
    via: str = "api"
    key_id: str = ""
    at: datetime


class JournalEntryView(Contract):
    """One line of the journal of a commit; see `JournalEntry`. `due_at`: when the effect is tried again by itself."""

    at: datetime
    seq: int
    state: EffectState
    attempt: int
    fence: int
    worker: str
    idempotency_key: str
    args_sha256: str
    code: str = ""
    due_at: datetime | None = None
    by: str = ""
    reason: str = ""


class JobView(Contract):
    """A job as people and programs see it.

    `next_try_at` is set while a commit waits to try an effect again. Of a job whose contents
    were erased (`erased_at`) there are no effects, only their counts in `plan`.
    """

    id: str
    kind: JobKind
    status: Status
    stage: Stage | None = None
    settled: bool
    request: str | None = None
    recipe: str | None = None
    recipe_version: int | None = Field(None, description="the one that was the newest at submission")
    params: JsonObject = Field(default_factory=dict)
    user: User
    mode: Mode
    created_at: datetime
    started_at: datetime | None = None
    settled_at: datetime | None = None
    next_try_at: datetime | None = None
    erased_at: datetime | None = None
    program: ProgramView | None = None
    output: JsonValue = None
    output_refs: tuple[Ref, ...] = ()
    answer: str | None = None
    rounds: tuple[RoundView, ...] = ()
    warnings: tuple[str, ...] = ()
    plan: PlanView | None = None
    effects: tuple[EffectView, ...] = ()
    decisions: tuple[DecisionView, ...] = ()
    error: ErrorInfo | None = None
    usage: Usage
    timings_ms: Timings
    metadata: dict[str, str] = Field(default_factory=dict)
    version: int
    schema_: int = Field(SCHEMA, alias="schema", serialization_alias="schema")

    model_config = Contract.model_config | {"populate_by_name": True}


def instant(at_ms: int) -> datetime:
    """Milliseconds since the epoch as a UTC time."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC)


def moment(at_ms: int | None) -> datetime | None:
    """The same, where there may be none."""
    return None if at_ms is None else instant(at_ms)


def milliseconds(moment: datetime) -> int:
    """A time as milliseconds since the epoch; one without a zone is UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def effect_records(job: JobRecord) -> list[EffectRecord]:
    """The state of every effect of the plan; those never touched are `PENDING`."""
    if job.plan is None:
        return []
    if job.is_erased:
        return list(job.effects)
    known = {record.seq: record for record in job.effects}
    return [
        known.get(effect.seq)
        or EffectRecord(seq=effect.seq, idempotency_key=idempotency_key(job.id, job.plan.digest, effect.seq))
        for effect in job.plan.body().effects
    ]


def newest_decisions(job: JobRecord) -> dict[str, Decision]:
    """Each person's newest decision on the plan as it is now, by user id."""
    return {d.user.id: d for d in job.decisions if d.digest == job.digest}


def approvers(job: JobRecord) -> tuple[User, ...]:
    """The people whose newest decision on the present plan is an approval."""
    return tuple(d.user for d in newest_decisions(job).values() if d.decision is Choice.APPROVE)


def _approvals(job: JobRecord) -> tuple[ApprovalView, ...]:
    people = approvers(job)
    needs = job.policy.approvals if job.policy else ()
    return tuple(
        ApprovalView(
            rule=need.rule,
            roles=need.roles,
            quorum=need.quorum,
            message=need.message,
            approved_by=tuple(person.id for person in people if need.open_to(person.roles)),
        )
        for need in needs
    )


def _plan_view(job: JobRecord) -> PlanView | None:
    if job.plan is None or job.policy is None:
        return None
    effects = () if job.is_erased else job.plan.body().effects
    warnings = tuple(
        f"{effects_named(group).capitalize()} are identical: {effects[group[0]].function} with the same arguments."
        for group in duplicates(effects)
    )
    return PlanView(
        digest=job.plan.digest,
        revision=job.revision,
        verdict=job.policy.verdict,
        rules_digest=job.policy.rules_digest,
        expires_at=moment(job.expires_at_ms),
        warnings=warnings,
        approvals=_approvals(job),
        avoidable=job.policy.avoidable,
        outside=job.policy.outside,
        counts=count_effects(effect_records(job)),
    )


def _effect_views(job: JobRecord) -> tuple[EffectView, ...]:
    if job.plan is None or job.policy is None or job.is_erased:
        return ()
    verdicts = {verdict.seq: verdict for verdict in job.policy.effects}
    return tuple(
        EffectView(
            seq=effect.seq,
            function=effect.function,
            args=effect.args,
            refs=effect.refs,
            verdict=verdicts[effect.seq].verdict,
            rules=verdicts[effect.seq].rules,
            failed_rule=verdicts[effect.seq].failed_rule,
            message=verdicts[effect.seq].message,
            state=record.state,
            idempotency_key=record.idempotency_key,
            attempts=record.attempts,
            result=record.result,
            error=record.error,
        )
        for effect, record in zip(job.plan.body().effects, effect_records(job), strict=True)
    )


def _next_try(job: JobRecord) -> datetime | None:
    """When a commit that nobody holds tries again; None while a worker has it, or before the first try."""
    waits = job.status is Status.COMMITTING and job.lease_until_ms == 0 and job.not_before_ms > 0
    return moment(job.not_before_ms) if waits else None


def _round_view(each: Round) -> RoundView:
    return RoundView(
        n=each.n,
        program=each.program and each.program.source,
        summary=each.summary,
        truncated=each.truncated,
        error=each.error,
        ended_at=moment(each.ended_at_ms),
    )


def _decision_view(decision: Decision) -> DecisionView:
    return DecisionView(**decision.model_dump(exclude={"at_ms"}), at=instant(decision.at_ms))


def journal_entry_view(entry: JournalEntry) -> JournalEntryView:
    """The public shape of a stored line of the journal."""
    fields = entry.model_dump(exclude={"at_ms", "due_at_ms"})
    return JournalEntryView(**fields, at=instant(entry.at_ms), due_at=moment(entry.due_at_ms))


def job_view(job: JobRecord) -> JobView:
    """The public shape of a stored job."""
    program = job.program
    return JobView(
        id=job.id,
        kind=job.kind,
        status=job.status,
        stage=job.stage if job.status is Status.RUNNING else None,
        settled=is_settled(job.status),
        request=job.submission.request,
        recipe=job.submission.recipe,
        recipe_version=job.recipe and job.recipe.version,
        params=job.submission.params,
        user=job.submission.user,
        mode=job.submission.mode,
        created_at=instant(job.created_at_ms),
        started_at=moment(job.started_at_ms),
        settled_at=moment(job.settled_at_ms),
        next_try_at=_next_try(job),
        erased_at=moment(job.erased_at_ms),
        program=program
        and ProgramView(
            source=program.source, sha256=program.sha256, attempts=program.attempts, warnings=program.warnings
        ),
        output=job.output,
        output_refs=job.output_refs,
        answer=job.answer,
        rounds=tuple(_round_view(each) for each in job.rounds),
        warnings=job.warnings,
        plan=_plan_view(job),
        effects=_effect_views(job),
        decisions=tuple(map(_decision_view, job.decisions)),
        error=job.error,
        usage=job.usage,
        timings_ms=job.timings,
        metadata=job.submission.metadata,
        version=job.version,
    )
