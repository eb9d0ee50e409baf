"""The judge: questions in, answers out, and nothing raised on the way."""

from __future__ import annotations

import secrets
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from vardy_worker.contracts.base import well_formed
from vardy_worker.contracts.errors import VardyError
from vardy_worker.contracts.judge import AiValue, Classified, ClassifyQuestion, Judged, JudgeFailure
from vardy_worker.judge.admission import Admission
from vardy_worker.judge.ai import Task
from vardy_worker.judge.calls import Waves
from vardy_worker.judge.classify import Topic
from vardy_worker.judge.spending import Ledger
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.judge import JudgeAnswer, JudgeBudget, JudgeQuestion
    from vardy_worker.ports import Clock, Model
    from vardy_worker.ports.judge import JudgeCache
    from vardy_worker.settings import Settings

log = get_logger(__name__)

Item: TypeAlias = "Task | tuple[Topic, tuple[str, ...]]"
"""A question as it is worked on. Questions that ask the same share one."""

ID_BYTES = 4


def new_text_id() -> str:
    """An id of eight hex digits that nobody can know before the call it is made for."""
    return secrets.token_hex(ID_BYTES)


class ModelJudge:
    """The `Judge` port: the model of `VARDY_JUDGE_MODEL`, which must be set, and answers that were kept.

    Thread-safe; one serves all jobs of a worker.
    """

    def __init__(
        self,
        *,
        model: Model,
        cache: JudgeCache,
        clock: Clock,
        settings: Settings,
        new_id: Callable[[], str] = new_text_id,
    ) -> None:
        """`new_id` makes ids of texts: eight hex digits."""
        self._model = model
        self._cache = cache
        self._clock = clock
        self._settings = settings
        self._new_id = new_id

    def ask(self, questions: Sequence[JudgeQuestion], *, job_id: str, budget: JudgeBudget, deadline: float) -> Judged:
        """See `Judge.ask`."""
        began = self._clock.monotonic()
        items = self._items(questions)
        ledger = Ledger(budget)
        memory = _Memory(self._cache, items, keep_seconds=self._settings.judge_cache_seconds)
        memory.recall()
        admission = Admission(ledger)
        refused = [admission.refusal(item) for item in items]
        waves = Waves(model=self._model, clock=self._clock, settings=self._settings, job_id=job_id, deadline=deadline)
        waves.run(admission.calls(), ledger, answered=memory.keep)
        answers = tuple(no or _answer(item) for no, item in zip(refused, items, strict=True))
        log.info(
            "judge.asked",
            job_id=job_id,
            questions=len(questions),
            distinct=memory.asked,
            cached=memory.recalled,
            unjudged=sum(answer.unjudged for answer in answers if isinstance(answer, Classified)),
            failed=sum(isinstance(answer, JudgeFailure) for answer in answers),
            ms=round((self._clock.monotonic() - began) * 1000),
            **ledger.usage.model_dump(),
        )
        return Judged(answers=answers, usage=ledger.usage)

    def _items(self, questions: Sequence[JudgeQuestion]) -> list[Item]:
        topics: dict[str, Topic] = {}
        tasks: dict[str, Task] = {}
        items: list[Item] = []
        for question in questions:
            if isinstance(question, ClassifyQuestion):
                topic = Topic(question, self._settings.judge_model, self._new_id)
                topic = topics.setdefault(topic.identity, topic)
                items.append((topic, tuple(well_formed(text) for text in question.texts)))
            else:
                task = Task(question, self._settings.judge_model)
                items.append(tasks.setdefault(task.key, task))
        return items


class _Memory:
    """What the cache has of the answers to some questions, and what it is given.

    A cache that cannot be reached is done without: the model is asked.
    """

    def __init__(self, cache: JudgeCache, items: Sequence[Item], *, keep_seconds: int) -> None:
        self._cache = cache
        self._keep_seconds = keep_seconds
        self._tasks = {item.key: item for item in items if isinstance(item, Task)}
        self._texts = {
            topic.key_of(text): (topic, text)
            for topic, texts in (item for item in items if not isinstance(item, Task))
            for text in dict.fromkeys(texts)
        }
        self._kept: set[str] = set()
        self._usable = keep_seconds > 0
        self.asked = len(self._tasks) + len(self._texts)
        self.recalled = 0

    def recall(self) -> None:
        """Takes what is kept and still fits."""
        if not self._usable or not self.asked:
            return
        try:
            found = self._cache.get_many([*self._tasks, *self._texts])
        except VardyError as error:
            self._away(error)
            return
        for key, value in found.items():
            if self._takes(key, value):
                self._kept.add(key)
        self.recalled = len(self._kept)

    def _takes(self, key: str, value: JsonValue) -> bool:
        if key in self._tasks:
            return self._tasks[key].recall(value)
        topic, text = self._texts[key]
        return topic.recall(text, value)

    def keep(self) -> None:
        """Gives the cache what became known since."""
        if not self._usable:
            return
        tasks = (
            (key, {"value": task.answer.value}) for key, task in self._tasks.items() if isinstance(task.answer, AiValue)
        )
        texts = ((key, topic.known[text]) for key, (topic, text) in self._texts.items() if text in topic.known)
        new: dict[str, JsonValue] = {key: value for key, value in chain(tasks, texts) if key not in self._kept}
        if not new:
            return
        try:
            self._cache.put_many(new, keep_seconds=self._keep_seconds)
        except VardyError as error:
            self._away(error)
        self._kept |= new.keys()

    def _away(self, error: VardyError) -> None:
        # Each further try could wait for the server as long as the first one did.
        self._usable = False
        log.warning("judge.cache_away", reason=error.message)


def _answer(item: Item) -> JudgeAnswer:
    if isinstance(item, Task):
        return item.answer
    topic, texts = item
    return topic.answer(texts)
