"""Executes a stored plan, effect by effect, through the journal. Never runs a program.

The order of events for one effect, and what a crash between them leaves:

    STARTED written (durable) → call → outcome
    crash before the call, in it, or before the outcome is written: STARTED under an old
    fence, which means UNKNOWN: repeated with the same key if the function is idempotent
    and the key still valid, else an operator resolves it

The outcome of one effect is written together with the start of the next (one change
instead of two); the last outcome is written with the job's new status by the caller.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.base import pointer_get, pointer_set, sha256_json
from vardy_worker.contracts.errors import ErrorInfo, FenceLost
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.journal import DONE, EffectRecord, EffectState, JournalEntry
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import approvers, effect_records
from vardy_worker.ports import (
    BadArguments,
    CallFailed,
    CallOk,
    CallUnknown,
    Change,
    Changed,
    Conflict,
    FunctionCall,
)
from vardy_worker.verbs.commits import may_repeat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.execution import Ref
    from vardy_worker.contracts.functions import FunctionSpec
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.plan import Effect
    from vardy_worker.leases import Hold, LeaseKeeper
    from vardy_worker.ports import CallOutcome, Clock, FunctionHost, JobStore, Missing

RETRY_SECONDS_FIRST = 1.0
RETRY_SECONDS_MAX = 60.0
RETRY_AFTER_SECONDS_MAX = 86_400.0
"""The longest wait that a function may ask for. Longer ones are mistakes, such as a time instead of a duration."""
CALL_MARGIN_SECONDS = 1.0
"""Beyond the function's own timeout, for the way to it and back."""

_NOT_WORTH_REPEATING = frozenset({"function.bad_result", "function.result_too_large"})
"""The function answered; asking again gives the same answer."""


@dataclass(slots=True)
class Unwritten:
    """Outcomes that go to the store with the next change."""

    effects: list[EffectRecord] = field(default_factory=list)
    journal: list[JournalEntry] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AllDone:
    """Every effect is applied; `results` are theirs, by position."""

    results: tuple[JsonValue, ...]
    unwritten: Unwritten


@dataclass(frozen=True, slots=True)
class StoppedAt:
    """One effect failed, or nobody knows whether it was applied; the rest was not attempted."""

    seq: int
    error: ErrorInfo
    unwritten: Unwritten


@dataclass(frozen=True, slots=True)
class TryAgain:
    """One effect is tried again at a due time."""

    seq: int
    at_ms: int
    unwritten: Unwritten


@dataclass(frozen=True, slots=True)
class CancelledBefore:
    """A cancel was asked for; the effect at `seq` was not started."""

    seq: int
    by: str
    unwritten: Unwritten


@dataclass(slots=True)
class Committer:
    """Walks through one job's effects under one fence."""

    job: JobRecord
    fence: int
    worker: str
    hold: Hold
    leases: LeaseKeeper
    store: JobStore
    host: FunctionHost
    clock: Clock
    result_bytes_max: int
    durable: bool
    unwritten: Unwritten = field(default_factory=Unwritten)
    records: list[EffectRecord] = field(init=False)

    def __post_init__(self) -> None:
        self.records = effect_records(self.job)

    def walk(self) -> AllDone | StoppedAt | TryAgain | CancelledBefore:
        """Applies what is not yet done, in order. Raises `FenceLost` when another worker took over."""
        plan = self.job.plan
        effects = plan.body().effects if plan else ()
        for effect in effects:
            if self.records[effect.seq].state in DONE:
                continue
            ended = self._apply(effect)
            if ended is not None:
                return ended
        return AllDone(tuple(record.result for record in self.records), self.unwritten)

    def applied_or_unknown(self) -> bool:
        """Whether anything was, or may have been, applied."""
        return self.has(*DONE, EffectState.UNKNOWN, EffectState.STARTED)

    def has(self, *states: EffectState) -> bool:
        """Whether any effect is in one of the states."""
        return any(record.state in states for record in self.records)

    def is_unknown(self, seq: int) -> bool:
        """Whether nobody knows if the effect was applied."""
        return self.records[seq].state is EffectState.UNKNOWN

    def orphaned(self) -> Unwritten:
        """Marks what a lost worker had started as unknown, to be written with the next change."""
        effects = self.job.plan.body().effects if self.job.plan else ()
        for effect in effects:
            record = self.records[effect.seq]
            if record.state is EffectState.STARTED:
                self._note(effect, record.model_copy(update={"state": EffectState.UNKNOWN}))
        return self.unwritten

    def _apply(self, effect: Effect) -> StoppedAt | TryAgain | CancelledBefore | None:
        record = self.records[effect.seq]
        spec = self.host.catalogue().get(effect.function)
        if spec is None:
            return self._stop(effect, _failed_as(record), _gone(effect))
        began = record.state in {EffectState.STARTED, EffectState.UNKNOWN}
        if began and not _may_repeat(record, spec, self.clock.now_ms()):
            return self._stop(effect, EffectState.UNKNOWN, _unknown(effect, record, spec))
        args = self._arguments(effect)
        if isinstance(args, ErrorInfo):
            return self._stop(effect, _failed_as(record), args)
        started = self._start(effect, args)
        if isinstance(started, CancelledBefore):
            return started
        return self._judge(effect, spec, self._call(effect, spec, args, started))

    def _arguments(self, effect: Effect) -> JsonObject | ErrorInfo:
        results = [record.result for record in self.records]
        try:
            filled = resolve_refs(effect.args, effect.refs, results)
        except LookupError as error:
            return ErrorInfo(
                code="validation.arguments",
                message=f"Effect {effect.seq} needs a part of an earlier result that is not there: {error}.",
                details={"effect": effect.seq},
            )
        checked = self.host.check(effect.function, filled, ())
        if isinstance(checked, BadArguments):
            return ErrorInfo(
                code="validation.arguments",
                message=f"The arguments of effect {effect.seq} do not fit {effect.function}.",
                details={"effect": effect.seq, "problems": list(checked.problems)},
            )
        return checked.args

    def _start(self, effect: Effect, args: JsonObject) -> EffectRecord | CancelledBefore:
        self._need_lease()
        record = self.records[effect.seq]
        now_ms = self.clock.now_ms()
        started = record.model_copy(
            update={
                "state": EffectState.STARTED,
                "attempts": record.attempts + 1,
                "tries": record.tries + 1,
                "fence": self.fence,
                "maybe_applied": _may_be_applied(record),
                "first_started_at_ms": record.first_started_at_ms or now_ms,
                "started_at_ms": now_ms,
                "ended_at_ms": None,
                "error": None,
            }
        )
        self._note(effect, started, args_sha256=sha256_json(args))
        unwritten, self.unwritten = self.unwritten, Unwritten()
        match self._write(unwritten, unless_cancel_requested=True):
            case Changed():
                # A pause since the write may have let another worker judge this very effect.
                self._need_lease()
                return started
            case Conflict(cancel_requested_by=by, fence=fence) if by and fence == self.fence:
                # Everything but the start stays to be written.
                self.unwritten = Unwritten(unwritten.effects[:-1], unwritten.journal[:-1], unwritten.events[:-1])
                self.records[effect.seq] = record
                # A lost worker may have called it: not repeated now, it stays unknown.
                return CancelledBefore(effect.seq, by, self.orphaned())
            case _:
                raise FenceLost(f"Another worker took over job {self.job.id}.")

    def _need_lease(self) -> None:
        """Raises `FenceLost` when the job is not ours any more.

        After a pause the outcomes known so far are written first: that waits for a server
        that is away, and another worker that took over would find them unknown otherwise.
        """
        if self.hold.is_good(self.clock.monotonic()):
            return
        if self.unwritten.journal:
            unwritten, self.unwritten = self.unwritten, Unwritten()
            if not isinstance(self._write(unwritten), Changed):
                raise FenceLost(f"Another worker took over job {self.job.id}.")
        if not self.leases.holds(self.hold):
            raise FenceLost(f"The lease of job {self.job.id} ran out; another worker may have it.")

    def _write(self, unwritten: Unwritten, *, unless_cancel_requested: bool = False) -> Changed | Conflict | Missing:
        return self.store.change(
            Change(
                job_id=self.job.id,
                expect_status=frozenset({Status.COMMITTING}),
                expect_fence=self.fence,
                effects=unwritten.effects,
                journal=unwritten.journal,
                events=unwritten.events,
                unless_cancel_requested=unless_cancel_requested,
                durable=self.durable,
            )
        )

    def _call(self, effect: Effect, spec: FunctionSpec, args: JsonObject, started: EffectRecord) -> CallOutcome:
        call = FunctionCall(
            function=effect.function,
            args=args,
            job_id=self.job.id,
            user=self.job.submission.user,
            idempotency_key=started.idempotency_key,
            attempt=started.attempts,
            approved_by=approvers(self.job),
        )
        deadline = self.clock.monotonic() + spec.timeout_seconds + CALL_MARGIN_SECONDS
        (outcome,) = self.host.call_many(
            [call], deadline=deadline, in_flight_max=1, result_bytes_max=self.result_bytes_max
        )
        return outcome

    def _judge(self, effect: Effect, spec: FunctionSpec, outcome: CallOutcome) -> StoppedAt | TryAgain | None:
        record = self.records[effect.seq]
        details: JsonObject = {"effect": effect.seq, "function": effect.function, "attempt": record.attempts}
        match outcome:
            case CallOk():
                self._note(effect, _ended(record, EffectState.SUCCEEDED, self.clock.now_ms(), result=outcome.value))
                return None
            case CallFailed():
                error = ErrorInfo(
                    code="function.failed", message=f"{effect.function} failed: {outcome.message}", details=details
                )
                if outcome.retryable and record.tries <= spec.retries:
                    state = EffectState.UNKNOWN if record.maybe_applied else EffectState.PENDING
                    later = self._later(effect, spec, state, error, outcome.retry_after_seconds)
                    if later is not None:
                        return later
                if record.maybe_applied:
                    return self._stop(effect, EffectState.UNKNOWN, _failed_after_unknown(error))
                return self._stop(effect, EffectState.FAILED, error)
            case CallUnknown():
                details["correlation_id"] = outcome.correlation_id
                error = ErrorInfo(code=outcome.code, message=outcome.message, details=details)
                later = None
                if outcome.code not in _NOT_WORTH_REPEATING and record.tries <= spec.retries:
                    later = self._later(effect, spec, EffectState.UNKNOWN, error, None)
                return later or self._stop(effect, EffectState.UNKNOWN, error)

    def _later(
        self,
        effect: Effect,
        spec: FunctionSpec,
        state: EffectState,
        error: ErrorInfo,
        retry_after_seconds: float | None,
    ) -> TryAgain | None:
        """Puts the effect off; None for one that may be applied and must not be repeated any more by then."""
        record, now_ms = self.records[effect.seq], self.clock.now_ms()
        pause = max(backoff_seconds(record.tries), min(retry_after_seconds or 0, RETRY_AFTER_SECONDS_MAX))
        due_at_ms = now_ms + int(pause * 1000)
        if state is EffectState.UNKNOWN and not _may_repeat(record, spec, due_at_ms):
            return None
        self._note(effect, _ended(record, state, now_ms, error=error), due_at_ms=due_at_ms)
        return TryAgain(effect.seq, due_at_ms, self.unwritten)

    def _stop(self, effect: Effect, state: EffectState, error: ErrorInfo) -> StoppedAt:
        self._note(effect, _ended(self.records[effect.seq], state, self.clock.now_ms(), error=error))
        return StoppedAt(effect.seq, error, self.unwritten)

    def _note(
        self, effect: Effect, record: EffectRecord, *, args_sha256: str = "", due_at_ms: int | None = None
    ) -> None:
        self.records[effect.seq] = record
        now_ms = self.clock.now_ms()
        self.unwritten.effects.append(record)
        self.unwritten.journal.append(
            JournalEntry(
                at_ms=now_ms,
                seq=effect.seq,
                state=record.state,
                attempt=record.attempts,
                fence=self.fence,
                worker=self.worker,
                idempotency_key=record.idempotency_key,
                args_sha256=args_sha256 or sha256_json(effect.args),
                code=record.error.code if record.error else "",
                due_at_ms=due_at_ms,
            )
        )
        data = {"seq": effect.seq, "function": effect.function, "state": record.state.value}
        self.unwritten.events.append(Event(type="effect", data=data, at_ms=now_ms))


def resolve_refs(document: JsonValue, refs: Sequence[Ref], results: Sequence[JsonValue]) -> JsonValue:
    """The document with every reference replaced by the result it points to.

    Raises `LookupError` when a result has no such part.
    """
    for ref in refs:
        document = pointer_set(document, ref.at, pointer_get(results[ref.effect], ref.path))
    return document


def backoff_seconds(tries: int) -> float:
    """Exponential with full jitter over its upper half, so that retries neither bunch nor hurry."""
    longest = min(RETRY_SECONDS_FIRST * 2.0 ** (tries - 1), RETRY_SECONDS_MAX)
    return longest * random.uniform(0.5, 1)  # noqa: S311 - spreads retries, guards nothing


def _may_repeat(record: EffectRecord, spec: FunctionSpec, at_ms: int) -> bool:
    return may_repeat(record, idempotent=spec.idempotent, key_valid_seconds=spec.key_valid_seconds, now_ms=at_ms)


def _may_be_applied(record: EffectRecord) -> bool:
    """Whether an attempt before the next one has, or may have, reached the target."""
    return record.maybe_applied or record.state in {EffectState.STARTED, EffectState.UNKNOWN}


def _failed_as(record: EffectRecord) -> EffectState:
    """What an effect becomes that cannot be called again."""
    return EffectState.UNKNOWN if _may_be_applied(record) else EffectState.FAILED


def _failed_after_unknown(error: ErrorInfo) -> ErrorInfo:
    message = (
        f"{error.message} That call changed nothing, but an earlier attempt may have been applied. "
        "Find out at the target, and resolve the effect or requeue."
    )
    return error.model_copy(update={"message": message})


def _ended(
    record: EffectRecord,
    state: EffectState,
    now_ms: int,
    *,
    result: JsonValue = None,
    error: ErrorInfo | None = None,
) -> EffectRecord:
    return record.model_copy(update={"state": state, "ended_at_ms": now_ms, "result": result, "error": error})


def _gone(effect: Effect) -> ErrorInfo:
    return ErrorInfo(
        code="plan.function_changed",
        message=f"{effect.function} is not registered any more.",
        details={"effect": effect.seq, "function": effect.function},
    )


def _unknown(effect: Effect, record: EffectRecord, spec: FunctionSpec) -> ErrorInfo:
    why = (
        "its idempotency key is too old to be repeated safely"
        if spec.idempotent
        else "the function is not idempotent, so it was not called again"
    )
    return record.error or ErrorInfo(
        code="commit.unknown",
        message=f"A worker was lost while it called {effect.function}; {why}. "
        "Find out at the target whether it was applied, and resolve the effect.",
        details={"effect": effect.seq, "function": effect.function, "attempt": record.attempts},
    )
