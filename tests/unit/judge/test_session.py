"""One program's questions: what the judge is given for them, and what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vardy_worker.contracts.execution import CallValue
from vardy_worker.contracts.job import JudgeUsage
from vardy_worker.contracts.judge import AiValue, Classified, Judged, JudgeFailure
from vardy_worker.contracts.limits import Limits
from vardy_worker.judge.session import JudgeSession
from vardy_worker.programs.judge_arguments import BadJudgeCall, judge_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.judge import JudgeAnswer, JudgeBudget, JudgeQuestion
    from vardy_worker.programs.judge_arguments import JudgeCall

LIMITS = Limits(judge_calls_max=5, judge_tokens_max=1_000)


class ToldJudge:
    """Answers as it is told; remembers budgets and questions."""

    def __init__(self, *answers: JudgeAnswer, usage: JudgeUsage = JudgeUsage()) -> None:  # noqa: B008 - it is frozen
        self._answers = list(answers)
        self._usage = usage
        self.budgets: list[JudgeBudget] = []
        self.asked: list[JudgeQuestion] = []

    def ask(self, questions: Sequence[JudgeQuestion], *, job_id: str, budget: JudgeBudget, deadline: float) -> Judged:
        assert (job_id, deadline) == ("job_1", 7.0)
        self.budgets.append(budget)
        self.asked.extend(questions)
        given, self._answers = self._answers[: len(questions)], self._answers[len(questions) :]
        return Judged(answers=tuple(given), usage=self._usage)


def session(judge: ToldJudge, *, spent: JudgeUsage | None = None, told: list[JudgeUsage] | None = None) -> JudgeSession:
    noted = [] if told is None else told
    return JudgeSession(
        judge,
        job_id="job_1",
        limits=LIMITS,
        spent=spent or JudgeUsage(),
        noted=noted.append,
        exceeded=lambda: None,
    )


def classify(*texts: str | None) -> JudgeCall:
    made = judge_call("classify", {"texts": list(texts), "labels": ["a", "b"]})
    assert not isinstance(made, BadJudgeCall)
    return made


def ai() -> JudgeCall:
    made = judge_call("ai", {"instruction": "i", "data": 1, "options": {"type": "number"}})
    assert not isinstance(made, BadJudgeCall)
    return made


@pytest.mark.parametrize(
    ("spent", "left"),
    [
        (JudgeUsage(), (5, 1_000)),
        (JudgeUsage(calls=2, prompt_tokens=300, completion_tokens=50, cost_usd=9), (3, 650)),
        (JudgeUsage(calls=9, prompt_tokens=900, completion_tokens=400), (0, 0)),
    ],
)
def test_the_budget_is_what_the_job_left(spent: JudgeUsage, left: tuple[int, int]) -> None:
    judge = ToldJudge(Classified(labels=("a",)))
    session(judge, spent=spent).ask([classify("x")], deadline=7.0)
    assert [(budget.calls, budget.tokens) for budget in judge.budgets] == [left]


def test_what_was_spent_adds_up_and_is_told_each_time_it_grew() -> None:
    taken = JudgeUsage(calls=1, prompt_tokens=100, completion_tokens=10, cost_usd=0.25)
    judge = ToldJudge(*[Classified(labels=("a",))] * 2, usage=taken)
    told: list[JudgeUsage] = []
    asking = session(judge, spent=taken, told=told)
    for _ in range(2):
        asking.ask([classify("x")], deadline=7.0)
    assert [(usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) for usage in told] == [
        (2, 200, 20, 0.5),
        (3, 300, 30, 0.75),
    ]
    assert [budget.tokens for budget in judge.budgets] == [890, 780]


def test_answers_that_took_nothing_are_not_told() -> None:
    told: list[JudgeUsage] = []
    session(ToldJudge(Classified(labels=("a",))), told=told).ask([classify("x")], deadline=7.0)
    assert told == []


def test_questions_without_texts_are_answered_beside_those_that_are_asked() -> None:
    failure = JudgeFailure(code="execution.judge_unavailable", message="Away.")
    judge = ToldJudge(Classified(labels=("b",)), failure, AiValue(value=3))
    answers = session(judge).ask([classify(), classify("x"), classify(None), classify("y"), ai()], deadline=7.0)
    assert len(judge.asked) == 3
    assert answers[3] is failure
    values = [answer.value for answer in answers if isinstance(answer, CallValue)]
    assert [value["labels"] for value in values[:3]] == [[], ["b"], ["unknown"]]
    assert values[3] == 3


def test_an_answer_of_another_kind_than_the_question_is_a_fault() -> None:
    with pytest.raises(TypeError, match="answered AiValue to ClassifyCall"):
        session(ToldJudge(AiValue(value=1))).ask([classify("x")], deadline=7.0)


def test_unjudged_texts_of_all_calls_are_one_warning() -> None:
    judge = ToldJudge(Classified(labels=("a", "unknown"), unjudged=1), Classified(labels=("unknown",), unjudged=1))
    asking = session(judge)
    assert asking.warnings() == ()
    asking.ask([classify("x", "y"), classify("z")], deadline=7.0)
    assert asking.warnings() == ("2 of 3 texts could not be judged, and are `unknown`.",)
