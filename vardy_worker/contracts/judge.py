"""Questions to the judge: the model behind `classify` and `ai` inside programs."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject, JsonValue
from vardy_worker.contracts.job import JudgeUsage
from vardy_worker.contracts.quota import QuotaExceeded

JUDGE_FUNCTIONS: Final = ("classify", "ai")
"""What programs call the judge by. They take their arguments by position, as the sandbox names them:
`classify(texts, labels, options)` and `ai(instruction, data, options)`."""

UNKNOWN: Final = "unknown"
"""The label of a text that none of the labels fits, or that could not be judged."""


class ClassifyQuestion(Contract):
    """One label for each text. `question` is set for a yes/no question, whose labels are `yes` and `no`."""

    kind: Literal["classify"] = "classify"
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    question: str = ""
    instructions: str = ""


class AiQuestion(Contract):
    """A summary, an extracted field or a decision about `data`, as a value of the JSON Schema `type_`."""

    kind: Literal["ai"] = "ai"
    instruction: str
    data: JsonValue
    type_: JsonObject = Field(alias="type", serialization_alias="type")

    model_config = Contract.model_config | {"populate_by_name": True}


JudgeQuestion: TypeAlias = ClassifyQuestion | AiQuestion


class Classified(Contract):
    """Labels in the order of the texts. `unjudged` of them are `unknown` because no answer could be used."""

    labels: tuple[str, ...]
    unjudged: int = 0


class AiValue(Contract):
    """The value, which fits the asked type."""

    value: JsonValue


class JudgeFailure(Contract):
    """There is no answer. `code` is an `execution.judge_*` code; no text of the question is in `message`."""

    code: str
    message: str
    details: JsonObject = Field(default_factory=dict)


JudgeAnswer: TypeAlias = Classified | AiValue | JudgeFailure


class JudgeBudget(Contract):
    """What a job's judge may still spend: nothing, where a day's ceiling is `exceeded`."""

    calls: int
    tokens: int
    exceeded: QuotaExceeded | None = None


class Judged(Contract):
    """The answers in the order of the questions, and what they took."""

    answers: tuple[JudgeAnswer, ...]
    usage: JudgeUsage = Field(default_factory=JudgeUsage)
