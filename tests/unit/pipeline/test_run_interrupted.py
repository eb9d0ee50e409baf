from typing import Any

import pytest

from tests.support.factories import submission
from tests.support.fakes import AnsweringModel, Guest, PlayedSandbox, fenced
from tests.support.runs import READS, outcome, run
from tests.support.worker import WorkerParts
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.execution import SandboxOutcome
from vardy_worker.contracts.job import JobRecord
from vardy_worker.contracts.model import ModelReply
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.ports import Claimed
from vardy_worker.verbs import cancel


def test_a_stored_program_is_run_again_after_a_crash_and_never_asked_for_anew(parts: WorkerParts) -> None:
    def die(_: Guest) -> object:
        raise SystemExit

    job = parts.submit(submission())
    model = AnsweringModel(fenced(READS))
    with pytest.raises(SystemExit):
        run(parts, die, model=model, job=job)
    crashed = parts.job(job.id)
    assert (crashed.status, crashed.stage) == (Status.RUNNING, Stage.EXECUTE)
    parts.clock.forward(60)
    again = run(parts, lambda _: "again", model=model, job=job)
    assert (again.status, again.output) == (Status.SUCCESS, "again")
    assert len(model.requests) == 1


def test_attempts_before_a_crash_count(parts: WorkerParts) -> None:
    job = parts.submit(submission())
    with pytest.raises(IndexError):
        _crash_while_asking(parts, AnsweringModel("sorry"), job)
    parts.clock.forward(60)
    ended = run(parts, model=AnsweringModel("still sorry"), job=job)
    assert ended.status is Status.GENERATION_ERROR
    assert len(ended.attempts) == 2


def _crash_while_asking(parts: WorkerParts, model: AnsweringModel, job: JobRecord) -> None:
    class Dying(AnsweringModel):
        def complete(self, request: Any) -> ModelReply:
            if not model.answers:
                raise KeyboardInterrupt
            return model.complete(request)

    try:
        run(parts, model=Dying(), job=job)
    except KeyboardInterrupt as error:
        raise IndexError from error


def test_a_job_that_kills_its_workers_is_given_up(parts: WorkerParts) -> None:
    def die(_: Guest) -> object:
        raise SystemExit

    job = parts.submit(submission())
    model = AnsweringModel(fenced(READS))
    for _ in range(3):
        with pytest.raises(SystemExit):
            run(parts, die, model=model, job=job)
        parts.clock.forward(60)
    assert outcome(run(parts, die, model=model, job=job)) == (Status.EXECUTION_ERROR, "execution.poison")


def test_a_second_message_does_nothing(parts: WorkerParts) -> None:
    job = run(parts)
    again = run(parts, model=AnsweringModel(), job=job)
    assert again == job


def test_a_job_cancelled_while_it_runs_stays_cancelled(parts: WorkerParts) -> None:
    job = parts.submit(submission())

    def cancelled_meanwhile(_: Guest) -> object:
        change = cancel(parts.job(job.id), by="ana", now_ms=parts.clock.now_ms())
        assert change is not None
        parts.store.change(change)
        return "too late"

    ended = run(parts, cancelled_meanwhile, job=job)
    assert outcome(ended) == (Status.CANCELLED, "job.cancelled")
    assert ended.output is None


def test_a_worker_that_lost_its_lease_writes_nothing(parts: WorkerParts) -> None:
    job = parts.submit(submission())

    def overtaken(_: Guest) -> object:
        parts.clock.forward(60)
        stolen = parts.store.claim(
            job.id, expect=frozenset({Status.RUNNING}), to=Status.RUNNING, worker="thief", lease_ms=5000
        )
        assert isinstance(stolen, Claimed)
        return "too late"

    ended = run(parts, overtaken, job=job)
    assert ended.status is Status.RUNNING
    assert ended.output is None


def test_a_fault_of_vardy_itself_settles_the_job_with_a_correlation_id(parts: WorkerParts) -> None:
    def broken(_: Guest) -> object:
        raise ZeroDivisionError("SECRET row")

    job = run(parts, broken)
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.internal")
    assert "SECRET" not in job.model_dump_json()


def test_a_fault_in_writing_what_became_of_the_job_settles_it_all_the_same(parts: WorkerParts) -> None:
    def unwritable(guest: Guest) -> object:
        guest.call("count_orders", city="Rome")
        return {"half of a pair": "\ud800"}

    job = run(parts, unwritable)
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.internal")


def test_half_of_a_surrogate_pair_in_an_answer_is_one_odd_character(parts: WorkerParts) -> None:
    job = run(parts, model=AnsweringModel(*["I am sorry \ud83d, no."] * 2))
    assert outcome(job) == (Status.GENERATION_ERROR, "generation.no_program")
    assert job.attempts[0].text == "I am sorry \ufffd, no."


def test_a_worker_without_a_sandbox_hands_its_job_back_uncounted(parts: WorkerParts) -> None:
    class NoSandbox(PlayedSandbox):
        def run(self, *_: object, **__: object) -> SandboxOutcome:
            raise SettingsError("No child can be started on this machine.")

    job = parts.submit(submission())
    unfit = parts.runner(AnsweringModel(fenced(READS)), NoSandbox(lambda _: None))
    unfit.run(job.id)
    assert unfit.unfit.is_set()
    back = parts.job(job.id)
    assert (back.status, back.deliveries, back.lease_until_ms) == (Status.RUNNING, 0, 0)
    assert run(parts, lambda _: "done", model=AnsweringModel(), job=job).output == "done"
