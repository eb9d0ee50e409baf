"""Jobs whose programs have texts judged: what is asked, what it may cost, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import NOW_MS, submission
from tests.support.fakes import AnsweringModel, Guest, PlayedSandbox, fenced, threw
from tests.support.judge import Asked, JudgingModel, make_judge, sorts
from tests.support.runs import outcome
from vardy_worker.contracts.errors import ErrorInfo, NotConfirmed
from vardy_worker.contracts.execution import CallFailure, CallReply, Ref
from vardy_worker.contracts.job import JobKind, JobRecord, JudgeUsage, Usage
from vardy_worker.contracts.model import ModelFailed
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.support.worker import WorkerParts

JUDGING = "async function run(params) {\n  return await classify(params.texts, ['good', 'bad']);\n}"
LABELS = ["good", "bad"]
AWAY = ModelFailed(error=ErrorInfo(code="generation.model_unavailable", message="No model answered."), about="model")


def label_of(text: str) -> str:
    return "bad" if "leak" in text else "good"


def judging(parts: WorkerParts, script: Callable[[Asked], Any] | None = None, **settings: Any) -> JudgingModel:
    """Gives the worker a judge; its model."""
    model = JudgingModel(script or sorts(label_of))
    parts.judge = make_judge(model, **settings)
    return model


def run(
    parts: WorkerParts, *plays: Callable[[Guest], object], model: AnsweringModel | None = None, **fields: Any
) -> JobRecord:
    job = parts.submit(submission(**{"judge": True, **fields}))
    again(parts, job, *plays, model=model)
    return parts.job(job.id)


def again(
    parts: WorkerParts, job: JobRecord, *plays: Callable[[Guest], object], model: AnsweringModel | None = None
) -> PlayedSandbox:
    sandbox = PlayedSandbox(*plays)
    parts.runner(model or AnsweringModel(fenced(JUDGING)), sandbox).run(job.id)
    return sandbox


def classify(guest: Guest, *texts: str | None, **args: Any) -> object:
    return guest.value("classify", texts=list(texts), **{"labels": LABELS, **args})


def failure(reply: CallReply) -> str:
    assert isinstance(reply, CallFailure)
    return reply.code


# --- answers --------------------------------------------------------------------------------


def test_texts_come_back_as_labels_in_order_with_counts(parts: WorkerParts) -> None:
    model = judging(parts)
    job = run(parts, lambda guest: classify(guest, "it leaks", "thanks", "it leaks"))
    assert outcome(job) == (Status.SUCCESS, "")
    assert job.output == {"labels": ["bad", "good", "bad"], "counts": {"good": 1, "bad": 2, "unknown": 0}}
    assert sorted(model.asked[0].texts.values()) == ["it leaks", "thanks"]


def test_a_value_of_ai_comes_back_as_itself(parts: WorkerParts) -> None:
    judging(parts, lambda _: '{"value": {"city": "Faro"}}')
    options = {"type": {"city": "string"}}
    job = run(parts, lambda guest: guest.value("ai", instruction="Which city?", data={"a": 1}, options=options))
    assert job.output == {"city": "Faro"}


def test_a_call_without_texts_asks_nothing(parts: WorkerParts) -> None:
    model = judging(parts)
    job = run(parts, lambda guest: classify(guest, None) if classify(guest) else None)
    assert job.output == {"labels": ["unknown"], "counts": {"good": 0, "bad": 0, "unknown": 1}}
    assert model.waves == []
    assert job.usage.judge == JudgeUsage()


def test_questions_of_one_tick_share_their_calls_and_reads_run_beside_them(parts: WorkerParts) -> None:
    model = judging(parts)

    def play(guest: Guest) -> object:
        args = {"texts": ["it leaks"], "labels": LABELS}
        other = {"texts": ["thanks"], "labels": LABELS}
        replies = guest.batch(("classify", args, ()), ("count_orders", {"city": "Porto"}, ()), ("classify", other, ()))
        return [getattr(reply, "value", None) for reply in replies]

    job = run(parts, play)
    assert job.output[1] == 3
    assert [one["labels"] for one in (job.output[0], job.output[2])] == [["bad"], ["good"]]
    assert len(model.asked) == 1
    assert [(call.function, call.ok) for call in job.calls] == [
        ("count_orders", True),
        ("classify", True),
        ("classify", True),
    ]


def test_the_program_has_the_judge_only_where_the_job_does(parts: WorkerParts) -> None:
    judging(parts)
    on = again(parts, parts.submit(submission(judge=True)), lambda _: None)
    off = again(
        parts, parts.submit(submission()), lambda _: None, model=AnsweringModel(fenced("async function run() {}"))
    )
    assert [run.judge for run in (*on.runs, *off.runs)] == [True, False]


def test_a_request_without_the_judge_gets_no_program_that_uses_it(parts: WorkerParts) -> None:
    judging(parts)
    model = AnsweringModel(fenced(JUDGING), fenced(JUDGING))
    job = run(parts, lambda _: None, model=model, judge=False)
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.program")
    assert [finding.code for finding in job.attempts[0].findings] == ["program.judge_off"]
    assert "classify(" not in model.requests[0].messages[0].content


def test_the_model_is_told_of_the_judge_where_there_is_one(parts: WorkerParts) -> None:
    judging(parts)
    model = AnsweringModel(fenced(JUDGING))
    run(parts, lambda _: None, model=model)
    assert "declare function classify(" in model.requests[0].messages[0].content


def recipe(**fields: Any) -> Recipe:
    given = {"name": "judged", "source": JUDGING, "params_schema": {"type": "object"}, "reviewed_by": "lea"}
    return Recipe(**{**given, "functions": {}, "reviewed_at_ms": NOW_MS, "judge": True, **fields})


def test_a_recipe_has_the_judge_by_itself_and_costs_no_other_model(parts: WorkerParts) -> None:
    judging(parts)
    job = parts.submit(submission(recipe="judged"), recipe=recipe())
    again(parts, job, lambda guest: classify(guest, "it leaks"), model=AnsweringModel())
    job = parts.job(job.id)
    assert outcome(job) == (Status.SUCCESS, "")
    assert (job.usage.prompt_tokens, job.usage.judge.calls) == (0, 1)


class PreparedModel(AnsweringModel):
    """Remembers that it was told to get ready."""

    prepared = 0

    def prepare(self) -> None:
        self.prepared += 1


@pytest.mark.parametrize("judge", [True, False])
def test_a_model_is_loaded_before_the_time_of_a_program_that_may_need_it(parts: WorkerParts, judge: bool) -> None:
    judging(parts)
    source = JUDGING if judge else "async function run() { return 1; }"
    job = parts.submit(submission(recipe="judged"), recipe=recipe(judge=judge, source=source))
    model, seen = PreparedModel(), []
    again(parts, job, lambda _: seen.append(model.prepared), model=model)
    assert seen == [int(judge)]


def test_a_recipe_without_the_judge_has_none_whatever_the_request_says(parts: WorkerParts) -> None:
    judging(parts)
    job = parts.submit(submission(recipe="judged", judge=True), recipe=recipe(judge=False))
    again(parts, job, lambda _: None)
    assert outcome(parts.job(job.id)) == (Status.VALIDATION_BLOCKED, "validation.recipe")


# --- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(JobKind))
def test_without_a_judge_model_the_job_ends_before_anything_happens(parts: WorkerParts, kind: JobKind) -> None:
    model = AnsweringModel()
    job = parts.submit(submission(judge=True), kind=kind)
    again(parts, job, lambda _: None, model=model)
    ended = parts.job(job.id)
    assert outcome(ended) == (Status.EXECUTION_ERROR, "execution.judge_not_configured")
    assert ended.error is not None
    assert "VARDY_JUDGE_MODEL" in ended.error.message
    assert model.requests == []


def test_wrong_arguments_end_the_job_when_the_program_does_not_catch_it(parts: WorkerParts) -> None:
    judging(parts)
    job = run(parts, lambda guest: guest.call("classify", texts="one", labels=LABELS) and threw(0))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.arguments")
    assert job.error is not None
    assert job.error.message == "classify: argument /texts: must be an array of strings, not a string of 3 characters"
    assert (job.error.details["function"], job.error.details["program_line"]) == ("classify", 2)


def test_wrong_arguments_that_are_caught_are_a_warning(parts: WorkerParts) -> None:
    model = judging(parts)
    job = run(parts, lambda guest: failure(guest.call("ai", instruction="x")))
    assert (job.status, job.output) == (Status.SUCCESS, "validation.arguments")
    assert job.warnings == ("ai failed (validation.arguments) and the program went on.",)
    assert model.waves == []


def test_the_result_of_a_write_is_no_text(parts: WorkerParts) -> None:
    model = judging(parts)

    def play(guest: Guest) -> object:
        effect = guest.effect("pay", amount=1)
        refs = (Ref(at="/texts/0", effect=effect, path="/id"),)
        return failure(guest.call("classify", refs=refs, texts=[None], labels=LABELS))

    assert run(parts, play).output == "execution.placeholder"
    assert model.waves == []


def test_a_judge_that_cannot_be_reached_is_an_error_that_may_be_caught(parts: WorkerParts) -> None:
    judging(parts, lambda _: AWAY)
    ask: dict[str, Any] = {"texts": ["it leaks"], "labels": LABELS}
    job = run(parts, lambda guest: guest.call("classify", **ask) and threw(0))
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.judge_unavailable")
    caught = run(parts, lambda guest: failure(guest.call("classify", **ask)))
    assert (caught.status, caught.output) == (Status.SUCCESS, "execution.judge_unavailable")


def test_a_judge_that_cannot_be_reached_is_not_repaired(parts: WorkerParts) -> None:
    judging(parts, lambda _: AWAY)
    model = AnsweringModel(fenced(JUDGING))
    ask: dict[str, Any] = {"texts": ["it leaks"], "labels": LABELS}
    job = run(parts, lambda guest: guest.call("classify", **ask) and threw(0), model=model, execution_repairs=3)
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.judge_unavailable")
    assert len(model.requests) == 1


def test_texts_that_cannot_be_judged_are_unknown_and_a_warning_counts_them(parts: WorkerParts) -> None:
    judging(parts, lambda _: "I would rather not say.")
    job = run(parts, lambda guest: [classify(guest, "a", "b"), classify(guest, "c")])
    assert job.status is Status.SUCCESS
    assert [found["labels"] for found in job.output] == [["unknown", "unknown"], ["unknown"]]
    assert job.warnings == ("3 of 3 texts could not be judged, and are `unknown`.",)


def test_a_value_of_another_type_is_an_error_of_its_own(parts: WorkerParts) -> None:
    judging(parts, lambda _: '{"value": "not a number"}')
    options = {"type": "number"}
    job = run(parts, lambda guest: guest.call("ai", instruction="How many?", data=1, options=options) and threw(0))
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.judge_bad_answer")


# --- what it may cost ---------------------------------------------------------------------------


def test_what_was_spent_is_kept_apart_and_also_when_the_program_fails(parts: WorkerParts) -> None:
    judging(parts)
    job = run(parts, lambda guest: classify(guest, "it leaks") and threw())
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.thrown")
    assert job.usage.judge == JudgeUsage(calls=1, prompt_tokens=100, completion_tokens=10, cost_usd=0.5)
    assert (job.usage.prompt_tokens, job.usage.completion_tokens) == (100, 10)


def test_the_budget_is_one_for_all_calls_of_a_program(parts: WorkerParts) -> None:
    model = judging(parts)

    def play(guest: Guest) -> object:
        classify(guest, "a")
        classify(guest, "b")
        return guest.call("classify", texts=["c"], labels=LABELS) and threw(2)

    job = run(parts, play, limits={"judge_calls_max": 2})
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.judge_budget")
    assert job.error is not None
    assert (job.error.details["limit"], job.error.details["function"]) == ("judge_calls_max", "classify")
    assert (len(model.asked), job.usage.judge.calls) == (2, 2)


def test_the_budget_of_tokens_counts_what_was_really_taken(parts: WorkerParts) -> None:
    judging(parts)
    plenty = run(parts, lambda guest: [classify(guest, str(n)) for n in range(3)])
    assert plenty.usage.judge.prompt_tokens == 300
    little = run(
        parts,
        lambda guest: guest.call("classify", texts=["x"], labels=LABELS) and threw(0),
        limits={"judge_tokens_max": 10},
    )
    assert outcome(little) == (Status.EXECUTION_ERROR, "execution.judge_budget")
    assert little.usage.judge == JudgeUsage()


def test_repairs_and_later_programs_have_what_the_first_one_left(parts: WorkerParts) -> None:
    judging(parts)
    model = AnsweringModel(fenced(JUDGING), fenced(JUDGING))

    def first(guest: Guest) -> object:
        classify(guest, "a")
        return threw()

    def second(guest: Guest) -> object:
        classify(guest, "b")
        return failure(guest.call("classify", texts=["c"], labels=LABELS))

    job = run(parts, first, second, model=model, execution_repairs=1, limits={"judge_calls_max": 2})
    assert (job.status, job.output) == (Status.SUCCESS, "execution.judge_budget")
    assert job.usage.judge.calls == 2
    assert "- classify: 1 call, done" in model.requests[1].messages[-1].content


def test_what_was_spent_is_stored_before_the_program_goes_on(parts: WorkerParts) -> None:
    judging(parts)
    job = parts.submit(submission(judge=True))
    seen = []

    def play(guest: Guest) -> object:
        classify(guest, "a")
        seen.append(parts.job(job.id).usage)
        return None

    again(parts, job, play)
    assert seen == [
        Usage(model="fake/model", prompt_tokens=100, completion_tokens=10, cost_usd=0.5, judge=seen[0].judge)
    ]
    assert seen[0].judge.calls == 1


def test_a_job_that_is_picked_up_again_has_no_new_budget_and_the_same_labels(parts: WorkerParts) -> None:
    answers = iter(["good", "bad", "bad"])
    model = judging(parts, sorts(lambda _: next(answers)))
    job = parts.submit(submission(judge=True, limits={"judge_calls_max": 2}))

    def dies(guest: Guest) -> object:
        classify(guest, "a")
        raise NotConfirmed("The disk is slow.")

    again(parts, job, dies)
    assert parts.job(job.id).usage.judge.calls == 1

    def goes_on(guest: Guest) -> object:
        found = classify(guest, "a")
        classify(guest, "b")
        return [found, failure(guest.call("classify", texts=["c"], labels=LABELS))]

    again(parts, job, goes_on, model=AnsweringModel())
    ended = parts.job(job.id)
    assert outcome(ended) == (Status.SUCCESS, "")
    assert ended.output == [
        {"labels": ["good"], "counts": {"good": 1, "bad": 0, "unknown": 0}},
        "execution.judge_budget",
    ]
    assert (len(model.asked), ended.usage.judge.calls) == (2, 2)


def test_a_worker_that_lost_the_job_while_the_judge_was_asked_goes_no_further(parts: WorkerParts) -> None:
    job = parts.submit(submission(judge=True))

    def taken_over(one: Asked) -> str:
        parts.clock.forward(60)
        claim = parts.store.claim(
            job.id, expect=frozenset({Status.RUNNING}), to=Status.RUNNING, worker="w2", lease_ms=9
        )
        assert claim
        return sorts(label_of)(one)

    judging(parts, taken_over)
    went_on = []

    def play(guest: Guest) -> object:
        classify(guest, "a")
        went_on.append(True)
        return None

    again(parts, job, play)
    assert went_on == []
    assert parts.job(job.id).status is Status.RUNNING


def test_the_rounds_of_an_explore_share_one_budget(parts: WorkerParts) -> None:
    judging(parts)
    model = AnsweringModel(fenced(JUDGING), fenced(JUDGING), "Two complain.")
    job = parts.submit(submission(judge=True, limits={"judge_calls_max": 1}), kind=JobKind.EXPLORE)
    plays: Sequence[Callable[[Guest], object]] = (
        lambda guest: classify(guest, "it leaks"),
        lambda guest: failure(guest.call("classify", texts=["other"], labels=LABELS)),
    )
    again(parts, job, *plays, model=model)
    ended = parts.job(job.id)
    assert (ended.status, ended.answer) == (Status.SUCCESS, "Two complain.")
    assert [each.summary for each in ended.rounds] == [
        {"labels": ["bad"], "counts": {"good": 0, "bad": 1, "unknown": 0}},
        "execution.judge_budget",
    ]
    assert ended.usage.judge.calls == 1
    assert "declare function classify(" in model.requests[0].messages[0].content
