"""Which questions the budget covers, decided before any call is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.judge import AiValue
from vardy_worker.judge.ai import Task
from vardy_worker.judge.classify import TEXTS_PER_CALL_MAX
from vardy_worker.judge.spending import Price

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vardy_worker.contracts.judge import JudgeFailure
    from vardy_worker.judge.calls import ModelCall
    from vardy_worker.judge.classify import Topic
    from vardy_worker.judge.spending import Ledger


class Admission:
    """Takes questions in order, each whole or not at all, and puts together what they ask alike."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._texts: dict[str, list[str]] = {}
        self._planned: dict[str, Sequence[ModelCall]] = {}

    def refusal(self, item: Task | tuple[Topic, tuple[str, ...]]) -> JudgeFailure | None:
        """Reserves what a question takes beyond those before it; or why it cannot be paid."""
        if isinstance(item, Task):
            if isinstance(item.answer, AiValue) or not item.usable or item.key in self._planned:
                return None
            return self._plan(item.key, [item.first_try()])
        topic, texts = item
        planned = self._texts.get(topic.identity, [])
        union = list(dict.fromkeys([*planned, *topic.missing(texts)]))
        if len(union) == len(planned):
            return None
        # Told before they are put together: there may be very many of them.
        least = Price(-(-len(union) // TEXTS_PER_CALL_MAX)).minus(self._reserved(topic.identity))
        refusal = self._ledger.lacking(least) or self._plan(topic.identity, topic.batches(union))
        if refusal is None:
            self._texts[topic.identity] = union
        return refusal

    def calls(self) -> list[ModelCall]:
        """The calls of all questions that were taken; they are paid for."""
        return [call for calls in self._planned.values() for call in calls]

    def _plan(self, key: str, calls: Sequence[ModelCall]) -> JudgeFailure | None:
        price = _sum(calls).minus(self._reserved(key))
        refusal = self._ledger.lacking(price)
        if refusal is None:
            self._ledger.reserve(price)
            self._planned[key] = calls
        return refusal

    def _reserved(self, key: str) -> Price:
        return _sum(self._planned.get(key, ()))


def _sum(calls: Iterable[ModelCall]) -> Price:
    total = Price()
    for call in calls:
        total = total.plus(call.price)
    return total
