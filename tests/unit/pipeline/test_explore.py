from __future__ import annotations

from tests.support.factories import submission
from tests.support.fakes import AnsweringModel, Guest, PlayedSandbox, fenced
from tests.support.runs import ANSWER, QUESTION, READS, explore, outcome
from tests.support.worker import WorkerParts
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view


def counts(guest: Guest) -> object:
    return {"orders": guest.value("count_orders", city="Porto")}


def test_one_program_and_its_summary_lead_to_the_answer(parts: WorkerParts) -> None:
    job = explore(parts, counts)
    assert outcome(job) == (Status.SUCCESS, "")
    assert job.answer == ANSWER
    assert job.program is None
    assert job.output is None
    view = job_view(job)
    [only] = view.rounds
    assert (only.n, only.program, only.summary, only.truncated, only.error) == (
        1,
        READS + "\n",
        {"orders": 3},
        False,
        None,
    )
    assert only.ended_at is not None


def test_the_model_is_shown_the_question_then_its_program_and_the_summary(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(READS), ANSWER)
    explore(parts, counts, model=model)
    first, second = model.requests
    assert [message.role for message in first.messages] == ["system", "user"]
    assert QUESTION in first.messages[1].content
    assert second.messages[:2] == first.messages
    assert [message.role for message in second.messages[2:]] == ["assistant", "user"]
    assert "count_orders({ city: 'Porto' })" in second.messages[2].content
    assert '{"orders":3}' in second.messages[3].content
    assert first.purpose == second.purpose == "explore"


def test_only_functions_that_read_exist(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(READS), ANSWER)
    sandbox = PlayedSandbox(counts)
    job = parts.submit(submission(request=QUESTION), kind=JobKind.EXPLORE)
    parts.runner(model, sandbox).run(job.id)
    assert sandbox.runs[0].functions == ("count_orders",)
    assert "declare function pay" not in model.requests[0].messages[0].content
