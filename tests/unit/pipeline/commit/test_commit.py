import pytest

from tests.support.factories import NOW_MS
from tests.support.target import Target, code, lose_worker, requeue, states
from tests.support.worker import WorkerParts
from vardy_worker import FunctionError, Functions, verbs
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.ids import idempotency_key
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view, milliseconds
from vardy_worker.ports import Changed, Claimed

APPROVE_ALL = "default: approve\n"
BLOCK_ALL = "default: block\n"


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


def test_the_journal_and_the_job_tell_when_the_next_try_is_due(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("slow down", retryable=True, retry_after_seconds=120)]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    assert job_view(job).next_try_at is None
    parts.committer().commit(job.id)
    waiting = parts.job(job.id)
    started, failed = parts.store.journal(job.id)
    assert (started.due_at_ms, failed.due_at_ms) == (None, waiting.not_before_ms)
    assert (failed.state, failed.code) == (EffectState.PENDING, "function.failed")
    shown = job_view(waiting)
    assert shown.next_try_at is not None
    assert milliseconds(shown.next_try_at) == waiting.not_before_ms
    parts.clock.forward(121)
    parts.store.claim(job.id, expect=frozenset({Status.COMMITTING}), to=Status.COMMITTING, worker="w2", lease_ms=5000)
    assert job_view(parts.job(job.id)).next_try_at is None


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


def test_a_message_that_comes_to_the_worker_which_has_the_job_in_hand_starts_no_second_copy(
    parts: WorkerParts, target: Target
) -> None:
    """As after an outage longer than the lease: the outcome of the call is known to this worker alone."""
    job = parts.committing(parts.effect(0, "ring", who=1), parts.effect(1, "pay", amount=1))
    committer = parts.committer()

    def repeated() -> None:
        parts.host.before_calls = None
        parts.clock.forward(60)
        committer.commit(job.id)

    parts.host.before_calls = repeated
    committer.commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS
    assert [name for name, _, _ in target.calls] == ["ring", "pay"]


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
