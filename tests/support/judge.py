"""A model in memory that judges by script, and what a judge of tests is made of."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from vardy_worker.contracts.judge import AiQuestion, ClassifyQuestion, JudgeBudget
from vardy_worker.contracts.model import ModelFailed, ModelReply, TokenUsage
from vardy_worker.judge import ModelJudge
from vardy_worker.judge.judge import new_text_id
from vardy_worker.store.memory_judge_cache import MemoryJudgeCache
from vardy_worker.testing.clock import MovableClock
from vardy_worker.testing.one_by_one import OneByOne
from vardy_worker.testing.parts import make_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from vardy_worker.contracts.judge import Judged, JudgeQuestion
    from vardy_worker.contracts.model import ModelRequest
    from vardy_worker.ports.judge import JudgeCache

Answer: TypeAlias = "str | ModelReply | ModelFailed"
PLENTY = JudgeBudget(calls=1_000, tokens=100_000_000)


@dataclass(frozen=True)
class Asked:
    """One request as a model sees it: what is asked, and the texts by their ids."""

    request: ModelRequest
    texts: dict[str, str]

    @property
    def system(self) -> str:
        return self.request.messages[0].content

    @property
    def user(self) -> str:
        return self.request.messages[-1].content


def asked(request: ModelRequest) -> Asked:
    lines = request.messages[-1].content.partition("<texts>\n")[2].partition("\n</texts>")[0].splitlines()
    texts = [json.loads(line) for line in lines]
    return Asked(request, {text["id"]: text["text"] for text in texts})


class JudgingModel(OneByOne):
    """Answers each request as `script` says; keeps what it was asked, in waves."""

    def __init__(self, script: Callable[[Asked], Answer]) -> None:
        self._script = script
        self.waves: list[list[Asked]] = []

    @property
    def asked(self) -> list[Asked]:
        return [one for wave in self.waves for one in wave]

    def complete(self, request: ModelRequest) -> ModelReply:
        raise AssertionError(f"the judge asks many at once, also for {request.purpose}")

    def complete_many(self, requests: Sequence[ModelRequest], *, seconds: float) -> list[ModelReply | ModelFailed]:
        assert seconds > 0
        self.waves.append([asked(request) for request in requests])
        return [self._reply(one) for one in self.waves[-1]]

    def _reply(self, one: Asked) -> ModelReply | ModelFailed:
        answer = self._script(one)
        if isinstance(answer, str):
            usage = TokenUsage(prompt_tokens=100, completion_tokens=10, cost_usd=0.5)
            return ModelReply(text=answer, model="fake/judge", usage=usage)
        return answer


def sorts(label_of: Callable[[str], str]) -> Callable[[Asked], str]:
    """A script that labels each text by itself, as a model that does its work."""
    return lambda one: json.dumps({text_id: label_of(text) for text_id, text in one.texts.items()})


def counted_ids() -> Callable[[], str]:
    """Ids that come one after the other, for tests that compare whole requests."""
    numbers = itertools.count(1)
    return lambda: f"{next(numbers):08x}"


def make_judge(
    script: Callable[[Asked], Answer] | JudgingModel,
    *,
    cache: JudgeCache | None = None,
    new_id: Callable[[], str] = new_text_id,
    **settings: Any,
) -> ModelJudge:
    clock = MovableClock()
    return ModelJudge(
        model=script if isinstance(script, JudgingModel) else JudgingModel(script),
        cache=cache or MemoryJudgeCache(clock),
        clock=clock,
        settings=make_settings({"judge_model": "fake/judge", **settings}, {}),
        new_id=new_id,
    )


def ask(judge: ModelJudge, *questions: JudgeQuestion, budget: JudgeBudget = PLENTY, seconds: float = 60) -> Judged:
    return judge.ask(questions, job_id="job_1", budget=budget, deadline=time.monotonic() + seconds)


def classify(texts: Iterable[str], labels: Iterable[str] = ("spam", "ham"), **given: Any) -> ClassifyQuestion:
    return ClassifyQuestion(texts=tuple(texts), labels=tuple(labels), **given)


def is_true_of(question: str, texts: Iterable[str]) -> ClassifyQuestion:
    return classify(texts, ("yes", "no"), question=question)


def ai(instruction: str, data: Any, type_: dict[str, Any]) -> AiQuestion:
    return AiQuestion(instruction=instruction, data=data, type=type_)
