from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.support.factories import LEA, NOW_MS
from tests.support.worker import ALLOW_ALL, WorkerParts
from vardy_worker import CallContext, FunctionError, Functions, verbs
from vardy_worker.contracts.decision import Choice, Decision
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.ids import idempotency_key
from vardy_worker.contracts.job import JobRecord
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.policy import ApprovalNeed
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view
from vardy_worker.ports import Change, Changed, Claimed

APPROVE_ALL = "default: approve\n"
BLOCK_ALL = "default: block\n"


@dataclass
class Target:
    """The remote system: remembers calls by key, and fails as a test wants it to."""

    calls: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    failing: dict[str, list[BaseException]] = field(default_factory=dict)
    before_return: object = None

    def called(self, function: str, key: str, **args: object) -> None:
        self.calls.append((function, key, args))
        waiting = self.failing.get(function)
        if waiting:
            raise waiting.pop(0)

    def keys(self, function: str) -> list[str]:
        return [key for name, key, _ in self.calls if name == function]


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def functions(target: Target) -> Functions:
    functions = Functions()

    @functions.write(idempotent=True, retries=2)
    def pay(context: CallContext, amount: int) -> dict[str, int]:
        """Pays, safely repeated."""
        target.called("pay", context.idempotency_key, amount=amount)
        return {"id": amount * 10}

    @functions.write
    def ring(context: CallContext, who: int) -> str:
        """Rings a bell, not safely repeated."""
        target.called("ring", context.idempotency_key, who=who)
        return "rung"

    @functions.write(idempotent=True, key_valid_seconds=60)
    def book(context: CallContext, day: int) -> int:
        """Books, safely repeated within a minute."""
        target.called("book", context.idempotency_key, day=day)
        return day

    return functions


@pytest.fixture
def parts(functions: Functions) -> Iterator[WorkerParts]:
    made = WorkerParts(functions)
    made.host.start()
    yield made
    made.leases.stop()
    made.host.stop()


def states(job: JobRecord) -> list[EffectState]:
    return [effect.state for effect in job_view(job).effects]


def code(job: JobRecord) -> str:
    return job.error.code if job.error else ""


def lose_worker(parts: WorkerParts, job: JobRecord) -> None:
    """A worker dies inside its call: the effect is STARTED, and nothing more is heard of it."""
    parts.host.before_calls = _die
    with pytest.raises(SystemExit):
        parts.committer("doomed").commit(job.id)
    parts.host.before_calls = None
    parts.clock.forward(60)


def _die() -> None:
    raise SystemExit


# --- what goes well -----------------------------------------------------------------------


def test_effects_are_applied_in_order_with_their_own_keys(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=2))
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert ended.status is Status.SUCCESS
    assert states(ended) == [EffectState.SUCCEEDED] * 2
    assert target.calls == [
        ("pay", idempotency_key(job.id, job.digest, 0), {"amount": 1}),
        ("ring", idempotency_key(job.id, job.digest, 1), {"who": 2}),
    ]


def test_a_later_effect_gets_the_result_of_an_earlier_one(parts: WorkerParts, target: Target) -> None:
    later = parts.effect(1, "ring", refs=(Ref(at="/who", effect=0, path="/id"),))
    job = parts.committing(parts.effect(0, "pay", amount=7), later)
    parts.committer().commit(job.id)
    assert target.calls[1][2] == {"who": 70}
    assert parts.job(job.id).status is Status.SUCCESS


def test_placeholders_in_the_output_are_filled_in(parts: WorkerParts) -> None:
    job = parts.committing(
        parts.effect(0, "pay", amount=7),
        output={"paid": None, "note": "ok"},
        output_refs=(Ref(at="/paid", effect=0, path="/id"),),
    )
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert ended.output == {"paid": 70, "note": "ok"}
    assert ended.output_refs == ()


def test_a_second_message_makes_no_second_call(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "ring", who=1))
    for _ in range(3):
        parts.committer().commit(job.id)
    assert len(target.calls) == 1


def test_the_journal_tells_every_step_with_its_fence(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "ring", who=1))
    parts.committer().commit(job.id)
    told = [(entry.seq, entry.state, entry.attempt, entry.fence) for entry in parts.store.journal(job.id)]
    assert told == [(0, EffectState.STARTED, 1, 1), (0, EffectState.SUCCEEDED, 1, 1)]


# --- what fails ------------------------------------------------------------------------------


def test_a_first_failure_leaves_nothing_applied(parts: WorkerParts, target: Target) -> None:
    target.failing["ring"] = [FunctionError("the bell is broken")]
    job = parts.committing(parts.effect(0, "ring", who=1), parts.effect(1, "pay", amount=1))
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.FUNCTION_ERROR, "function.failed")
    assert ended.error is not None
    assert "the bell is broken" in ended.error.message
    assert states(ended) == [EffectState.FAILED, EffectState.PENDING]


def test_a_later_failure_is_partial_and_the_rest_is_not_attempted(parts: WorkerParts, target: Target) -> None:
    target.failing["ring"] = [FunctionError("the bell is broken")]
    effects = (parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=1), parts.effect(2, "pay", amount=2))
    job = parts.committing(*effects)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.failed")
    assert states(ended) == [EffectState.SUCCEEDED, EffectState.FAILED, EffectState.PENDING]
    assert len(target.calls) == 2


def test_a_crash_of_a_function_is_an_unknown_outcome_and_says_nothing_secret(
    parts: WorkerParts, target: Target
) -> None:
    target.failing["ring"] = [RuntimeError("postgres://user:SECRET@host")]
    job = parts.committing(parts.effect(0, "ring", who=1))
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.unknown")
    assert states(ended) == [EffectState.UNKNOWN]
    assert "SECRET" not in ended.model_dump_json()


def test_an_idempotent_function_is_tried_again_with_the_same_key(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [RuntimeError("connection reset")]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.committer().commit(job.id)
    waiting = parts.job(job.id)
    assert waiting.status is Status.COMMITTING
    assert waiting.not_before_ms > NOW_MS
    parts.committer().commit(job.id)
    assert len(target.calls) == 1, "not before its due time"
    parts.clock.forward(60)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS
    assert len(set(target.keys("pay"))) == 1


def test_retries_end(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("try later", retryable=True) for _ in range(9)]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    for _ in range(9):
        parts.committer().commit(job.id)
        parts.clock.forward(3600)
    assert parts.job(job.id).status is Status.FUNCTION_ERROR
    assert len(target.calls) == 3, "once, and two retries"


def test_retry_after_is_respected(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("slow down", retryable=True, retry_after_seconds=120)]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.committer().commit(job.id)
    assert parts.job(job.id).not_before_ms >= NOW_MS + 120_000


# --- workers that are lost ---------------------------------------------------------------------


def test_a_lost_worker_leaves_an_idempotent_effect_to_be_repeated_with_its_key(
    parts: WorkerParts, target: Target
) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    lose_worker(parts, job)
    assert states(parts.job(job.id)) == [EffectState.STARTED]
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS
    assert target.keys("pay") == [idempotency_key(job.id, job.digest, 0)]


def test_a_lost_worker_leaves_any_other_effect_unknown_and_it_is_not_called_again(
    parts: WorkerParts, target: Target
) -> None:
    job = parts.committing(parts.effect(0, "ring", who=1), parts.effect(1, "pay", amount=1))
    lose_worker(parts, job)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.unknown")
    assert states(ended) == [EffectState.UNKNOWN, EffectState.PENDING]
    assert target.calls == []


def test_a_key_past_its_time_is_not_used_again(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "book", day=1))
    lose_worker(parts, job)
    parts.committer().commit(job.id)
    assert states(parts.job(job.id)) == [EffectState.UNKNOWN]
    assert target.calls == []


def test_a_commit_that_kills_its_workers_is_given_up(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    for _ in range(3):
        lose_worker(parts, job)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.poison")
    assert states(ended) == [EffectState.UNKNOWN]


def test_a_worker_that_lost_its_lease_starts_nothing_more(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=1))

    def pause() -> None:
        parts.clock.forward(60)
        stolen = parts.store.claim(
            job.id, expect=frozenset({Status.COMMITTING}), to=Status.COMMITTING, worker="thief", lease_ms=5000
        )
        assert isinstance(stolen, Claimed)

    parts.host.before_calls = pause
    parts.committer().commit(job.id)
    assert [name for name, _, _ in target.calls] == ["pay"]
    assert parts.job(job.id).status is Status.COMMITTING
    assert states(parts.job(job.id))[1] is EffectState.PENDING


# --- outcomes that stay unknown ------------------------------------------------------------------

REFUSED = FunctionError("the bank is closed")
BUSY = FunctionError("the bank is busy", retryable=True)


@pytest.mark.parametrize("later", [[REFUSED], [BUSY, REFUSED], [BUSY, BUSY]], ids=len)
def test_a_later_refusal_does_not_prove_that_an_unknown_attempt_was_not_applied(
    parts: WorkerParts, target: Target, later: list[BaseException]
) -> None:
    target.failing["pay"] = [RuntimeError("the answer was lost"), *later]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    for _ in range(3):
        parts.committer().commit(job.id)
        parts.clock.forward(3600)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.unknown")
    assert states(ended) == [EffectState.UNKNOWN]
    assert len(set(target.keys("pay"))) == 1


def test_a_refusal_after_a_lost_worker_leaves_the_effect_unknown(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    lose_worker(parts, job)
    target.failing["pay"] = [REFUSED]
    parts.committer().commit(job.id)
    assert code(parts.job(job.id)) == "commit.unknown"
    assert states(parts.job(job.id)) == [EffectState.UNKNOWN]


def test_an_effect_of_unknown_outcome_never_gets_another_key(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [RuntimeError("the answer was lost"), REFUSED]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.committer().commit(job.id)
    parts.clock.forward(60)
    parts.committer().commit(job.id)
    requeue(parts, parts.job(job.id))
    parts.apply_rules(APPROVE_ALL)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "policy.changed")
    assert ended.digest == job.digest


def test_an_operators_word_settles_what_a_later_attempt_then_says(parts: WorkerParts, target: Target) -> None:
    target.failing["ring"] = [RuntimeError("the answer was lost"), FunctionError("the bell is broken")]
    job = parts.committing(parts.effect(0, "ring", who=1))
    parts.committer().commit(job.id)
    found = verbs.resolve(
        parts.job(job.id),
        0,
        done=False,
        result=None,
        reason="nobody heard it",
        by="op",
        now_ms=parts.clock.now_ms(),
        check_result=lambda _function, _result: None,
    )
    assert isinstance(parts.store.change(found), Changed)
    requeue(parts, parts.job(job.id))
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.FUNCTION_ERROR, "function.failed")
    assert states(ended) == [EffectState.FAILED]


def test_a_started_effect_whose_function_is_gone_stays_unknown(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    lose_worker(parts, job)
    newer = WorkerParts(Functions())
    newer.store, newer.clock = parts.store, parts.clock
    newer.committer().commit(job.id)
    assert code(parts.job(job.id)) == "commit.unknown"
    assert states(parts.job(job.id)) == [EffectState.UNKNOWN]


def test_a_fault_of_vardys_own_between_two_effects_forgets_no_outcome(parts: WorkerParts) -> None:
    class FaultyHost(type(parts.host)):  # type: ignore[misc] # the fixture's class
        def check(self, function: str, *args: object, **more: object) -> object:
            if function == "ring":
                raise ArithmeticError("SECRET")
            return super().check(function, *args, **more)

    parts.host.__class__ = FaultyHost
    job = parts.committing(parts.effect(0, "book", day=1), parts.effect(1, "ring", who=1))
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.failed")
    assert states(ended) == [EffectState.SUCCEEDED, EffectState.PENDING]
    assert "SECRET" not in ended.model_dump_json()


# --- the check at the beginning ------------------------------------------------------------------


def test_rules_that_block_by_now_stop_the_commit_before_its_first_effect(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.POLICY_BLOCKED, "policy.changed")
    assert target.calls == []


def test_rules_that_ask_for_an_approval_by_now_park_the_plan_as_a_new_revision(
    parts: WorkerParts, target: Target
) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.apply_rules(APPROVE_ALL)
    parts.committer().commit(job.id)
    parked = parts.job(job.id)
    assert parked.status is Status.PENDING_APPROVAL
    assert parked.revision == 2
    assert parked.digest != job.digest
    assert target.calls == []


def test_an_approval_that_was_given_is_enough_under_stricter_rules_too(parts: WorkerParts) -> None:
    parts.apply_rules(APPROVE_ALL)
    job = parts.committing(parts.effect(0, "pay", amount=1), needs=(ApprovalNeed(rule=""),))
    approved = Decision(decision=Choice.APPROVE, digest=job.digest, user=LEA, at_ms=NOW_MS)
    parts.store.change(Change(job.id, frozenset({Status.COMMITTING}), set={"decisions": (approved,)}))
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS


def test_laxer_rules_change_nothing(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.apply_rules("default: allow\nrules: [{name: x, on: [pay], then: allow}]\n")
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert ended.status is Status.SUCCESS
    assert ended.digest == job.digest


def test_a_function_that_changed_stops_the_commit(parts: WorkerParts, target: Target) -> None:
    stale = parts.effect(0, "pay", amount=1).model_copy(update={"version": "older"})
    job = parts.committing(stale)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.POLICY_BLOCKED, "plan.function_changed")
    assert target.calls == []


def requeue(parts: WorkerParts, job: JobRecord) -> None:
    change = verbs.requeue(job, catalogue=parts.host.catalogue(), by="olga", now_ms=parts.clock.now_ms())
    assert isinstance(parts.store.change(change), Changed)


def test_a_requeue_that_the_rules_refuse_leaves_a_failed_commit_as_it_was(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    target.failing["pay"] = [FunctionError("The account is closed.")]
    parts.committer().commit(job.id)
    failed = parts.job(job.id)
    assert failed.status is Status.FUNCTION_ERROR
    requeue(parts, failed)
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    refused = parts.job(job.id)
    assert (refused.status, code(refused)) == (Status.FUNCTION_ERROR, "policy.changed")
    requeue(parts, refused)
    parts.apply_rules(ALLOW_ALL)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS


def test_a_failed_commit_is_removed_in_time_and_one_that_stopped_half_way_is_not(
    parts: WorkerParts, target: Target
) -> None:
    target.failing["pay"] = [FunctionError("The account is closed.")]
    failed = parts.committing(parts.effect(0, "pay", amount=1))
    parts.committer().commit(failed.id)
    stopped = parts.committing(parts.effect(0, "ring", who=1))
    lose_worker(parts, stopped)
    parts.committer().commit(stopped.id)
    assert [parts.job(job.id).status for job in (failed, stopped)] == [Status.FUNCTION_ERROR, Status.PARTIAL]
    parts.clock.forward(parts.settings.job_retention_seconds + 1)
    assert parts.store.get(failed.id) is None
    assert parts.job(stopped.id).status is Status.PARTIAL


def test_a_requeue_that_the_rules_refuse_leaves_a_resolved_commit_as_it_was(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "ring", who=1))
    lose_worker(parts, job)
    parts.committer().commit(job.id)
    resolved = verbs.resolve(
        parts.job(job.id),
        0,
        done=False,
        result=None,
        reason="It is not in the log.",
        by="olga",
        now_ms=parts.clock.now_ms(),
        check_result=lambda _function, _result: None,
    )
    assert isinstance(parts.store.change(resolved), Changed)
    requeue(parts, parts.job(job.id))
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    refused = parts.job(job.id)
    assert (refused.status, code(refused)) == (Status.PARTIAL, "policy.changed")


def test_a_resumed_commit_does_not_evaluate_again(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    lose_worker(parts, job)
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS


# --- cancelling -------------------------------------------------------------------------------------


def test_a_cancel_before_the_first_effect_leaves_nothing_applied(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.store.request_cancel(job.id, by="ana")
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.CANCELLED, "job.cancelled")
    assert states(ended) == [EffectState.PENDING]
    assert target.calls == []


def test_a_cancel_between_effects_is_partial_and_keeps_what_was_done(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=1))

    def cancel() -> None:
        parts.store.request_cancel(job.id, by="ana")

    parts.host.before_calls = cancel
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.cancelled")
    assert states(ended) == [EffectState.SUCCEEDED, EffectState.PENDING]
    assert target.keys("ring") == []
