from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import submission
from tests.support.fakes import AnsweringModel, PlayedSandbox, fenced, threw
from tests.support.runs import ANSWER, QUESTION, READS, UNKNOWN, WRITES, explore, outcome
from vardy_worker.contracts.errors import ModelUnavailable
from vardy_worker.contracts.execution import ConsoleLine, LimitHit, Returned
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.model import ModelReply
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view

if TYPE_CHECKING:
    from tests.support.fakes import Guest
    from tests.support.worker import WorkerParts
    from vardy_worker.contracts.job import JobRecord

PROGRAM = fenced(READS)
ROUNDS_MAX = Limits().explore_rounds_max
ATTEMPTS_MAX = Limits().generation_attempts


def counts(guest: Guest) -> object:
    return {"orders": guest.value("count_orders", city="Porto")}


def fails(_: Guest) -> object:
    return threw(message="SECRET row")


def cut(text: str) -> ModelReply:
    return ModelReply(text=text, finish_reason="length", model="fake/model")


def codes(job: JobRecord) -> list[str]:
    return [each.error.code if each.error else "" for each in job.rounds]


def everything_asked(model: AnsweringModel) -> str:
    return "\n".join(message.content for request in model.requests for message in request.messages)


# --- rounds that work -----------------------------------------------------------------------


def test_one_program_and_its_summary_lead_to_the_answer(parts: WorkerParts) -> None:
    job = explore(parts, counts)
    assert outcome(job) == (Status.SUCCESS, "")
    assert job.answer == ANSWER
    assert job.program is None
    assert job.output is None
    [only] = job_view(job).rounds
    assert (only.n, only.program, only.summary, only.truncated) == (1, READS + "\n", {"orders": 3}, False)
    assert only.error is None
    assert only.ended_at is not None
    assert ([call.function for call in job.rounds[0].calls], job.calls) == (["count_orders"], ())


def test_the_model_is_shown_the_question_then_its_program_and_the_summary(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, ANSWER)
    explore(parts, counts, model=model)
    first, second = model.requests
    assert [message.role for message in first.messages] == ["system", "user"]
    assert QUESTION in first.messages[1].content
    assert second.messages[:2] == first.messages
    assert [message.role for message in second.messages[2:]] == ["assistant", "user"]
    assert "count_orders({ city: 'Porto' })" in second.messages[2].content
    assert '{"orders":3}' in second.messages[3].content
    assert first.purpose == second.purpose == "explore"


def test_each_round_sees_all_earlier_ones(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    job = explore(parts, lambda _: "first sum", lambda _: "second sum", model=model)
    assert [each.summary for each in job.rounds] == ["first sum", "second sum"]
    assert model.requests[2].messages[: len(model.requests[1].messages)] == model.requests[1].messages
    assert "second sum" in model.requests[2].messages[-1].content


def test_an_answer_needs_no_program(parts: WorkerParts) -> None:
    job = explore(parts, model=AnsweringModel("Nothing here knows about salaries."))
    assert outcome(job) == (Status.SUCCESS, "")
    assert (job.answer, job.rounds) == ("Nothing here knows about salaries.", ())


def test_a_program_that_returns_nothing_worked(parts: WorkerParts) -> None:
    job = explore(parts, lambda _: None)
    assert outcome(job) == (Status.SUCCESS, "")
    assert job.rounds[0].worked
    assert job_view(job).rounds[0].summary is None


def test_the_job_shows_what_the_model_saw_of_a_large_result(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, ANSWER)
    rows = [{"id": number, "city": "Porto"} for number in range(5_000)]
    job = explore(parts, lambda _: rows, model=model, limits={"summary_bytes_max": 1_000})
    [only] = job.rounds
    shown = json.dumps(only.summary, ensure_ascii=False, separators=(",", ":"))
    assert only.truncated
    assert len(shown.encode()) <= 1_000
    assert shown in model.requests[1].messages[-1].content
    assert "more than 1,000 bytes" in model.requests[1].messages[-1].content
    assert only.summary[-1] == f"… {5_000 - len(only.summary) + 1:,} more items"


def test_of_params_only_the_shape_is_sent(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, ANSWER)
    explore(parts, counts, model=model, params={"city": "SECRET"})
    assert "{city: string}" in everything_asked(model)
    assert "SECRET" not in everything_asked(model)


def test_usage_and_warnings_of_all_rounds_add_up(parts: WorkerParts) -> None:
    def warns(guest: Guest) -> object:
        guest.call("count_orders", city="Atlantis")
        return "went on"

    job = explore(parts, warns, counts, warns, model=AnsweringModel(PROGRAM, PROGRAM, PROGRAM, ANSWER))
    assert (job.usage.model, job.usage.prompt_tokens, job.usage.cost_usd) == ("fake/model", 400, 2.0)
    said = "count_orders failed (function.failed) and the program went on."
    assert job.warnings == (f"Round 1: {said}", f"Round 3: {said}")
    assert [[call.ok for call in each.calls] for each in job.rounds] == [[False], [True], [False]]


def test_the_times_say_how_long_it_waited_and_how_long_all_programs_took(parts: WorkerParts) -> None:
    def takes_two_seconds(_: Guest) -> object:
        parts.clock.forward(2)
        return "read"

    job = parts.submit(submission(request=QUESTION), kind=JobKind.EXPLORE)
    parts.clock.forward(3)
    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    ended = explore(parts, takes_two_seconds, takes_two_seconds, job=job, model=model)
    assert (ended.timings.queued, ended.timings.execute) == (3_000, 4_000)


def test_the_console_is_kept_by_rounds_and_never_sent(parts: WorkerParts) -> None:
    def prints(text: str) -> Returned:
        return Returned(output=1, console=(ConsoleLine(level="log", text=text),))

    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    job = explore(parts, lambda _: prints("row one"), lambda _: prints("row two"), model=model)
    console = parts.store.console(job.id)
    assert console is not None
    assert [(line.round, line.text) for line in console.lines] == [(1, "row one"), (2, "row two")]
    assert "row one" not in everything_asked(model) + job.model_dump_json()


def test_the_console_of_all_rounds_together_has_its_limit(parts: WorkerParts) -> None:
    def prints(_: Guest) -> object:
        return Returned(output=1, console=(ConsoleLine(level="log", text="row"),))

    model = AnsweringModel(PROGRAM, PROGRAM, PROGRAM, ANSWER)
    job = explore(parts, prints, prints, prints, model=model, limits={"console_bytes_max": 7})
    console = parts.store.console(job.id)
    assert console is not None
    assert ([line.round for line in console.lines], console.truncated) == ([1, 2], True)


# --- what is told while it runs -------------------------------------------------------------


def test_a_round_is_seen_on_the_job_while_its_program_runs(parts: WorkerParts) -> None:
    job = parts.submit(submission(request=QUESTION), kind=JobKind.EXPLORE)
    seen: list[JobRecord] = []

    def looks(_: Guest) -> object:
        seen.append(parts.job(job.id))
        return "sum"

    explore(parts, looks, looks, job=job, model=AnsweringModel(PROGRAM, PROGRAM, ANSWER))
    during_first, during_second = (job_view(record) for record in seen)
    assert [(each.n, each.program, each.ended_at) for each in during_first.rounds] == [(1, READS + "\n", None)]
    assert [(each.n, each.summary) for each in during_second.rounds] == [(1, "sum"), (2, None)]
    assert during_first.stage == during_second.stage == "execute"


def test_events_tell_of_rounds_without_contents(parts: WorkerParts) -> None:
    job = explore(parts, counts, fails, model=AnsweringModel(PROGRAM, PROGRAM, fenced(UNKNOWN), ANSWER))
    told = [event.data for event in parts.store.events(job.id) if event.type == "round"]
    assert told == [
        {"n": 1, "state": "running"},
        {"n": 1, "state": "succeeded"},
        {"n": 2, "state": "running"},
        {"n": 2, "state": "failed", "code": "execution.thrown"},
        {"n": 3, "state": "failed", "code": "validation.program"},
    ]
    stages = [event.data["stage"] for event in parts.store.events(job.id) if event.type == "stage"]
    assert stages == ["generate", "execute", "generate", "execute", "generate", "generate"]


# --- rounds that fail -----------------------------------------------------------------------


def test_a_failed_round_is_told_to_readers_in_full_and_to_the_model_without_data(parts: WorkerParts) -> None:
    def asks_for_atlantis(guest: Guest) -> object:
        guest.call("count_orders", city="Atlantis")
        return threw(0)

    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    job = explore(parts, asks_for_atlantis, counts, model=model)
    assert outcome(job) == (Status.SUCCESS, "")
    first, second = job.rounds
    assert first.error is not None
    assert (first.error.code, second.error) == ("function.failed", None)
    assert "there is no such city" in first.error.message
    told = model.requests[1].messages[-1].content
    assert "[function.failed]" in told
    assert "count_orders: 1 call, failed (function.failed)" in told
    assert "no such city" not in everything_asked(model)


def test_the_shapes_of_what_a_failed_program_read_are_told(parts: WorkerParts) -> None:
    def reads_and_throws(guest: Guest) -> object:
        guest.value("count_orders", city="Porto")
        return threw(message="SECRET")

    model = AnsweringModel(PROGRAM, ANSWER)
    explore(parts, reads_and_throws, model=model)
    assert "count_orders returned: number" in model.requests[1].messages[-1].content
    assert "SECRET" not in everything_asked(model)


def test_a_program_that_does_not_pass_the_checks_costs_a_round_and_never_runs(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(UNKNOWN), ANSWER)
    job = explore(parts, model=model)
    [only] = job_view(job).rounds
    assert only.error is not None
    assert only.error.code == "validation.program"
    assert only.error.details["findings"][0]["code"] == "program.unknown_function"
    assert only.program == UNKNOWN + "\n"
    assert only.ended_at is not None
    told = model.requests[1].messages
    assert "count_order({" in told[-2].content
    assert "Did you mean `count_orders`?" in told[-1].content


def test_places_are_those_of_the_program_that_is_shown_whatever_stood_before_it(parts: WorkerParts) -> None:
    model = AnsweringModel(f"First I look\nat the orders.\n\n{fenced(UNKNOWN)}", ANSWER)
    [only] = job_view(explore(parts, model=model)).rounds
    assert only.error is not None
    assert only.program is not None
    [finding] = only.error.details["findings"]
    place = only.program.split("\n")[finding["line"] - 1][finding["column"] - 1 :]
    assert place.startswith("count_order(")
    assert f"at line {finding['line']}, column {finding['column']}" in model.requests[1].messages[-1].content


def test_a_write_in_a_program_is_a_finding_of_its_own(parts: WorkerParts) -> None:
    job = explore(parts, model=AnsweringModel(fenced(WRITES), ANSWER))
    error = job.rounds[0].error
    assert error is not None
    assert [finding["code"] for finding in error.details["findings"]] == ["program.write_in_explore"]


def test_a_write_cannot_be_called_whatever_passes_the_checks(parts: WorkerParts) -> None:
    sandbox = PlayedSandbox(lambda guest: guest.effect("pay", amount=1))
    model = AnsweringModel(PROGRAM, ANSWER)
    job = parts.submit(submission(request=QUESTION), kind=JobKind.EXPLORE)
    parts.runner(model, sandbox).run(job.id)
    ended = parts.job(job.id)
    assert sandbox.runs[0].functions == ("count_orders",)
    assert "declare function pay" not in everything_asked(model)
    assert codes(ended) == ["execution.internal"]
    assert (ended.plan, ended.effects) == (None, ())


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("", "generation.no_answer"),
        ("<think>\nhm\n</think>", "generation.no_answer"),
        (cut("Porto has"), "generation.truncated"),
        (cut("```javascript\nasync function run(params) {\n  return await count_"), "generation.truncated"),
        (fenced(f"async function run() {{ return '{'x' * 70_000}'; }}"), "generation.program_too_large"),
    ],
)
def test_what_is_neither_program_nor_answer_costs_a_round(
    parts: WorkerParts, said: str | ModelReply, code: str
) -> None:
    model = AnsweringModel(said, PROGRAM, ANSWER)
    job = explore(parts, counts, model=model)
    assert outcome(job) == (Status.SUCCESS, "")
    assert codes(job) == [code, ""]
    assert job.rounds[0].program is None
    assert f"[{code}]" in model.requests[1].messages[-1].content


def test_what_was_cut_off_is_sent_back_in_part(parts: WorkerParts) -> None:
    model = AnsweringModel(cut("Porto has " * 1_000), PROGRAM, ANSWER)
    explore(parts, counts, model=model)
    sent_back = model.requests[1].messages[2]
    assert sent_back.role == "assistant"
    assert sent_back.content.startswith("Porto has Porto has")
    assert len(sent_back.content) < 2_100


# --- when rounds run out --------------------------------------------------------------------


def test_when_no_program_may_run_any_more_the_model_answers_from_what_it_has(parts: WorkerParts) -> None:
    model = AnsweringModel(*[PROGRAM] * ROUNDS_MAX, ANSWER)
    job = explore(parts, *[counts] * (ROUNDS_MAX - 1), fails, model=model)
    assert outcome(job) == (Status.SUCCESS, "")
    assert job.answer == ANSWER
    assert codes(job) == [""] * (ROUNDS_MAX - 1) + ["execution.thrown"]
    left = [f"{ROUNDS_MAX - n} more may run" for n in range(1, ROUNDS_MAX)]
    for request, said in zip(model.requests[1:], [*left, "No further program can run"], strict=True):
        assert said in request.messages[-1].content


def test_when_no_round_worked_the_job_ends_as_its_last_round_and_nobody_is_asked(parts: WorkerParts) -> None:
    model = AnsweringModel(*[PROGRAM] * ROUNDS_MAX, ANSWER)
    limit = LimitHit(code="execution.memory", limit="guest_memory_mib_max", limit_value=64)
    job = explore(parts, *[fails] * (ROUNDS_MAX - 1), lambda _: limit, model=model)
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.memory")
    assert job.answer is None
    assert model.answers == [ANSWER]


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        (fenced(UNKNOWN), (Status.VALIDATION_BLOCKED, "validation.program")),
        ("", (Status.GENERATION_ERROR, "generation.no_answer")),
        (cut("So"), (Status.GENERATION_ERROR, "generation.truncated")),
    ],
)
def test_rounds_that_never_ran_end_the_job_with_their_own_status(
    parts: WorkerParts, said: str | ModelReply, ended: tuple[Status, str]
) -> None:
    job = explore(parts, model=AnsweringModel(*[said] * ROUNDS_MAX))
    assert outcome(job) == ended
    assert len(job.rounds) == ROUNDS_MAX


def test_a_program_in_place_of_the_last_answer_is_refused_and_asked_about_again(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    job = explore(parts, counts, model=model, limits={"explore_rounds_max": 1})
    assert outcome(job) == (Status.SUCCESS, "")
    assert (job.answer, len(job.rounds)) == (ANSWER, 1)
    assert [attempt.error.code for attempt in job.attempts] == ["generation.no_answer"]
    roles = [message.role for message in model.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "[generation.no_answer]" in model.requests[-1].messages[-1].content


@pytest.mark.parametrize("said", [PROGRAM, "", cut("So Porto")])
def test_a_model_that_does_not_answer_in_the_end_is_a_generation_error(
    parts: WorkerParts, said: str | ModelReply
) -> None:
    model = AnsweringModel(PROGRAM, *[said] * ATTEMPTS_MAX)
    job = explore(parts, counts, model=model, limits={"explore_rounds_max": 1})
    code = "generation.truncated" if isinstance(said, ModelReply) else "generation.no_answer"
    assert outcome(job) == (Status.GENERATION_ERROR, code)
    assert (job.answer, codes(job), len(job.attempts)) == (None, [""], ATTEMPTS_MAX)


def test_an_answer_may_be_as_large_as_what_a_program_returns(parts: WorkerParts) -> None:
    limits = {"output_bytes_max": 10, "explore_rounds_max": 1}
    small = explore(parts, model=AnsweringModel("é" * 5), limits=limits)
    assert (small.status, small.answer) == (Status.SUCCESS, "é" * 5)
    large = explore(parts, model=AnsweringModel("é" * 6), limits=limits)
    assert outcome(large) == (Status.GENERATION_ERROR, "generation.no_answer")
    assert large.error is not None
    assert large.error.details == {"limit": "output_bytes_max", "limit_value": 10, "value": 12}


def test_of_a_refused_answer_no_more_is_kept_than_a_program_may_have(parts: WorkerParts) -> None:
    limits = {"output_bytes_max": 10, "explore_rounds_max": 1, "program_bytes_max": 200}
    job = explore(parts, lambda _: 1, model=AnsweringModel(PROGRAM, "So " * 100, ANSWER[:10]), limits=limits)
    assert [attempt.text for attempt in job.attempts] == [("So " * 100)[:200]]


def test_a_request_may_lower_the_number_of_rounds(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    job = explore(parts, counts, counts, model=model, limits={"explore_rounds_max": 2})
    assert outcome(job) == (Status.SUCCESS, "")
    assert len(job.rounds) == 2
    assert "At most 2 programs may run." in model.requests[0].messages[1].content


# --- what ends a job at once ----------------------------------------------------------------


def test_a_model_that_cannot_be_reached_in_the_second_round_leaves_the_first(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, ModelUnavailable("Nobody answered."))
    job = explore(parts, counts, model=model)
    assert outcome(job) == (Status.GENERATION_ERROR, "generation.model_unavailable")
    assert [each.summary for each in job.rounds] == [{"orders": 3}]


def test_a_model_that_cannot_be_reached_for_the_last_answer_leaves_the_rounds(parts: WorkerParts) -> None:
    model = AnsweringModel(PROGRAM, ModelUnavailable("Nobody answered."))
    job = explore(parts, counts, model=model, limits={"explore_rounds_max": 1})
    assert outcome(job) == (Status.GENERATION_ERROR, "generation.model_unavailable")
    assert len(job.rounds) == 1


def test_functions_that_the_person_does_not_have_are_refused_before_anybody_is_asked(parts: WorkerParts) -> None:
    model = AnsweringModel(ANSWER)
    job = explore(parts, model=model, functions=("count_orders", "read_ledger"))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.functions")
    assert model.requests == []


def test_a_program_is_checked_against_the_narrowed_functions(parts: WorkerParts) -> None:
    job = explore(parts, model=AnsweringModel(fenced(WRITES), ANSWER), functions=("count_orders",))
    error = job.rounds[0].error
    assert error is not None
    found: list[dict[str, Any]] = error.details["findings"]
    assert [finding["code"] for finding in found] == ["program.unknown_function"]
