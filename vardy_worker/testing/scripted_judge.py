"""A judge that answers by a test's own functions, in place of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.judge import UNKNOWN, AiValue, Classified, ClassifyQuestion, Judged
from vardy_worker.json_schemas import schema_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.judge import AiQuestion, JudgeAnswer, JudgeBudget, JudgeQuestion


class ScriptedJudge:
    """Answers `classify` and `ai` by two functions of the test.

    Args:
        classify: gets a text and the `ClassifyQuestion` it is asked in (`labels`, which are
            `yes` and `no` for a `question`; `instructions`), and returns one of the labels, or `unknown`.
        ai: gets the `AiQuestion` (`instruction`, `data`, `type_` as a JSON Schema), and returns a
            value of that type.

    What they answer is held to what was asked, as a model's answer is. It costs nothing, so
    budgets are not tested by it.
    """

    def __init__(
        self,
        *,
        classify: Callable[[str, ClassifyQuestion], str] | None = None,
        ai: Callable[[AiQuestion], Any] | None = None,
    ) -> None:
        self._classify = classify
        self._ai = ai
        self.failure: Exception | None = None
        self.questions: list[JudgeQuestion] = []

    def ask(self, questions: Sequence[JudgeQuestion], *, job_id: str, budget: JudgeBudget, deadline: float) -> Judged:
        """See `Judge.ask`. What a function of the test raises ends the job, and is kept as `failure`."""
        del job_id, budget, deadline
        self.questions.extend(questions)
        try:
            return Judged(answers=tuple(self._answer(question) for question in questions))
        except Exception as error:
            self.failure = error
            msg = "a function of the test, in place of the judge's model, failed"
            # Of no kind that means something to a worker, such as that it must be replaced.
            raise RuntimeError(msg) from error

    def _answer(self, question: JudgeQuestion) -> JudgeAnswer:
        if isinstance(question, ClassifyQuestion):
            return Classified(labels=tuple(self._label(text, question) for text in question.texts))
        return AiValue(value=self._value(question))

    def _label(self, text: str, question: ClassifyQuestion) -> str:
        if self._classify is None:
            raise SettingsError("The program calls classify; give the ScriptedJudge a function for it.")
        label = self._classify(text, question)
        if label not in {*question.labels, UNKNOWN}:
            allowed = ", ".join([*question.labels, UNKNOWN])
            raise SettingsError(f"The scripted judge labelled a text {label!r}; the labels are: {allowed}.")
        return label

    def _value(self, question: AiQuestion) -> Any:
        if self._ai is None:
            raise SettingsError("The program calls ai; give the ScriptedJudge a function for it.")
        value = self._ai(question)
        error = next(iter(schema_validator(question.type_).iter_errors(value)), None)
        if error is not None:
            raise SettingsError(f"The scripted judge's value is not of the type that was asked for: {error.message}.")
        return value
