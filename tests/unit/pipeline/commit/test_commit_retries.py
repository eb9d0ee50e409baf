"""What a commit does between one try and the next."""

import pytest

from tests.support.factories import NOW_MS
from tests.support.target import Target, code, lose_worker, states
from tests.support.worker import WorkerParts
from vardy_worker import FunctionError, Functions
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view
from vardy_worker.stages.commit import RETRY_AFTER_SECONDS_MAX


@pytest.fixture
def functions(functions: Functions, target: Target) -> Functions:
    @functions.write(idempotent=True, retries=5, key_valid_seconds=3600)
    def wire(amount: int) -> int:
        """Wires, safely repeated within an hour."""
        target.called("wire", "", amount=amount)
        return amount

    return functions


def slow_down(seconds: float) -> FunctionError:
    return FunctionError("slow down", retryable=True, retry_after_seconds=seconds)


def cancel_during_the_call(parts: WorkerParts, job_id: str) -> None:
    parts.host.before_calls = lambda: _asked(parts, job_id)


def _asked(parts: WorkerParts, job_id: str) -> None:
    assert parts.store.request_cancel(job_id, by="olga")


def test_a_cancel_that_comes_during_a_call_does_not_wait_for_the_next_try(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [slow_down(3600)]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    cancel_during_the_call(parts, job.id)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.CANCELLED, "job.cancelled")
    assert states(ended) == [EffectState.PENDING]
    assert [entry.state for entry in parts.store.journal(job.id)] == [EffectState.STARTED, EffectState.PENDING]


def test_a_cancel_during_a_call_of_unknown_outcome_is_partial_at_once(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [RuntimeError("the line broke")]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    cancel_during_the_call(parts, job.id)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.cancelled")
    assert states(ended) == [EffectState.UNKNOWN]


@pytest.mark.parametrize("seconds", [3600 * 24 * 365, 1_764_000_000_000, 1e300])
def test_a_time_in_place_of_a_pause_does_not_keep_a_job_for_ever(
    parts: WorkerParts, target: Target, seconds: float
) -> None:
    target.failing["pay"] = [slow_down(seconds)]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.committer().commit(job.id)
    waiting = parts.job(job.id)
    assert waiting.not_before_ms == NOW_MS + RETRY_AFTER_SECONDS_MAX * 1000
    assert job_view(waiting).next_try_at is not None
    parts.clock.forward(RETRY_AFTER_SECONDS_MAX)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS


def test_nobody_waits_for_a_try_that_the_key_will_not_be_valid_for(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "wire", amount=1))
    lose_worker(parts, job)
    target.failing["wire"] = [slow_down(3600)]
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.unknown")
    assert states(ended) == [EffectState.UNKNOWN]


def test_what_was_certainly_not_applied_is_tried_again_however_old_its_key(parts: WorkerParts, target: Target) -> None:
    target.failing["wire"] = [slow_down(7200)]
    job = parts.committing(parts.effect(0, "wire", amount=1))
    parts.committer().commit(job.id)
    parts.clock.forward(7200)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS
    assert len(target.keys("wire")) == 2
