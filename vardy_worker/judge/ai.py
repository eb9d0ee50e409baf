"""`ai`: one task on data, with a value of a given type."""

from __future__ import annotations

import json
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, Literal

from referencing.exceptions import Unresolvable

from vardy_worker.contracts.base import canonical_json, sha256_json, sha256_text, well_formed
from vardy_worker.contracts.judge import AiValue, JudgeFailure
from vardy_worker.contracts.model import ModelFailed
from vardy_worker.json_schemas import schema_problem, schema_validator
from vardy_worker.judge.answers import clean, read_values
from vardy_worker.judge.estimate import tokens_of_messages
from vardy_worker.judge.spending import Price, unavailable
from vardy_worker.prompts.judge import ai_again_prompt, ai_prompt, visible_json
from vardy_worker.prompts.template import template

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.judge import AiQuestion
    from vardy_worker.contracts.model import Message, ModelReply

ANSWER_TOKENS_MAX: Final = 4_096
"""Of one answer, what the model thinks included."""

TRIES_MAX: Final = 3
"""How often a model is asked for one value."""

TYPES_KEPT: Final = 64
"""Types that are not looked at again: a program gives many tasks one type, and each look takes milliseconds."""

NO_JSON: Final = 'it holds no JSON object {"value": …}.'
CUT: Final = "it was too long, and was cut. Keep it short."


class Task:
    """One `ai` question: its value, once there is one, and until then why there is none."""

    def __init__(self, question: AiQuestion, model: str) -> None:
        self.instruction = well_formed(question.instruction)
        # Both come from a program, whose values have no more levels.
        self.data: JsonValue = clean(question.data)
        self.type_: JsonObject = clean(question.type_)
        self.answer: AiValue | JudgeFailure = _bad_answer("Nothing was asked.")
        topic = sha256_json(["ai", template("ai").version, model, self.instruction, self.type_])
        self.key = sha256_text(f"{topic}:{sha256_json(self.data)}")
        problem = _schema_problem(canonical_json(self.type_))
        self.usable = not problem
        if problem:
            self.answer = _bad_answer(problem)

    def recall(self, kept: JsonValue) -> bool:
        """Takes a value out of the cache, unless it does not fit the type."""
        if not isinstance(kept, dict) or "value" not in kept or self.problem(kept["value"]):
            return False
        self.answer = AiValue(value=kept["value"])
        return True

    def first_try(self) -> Try:
        """The call to begin with."""
        return Try(self, ai_prompt(instruction=self.instruction, data=self.data, type_=self.type_), number=1)

    def problem(self, value: JsonValue) -> str:
        """Why a value is not of the type, in a sentence without it; "" when it is."""
        try:
            error = next(iter(schema_validator(self.type_).iter_errors(value)), None)
        except (Unresolvable, RecursionError):
            return "it cannot be compared with the type."
        return "" if error is None else _sentence(error)


class Try:
    """One call for a task's value."""

    purpose: Literal["ai"] = "ai"
    answer_tokens_max = ANSWER_TOKENS_MAX

    def __init__(self, task: Task, messages: tuple[Message, ...], *, number: int) -> None:
        self._task = task
        self._number = number
        self.messages = messages

    @cached_property
    def price(self) -> Price:
        """See `ModelCall.price`."""
        return Price(1, tokens_of_messages(self.messages) + ANSWER_TOKENS_MAX)

    def take(self, answer: ModelReply | ModelFailed) -> list[Try]:
        """See `ModelCall.take`."""
        if isinstance(answer, ModelFailed):
            refused = answer.about == "content"
            self._task.answer = _refused(answer) if refused else unavailable(answer.error)
            return []
        problem = CUT if answer.finish_reason == "length" else NO_JSON
        for value in read_values(answer.text):
            wrong = self._task.problem(value)
            if not wrong:
                self._task.answer = AiValue(value=value)
                return []
            problem = problem if problem != NO_JSON else wrong
        self._task.answer = _bad_answer(f"After {self._number} of {TRIES_MAX} tries: {problem}", tries=self._number)
        if self._number == TRIES_MAX:
            return []
        messages = ai_again_prompt(self.messages, answer.text.strip() or "(no text)", problem)
        return [Try(self._task, messages, number=self._number + 1)]


def _sentence(error: ValidationError) -> str:
    place = "".join(f"/{part}" for part in error.absolute_path) if error.validator != "additionalProperties" else ""
    return f"{f'at {place}, ' if place else ''}it breaks {visible_json({str(error.validator): error.validator_value})}."


@lru_cache(maxsize=TYPES_KEPT)
def _schema_problem(written: bytes) -> str:
    return schema_problem(json.loads(written), "The type")


def _bad_answer(why: str, *, tries: int = 0) -> JudgeFailure:
    return JudgeFailure(
        code="execution.judge_bad_answer",
        message=f"The judge's model gave no value of the asked type. {why}",
        details={"tries": tries},
    )


def _refused(failed: ModelFailed) -> JudgeFailure:
    return JudgeFailure(
        code="execution.judge_bad_answer",
        message=f"The judge's model refused the data. {failed.error.message}",
        details={"tries": 1, **failed.error.details},
    )
