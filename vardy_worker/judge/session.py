"""The judge's side of one program: its calls become questions within the job's budget, and answers values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.execution import CallValue
from vardy_worker.contracts.job import JudgeUsage
from vardy_worker.contracts.judge import AiValue, Classified, JudgeBudget, JudgeFailure
from vardy_worker.programs.judge_arguments import AiCall, ClassifyCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.judge import JudgeAnswer, JudgeQuestion
    from vardy_worker.contracts.limits import Limits
    from vardy_worker.contracts.quota import QuotaExceeded
    from vardy_worker.ports import Judge
    from vardy_worker.programs.judge_arguments import JudgeCall


class JudgeSession:
    """Asks the judge for one program of a job.

    `spent` is what the job's judge took before this program. `noted` is told what it took by
    now whenever that grew, before the program goes on: it may raise, to end the program.
    `exceeded` is asked before each tick for a day's ceiling that is reached; it may raise, too.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        job_id: str,
        limits: Limits,
        spent: JudgeUsage,
        noted: Callable[[JudgeUsage], None],
        exceeded: Callable[[], QuotaExceeded | None],
    ) -> None:
        self._judge = judge
        self._job_id = job_id
        self._limits = limits
        self._spent = spent
        self._noted = noted
        self._exceeded = exceeded
        self._judged = 0
        self._unjudged = 0

    def ask(self, calls: Sequence[JudgeCall], *, deadline: float) -> list[CallValue | JudgeFailure]:
        """What becomes of the calls of one tick, in their order. A call without texts asks nothing."""
        answers = iter(self._answers([call.question for call in calls if _asks(call)], deadline))
        return [self._value(call, next(answers) if _asks(call) else Classified(labels=())) for call in calls]

    def warnings(self) -> tuple[str, ...]:
        """What the job should say of its judged texts."""
        if not self._unjudged:
            return ()
        return (f"{self._unjudged} of {self._judged} texts could not be judged, and are `unknown`.",)

    def _answers(self, questions: Sequence[JudgeQuestion], deadline: float) -> Sequence[JudgeAnswer]:
        if not questions:
            return ()
        judged = self._judge.ask(questions, job_id=self._job_id, budget=self._budget(), deadline=deadline)
        if judged.usage != JudgeUsage():
            self._spent = _together(self._spent, judged.usage)
            self._noted(self._spent)
        return judged.answers

    def _budget(self) -> JudgeBudget:
        spent = self._spent
        return JudgeBudget(
            calls=max(0, self._limits.judge_calls_max - spent.calls),
            tokens=max(0, self._limits.judge_tokens_max - spent.prompt_tokens - spent.completion_tokens),
            exceeded=self._exceeded(),
        )

    def _value(self, call: JudgeCall, answer: JudgeAnswer) -> CallValue | JudgeFailure:
        match call, answer:
            case _, JudgeFailure():
                return answer
            case ClassifyCall(), Classified():
                self._judged += len(answer.labels)
                self._unjudged += answer.unjudged
                return CallValue(value=call.value(answer.labels))
            case AiCall(), AiValue():
                return CallValue(value=answer.value)
        msg = f"the judge answered {type(answer).__name__} to {type(call).__name__}"
        raise TypeError(msg)


def _asks(call: JudgeCall) -> bool:
    return isinstance(call, AiCall) or bool(call.question.texts)


def _together(spent: JudgeUsage, more: JudgeUsage) -> JudgeUsage:
    return JudgeUsage(**spent.plus(more).model_dump(), calls=spent.calls + more.calls)
