"""Calls of the judge's model, in waves: what an answer leaves open is asked again in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol

from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.model import ModelFailed, ModelRequest
from vardy_worker.judge.spending import Price

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.model import Message, ModelReply
    from vardy_worker.judge.spending import Ledger
    from vardy_worker.ports import Clock, Model
    from vardy_worker.settings import Settings

LATE: Final = ModelFailed(
    error=ErrorInfo(code="generation.model_unavailable", message="The program's time was over before it was asked."),
    about="time",
)
"""What becomes of a call that nobody had the time to make."""


class ModelCall(Protocol):
    """One call to make, and what becomes of its answer."""

    @property
    def purpose(self) -> Literal["classify", "ai"]:
        """What it is for."""

    @property
    def messages(self) -> Sequence[Message]:
        """What is sent."""

    @property
    def answer_tokens_max(self) -> int:
        """A longer answer is cut."""

    @property
    def price(self) -> Price:
        """What it may take."""

    def take(self, answer: ModelReply | ModelFailed) -> Sequence[ModelCall]:
        """Takes the answer; the calls that are to be made for what it leaves open."""


class Waves:
    """Makes calls until nothing is left open, nothing more can be paid, or the time is over."""

    def __init__(self, *, model: Model, clock: Clock, settings: Settings, job_id: str, deadline: float) -> None:
        self._model = model
        self._clock = clock
        self._settings = settings
        self._job_id = job_id
        self._deadline = deadline

    def run(self, calls: Sequence[ModelCall], ledger: Ledger, *, answered: Callable[[], None]) -> None:
        """`calls` are paid for already; later ones come out of what is left, largest first.

        `answered` is told of each wave.
        """
        while calls:
            seconds = self._deadline - self._clock.monotonic()
            if seconds <= 0:
                for call in calls:
                    call.take(LATE)
                return
            answers = self._model.complete_many([self._request(call, seconds) for call in calls], seconds=seconds)
            further: list[ModelCall] = []
            for call, answer in zip(calls, answers, strict=True):
                ledger.settle(call.price.tokens, answer)
                further += call.take(answer)
            answered()
            further.sort(key=lambda call: -call.price.tokens)
            calls = [call for call in further if ledger.reserve(call.price)]

    def _request(self, call: ModelCall, seconds: float) -> ModelRequest:
        return ModelRequest(
            messages=tuple(call.messages),
            model=self._settings.judge_model,
            timeout_seconds=min(self._settings.model_timeout_seconds, seconds),
            retries=self._settings.model_retries,
            answer_tokens_max=call.answer_tokens_max,
            purpose=call.purpose,
            job_id=self._job_id,
        )
