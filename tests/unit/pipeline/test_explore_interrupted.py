"""An explore whose worker dies, is overtaken or cannot go on, at every kind of place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import submission
from tests.support.fakes import AnsweringModel, PlayedSandbox, fenced
from tests.support.mortal import Died, Doom, Process
from tests.support.runs import ANSWER, QUESTION, READS, explore, outcome
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.execution import ConsoleLine, Returned
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.ports import Claimed
from vardy_worker.verbs import cancel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.fakes import Guest
    from tests.support.worker import WorkerParts
    from vardy_worker.contracts.execution import SandboxOutcome
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.model import ModelReply, ModelRequest

PROGRAM = fenced(READS)


def counts(guest: Guest) -> object:
    return {"orders": guest.value("count_orders", city="Porto")}


def die(_: Guest) -> object:
    raise SystemExit


class Meanwhile(AnsweringModel):
    """A model during whose answer something happens."""

    def __init__(self, happens: Callable[[], object], *answers: str) -> None:
        super().__init__(*answers)
        self.happens = happens

    def complete(self, request: ModelRequest) -> ModelReply:
        self.happens()
        return super().complete(request)


def asked(parts: WorkerParts) -> JobRecord:
    return parts.submit(submission(request=QUESTION), kind=JobKind.EXPLORE)


def test_an_accepted_program_runs_again_after_a_crash_and_is_not_asked_for_anew(parts: WorkerParts) -> None:
    job = asked(parts)
    model = AnsweringModel(PROGRAM, ANSWER)
    with pytest.raises(SystemExit):
        explore(parts, die, model=model, job=job)
    crashed = parts.job(job.id)
    assert (crashed.status, crashed.stage) == (Status.RUNNING, Stage.EXECUTE)
    assert [each.ended_at_ms for each in crashed.rounds] == [None]
    assert crashed.usage.prompt_tokens == 100, "what was spent is written with the round"
    parts.clock.forward(60)
    again = explore(parts, counts, model=model, job=job)
    assert (again.answer, [each.summary for each in again.rounds]) == (ANSWER, [{"orders": 3}])
    assert len(model.requests) == 2
    assert again.usage.prompt_tokens == 200


def test_a_crash_in_a_later_round_loses_no_earlier_one_and_runs_none_again(parts: WorkerParts) -> None:
    def prints(guest: Guest) -> object:
        return Returned(output=counts(guest), console=(ConsoleLine(level="log", text="read"),))

    job = asked(parts)
    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    with pytest.raises(SystemExit):
        explore(parts, prints, die, model=model, job=job)
    before = parts.job(job.id)
    parts.clock.forward(60)
    again = explore(parts, lambda _: "second", model=model, job=job)
    assert again.rounds[0] == before.rounds[0]
    assert [each.summary for each in again.rounds] == [{"orders": 3}, "second"]
    assert len(model.requests) == 3
    console = parts.store.console(job.id)
    assert console is not None
    assert [(line.round, line.text) for line in console.lines] == [(1, "read")]


def test_what_earlier_rounds_took_and_warned_of_counts_after_a_crash(parts: WorkerParts) -> None:
    def warns(guest: Guest) -> object:
        guest.call("count_orders", city="Atlantis")
        parts.clock.forward(2)
        return "went on"

    job = asked(parts)
    with pytest.raises(SystemExit):
        explore(parts, warns, die, model=AnsweringModel(PROGRAM, PROGRAM), job=job)
    parts.clock.forward(60)
    again = explore(parts, counts, model=AnsweringModel(ANSWER), job=job)
    assert again.warnings == ("Round 1: count_orders failed (function.failed) and the program went on.",)
    assert again.timings.execute == 2_000
    assert again.usage.prompt_tokens == 300


def test_a_crash_while_the_model_is_asked_asks_again_with_the_rounds_so_far(parts: WorkerParts) -> None:
    def dies() -> None:
        if dying.requests:
            raise SystemExit

    job = asked(parts)
    dying = Meanwhile(dies, PROGRAM)
    with pytest.raises(SystemExit):
        explore(parts, counts, model=dying, job=job)
    parts.clock.forward(60)
    model = AnsweringModel(ANSWER)
    again = explore(parts, die, model=model, job=job)
    assert (again.status, again.answer, len(again.rounds)) == (Status.SUCCESS, ANSWER, 1)
    assert '{"orders":3}' in model.requests[0].messages[-1].content


def test_a_refused_last_answer_counts_after_a_crash(parts: WorkerParts) -> None:
    def dies() -> None:
        if len(dying.requests) == 2:
            raise SystemExit

    job = parts.submit(submission(request=QUESTION, limits={"explore_rounds_max": 1}), kind=JobKind.EXPLORE)
    dying = Meanwhile(dies, PROGRAM, PROGRAM)
    with pytest.raises(SystemExit):
        explore(parts, counts, model=dying, job=job)
    parts.clock.forward(60)
    again = explore(parts, die, model=AnsweringModel(""), job=job)
    assert outcome(again) == (Status.GENERATION_ERROR, "generation.no_answer")
    assert len(again.attempts) == 2


def test_a_crash_after_the_last_refused_answer_ends_as_that_answer(parts: WorkerParts) -> None:
    job = parts.submit(submission(request=QUESTION, limits={"explore_rounds_max": 1}), kind=JobKind.EXPLORE)
    # The steps: claim, stage, program, summary, and then the two answers that were none.
    doom = Process(Doom(at=5, after=True))
    runner = replace(parts.runner(AnsweringModel(PROGRAM, "", ""), PlayedSandbox(counts)), store=doom.port(parts.store))
    with pytest.raises(Died):
        runner.run(job.id)
    assert len(parts.job(job.id).attempts) == 2
    parts.clock.forward(60)
    model = AnsweringModel()
    ended = explore(parts, die, model=model, job=job)
    assert outcome(ended) == (Status.GENERATION_ERROR, "generation.no_answer")
    assert ended.error == ended.attempts[-1].error


def test_an_explore_whose_program_kills_its_workers_is_given_up_with_its_rounds(parts: WorkerParts) -> None:
    job = asked(parts)
    model = AnsweringModel(PROGRAM, PROGRAM)
    plays: list[Callable[[Guest], object]] = [counts, die]
    for _ in range(3):
        with pytest.raises(SystemExit):
            explore(parts, *plays, model=model, job=job)
        plays = [die]
        parts.clock.forward(60)
    ended = explore(parts, die, model=model, job=job)
    assert outcome(ended) == (Status.EXECUTION_ERROR, "execution.poison")
    assert [each.worked for each in ended.rounds] == [True, False]


def test_a_second_message_does_nothing(parts: WorkerParts) -> None:
    job = explore(parts, counts)
    assert explore(parts, die, model=AnsweringModel(), job=job) == job


def test_an_explore_cancelled_while_a_program_runs_stays_cancelled(parts: WorkerParts) -> None:
    job = asked(parts)

    def cancelled_meanwhile(_: Guest) -> object:
        change = cancel(parts.job(job.id), by="ana", now_ms=parts.clock.now_ms())
        assert change is not None
        parts.store.change(change)
        return "too late"

    model = AnsweringModel(PROGRAM, ANSWER)
    ended = explore(parts, cancelled_meanwhile, model=model, job=job)
    assert outcome(ended) == (Status.CANCELLED, "job.cancelled")
    assert ended.answer is None
    assert len(model.requests) == 1, "nobody is asked for a job that is over"


def test_an_explore_cancelled_while_the_model_is_asked_runs_no_program(parts: WorkerParts) -> None:
    job = asked(parts)

    def cancelled() -> None:
        change = cancel(parts.job(job.id), by="ana", now_ms=parts.clock.now_ms())
        assert change is not None
        parts.store.change(change)

    sandbox = PlayedSandbox(counts)
    parts.runner(Meanwhile(cancelled, PROGRAM), sandbox).run(job.id)
    ended = parts.job(job.id)
    assert outcome(ended) == (Status.CANCELLED, "job.cancelled")
    assert (ended.rounds, sandbox.runs) == ((), [])


def test_a_worker_that_lost_its_lease_adds_no_round(parts: WorkerParts) -> None:
    job = asked(parts)

    def overtaken(_: Guest) -> object:
        parts.clock.forward(60)
        stolen = parts.store.claim(
            job.id, expect=frozenset({Status.RUNNING}), to=Status.RUNNING, worker="thief", lease_ms=5000
        )
        assert isinstance(stolen, Claimed)
        return "too late"

    model = AnsweringModel(PROGRAM, ANSWER)
    ended = explore(parts, overtaken, model=model, job=job)
    assert ended.status is Status.RUNNING
    assert [each.ended_at_ms for each in ended.rounds] == [None]
    assert len(model.requests) == 1


def test_the_lease_is_long_enough_for_the_model_in_every_round(parts: WorkerParts) -> None:
    job = asked(parts)
    left: list[float] = []

    def looks() -> None:
        left.append(parts.job(job.id).lease_until_ms - parts.clock.now_ms())

    explore(parts, counts, counts, model=Meanwhile(looks, PROGRAM, PROGRAM, ANSWER), job=job)
    assert left == [parts.settings.generate_lease_seconds * 1000] * 3


def test_a_fault_of_vardy_itself_settles_an_explore_and_keeps_its_rounds(parts: WorkerParts) -> None:
    def broken(_: Guest) -> object:
        raise ZeroDivisionError("SECRET row")

    ended = explore(parts, counts, broken, model=AnsweringModel(PROGRAM, PROGRAM))
    assert outcome(ended) == (Status.EXECUTION_ERROR, "execution.internal")
    assert [each.worked for each in ended.rounds] == [True, False]
    assert "SECRET" not in ended.model_dump_json()


def test_a_summary_that_cannot_be_written_settles_an_explore_all_the_same(parts: WorkerParts) -> None:
    ended = explore(parts, lambda _: {"half of a pair": "\ud800"})
    assert outcome(ended) == (Status.EXECUTION_ERROR, "execution.internal")


def test_a_worker_without_a_sandbox_hands_an_explore_back_and_another_goes_on(parts: WorkerParts) -> None:
    class NoSandbox(PlayedSandbox):
        def run(self, *_: object, **__: object) -> SandboxOutcome:
            raise SettingsError("No child can be started on this machine.")

    job = asked(parts)
    model = AnsweringModel(PROGRAM, ANSWER)
    parts.runner(model, NoSandbox(die)).run(job.id)
    back = parts.job(job.id)
    assert (back.status, back.deliveries, back.lease_until_ms) == (Status.RUNNING, 0, 0)
    assert explore(parts, counts, model=model, job=job).answer == ANSWER
    assert len(model.requests) == 2
