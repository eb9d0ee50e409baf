"""Language models through litellm: the only module that touches the library.

    complete ─▶ loop thread: for each model in order ─▶ try ─▶ pause ─▶ try … ─▶ ModelReply
                                                         └ Failure (a value, free of content)

litellm is imported with the first call, because that costs seconds and some 200 MB.
Errors of the library are not chained: their texts and tracebacks carry the provider's
answer, and with it parts of the request.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
import os
import random
import threading
import time
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from vardy_worker.adapters.model_failures import Failure, classify
from vardy_worker.contracts.errors import ModelRejected, ModelUnavailable
from vardy_worker.contracts.model import ModelFailed, ModelReply, ModelRequest, TokenUsage
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

log = get_logger(__name__)

ENVIRONMENT = {
    # Without these, importing litellm fetches lists from the network.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    # In its development mode, litellm reads a `.env` file from the working directory.
    "LITELLM_MODE": "PRODUCTION",
}
"""What litellm reads while it is imported. Values set by the operator win."""

CONTENT_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "anthropic")
"""Loggers that write requests and answers at some level; they are switched off at every level."""

AT_ONCE_MAX = 8
"""Requests of one `complete_many` that are under way at the same time."""

STALLED_SECONDS = 1.0
"""How long after its time `complete_many` waits for a loop that a provider's module keeps busy."""

Answer: TypeAlias = "ModelReply | list[Failure]"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses between tries of one model, in seconds: doubling, with full jitter.

    A provider's `Retry-After` replaces the pause. Where it asks for more than
    `retry_after_max`, the model counts as unavailable at once and the next one is tried.
    """

    first: float = 0.5
    largest: float = 20
    retry_after_max: float = 60

    def pause(self, tries: int, rng: random.Random) -> float:
        """The pause after the given number of failed tries (from 1)."""
        ceiling: float = min(self.largest, self.first * 2 ** (tries - 1))
        return ceiling * (0.5 + rng.random() / 2)


class LitellmModel:
    """Any provider of litellm, by `provider/model`; its keys come from litellm's usual variables.

    One instance serves all threads of a process: every call runs on one event loop, which
    lives in a thread of its own until `close()`, because litellm keeps its connections for
    the loop they were made on.
    """

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._backoff = backoff or Backoff()
        self._pause = pause
        self._rng = rng or random.Random()  # noqa: S311 - jitter, not a secret
        self._lock = threading.Lock()
        self._litellm: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def complete(self, request: ModelRequest) -> ModelReply:
        """Asks the model, then each fallback, until one answers.

        Each try ends after `request.timeout_seconds`; a model gets `request.retries` more
        tries after rate limits, timeouts, server and connection errors. Only a model that
        cannot be reached has its fallbacks tried: a rejection is shown, not papered over.

        Raises `ModelUnavailable` when none answered, and `ModelRejected` for a wrong key, an
        unknown model, or a request the provider refuses. Neither carries text of the request
        or the answer; `details["models"]` has what happened with each model.
        """
        future = self._submit(self._ask_all, request)
        answer: Answer
        try:
            answer = future.result()
        except CancelledError:
            answer = [Failure.closing(request.model)]
        if isinstance(answer, ModelReply):
            return answer
        raise _error(answer)

    def prepare(self) -> None:
        """See `Model.prepare`."""
        with self._lock:
            self._load()

    def complete_many(self, requests: Sequence[ModelRequest], *, seconds: float) -> list[ModelReply | ModelFailed]:
        """See `Model.complete_many`. At most `AT_ONCE_MAX` are under way together."""
        until = time.monotonic() + seconds
        try:
            future = self._submit(self._ask_many, requests, until)
        except ModelUnavailable as error:
            return [ModelFailed(error=error.info(), about="model") for _ in requests]
        answers: Sequence[Answer]
        try:
            answers = future.result(max(0.0, until - time.monotonic()) + STALLED_SECONDS)
        except CancelledError:
            answers = [[Failure.closing(request.model)] for request in requests]
        except TimeoutError:
            future.cancel()
            answers = [[Failure.late(request.model)] for request in requests]
        return [answer if isinstance(answer, ModelReply) else _failed(answer) for answer in answers]

    def close(self) -> None:
        """Ends calls under way (`ModelUnavailable`), connections and the loop's thread. Idempotent."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._shut(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _shut(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._litellm.close_litellm_async_clients()
        self._litellm.in_memory_llm_clients_cache.flush_cache()

    def _load(self) -> None:
        if self._litellm is None:
            self._litellm = _import_litellm()

    def _submit(self, act: Callable[..., Coroutine[Any, Any, _T]], *given: Any) -> Future[_T]:
        # Under the lock, so that `close()` finds every call that was let in.
        with self._lock:
            if self._closed:
                raise ModelUnavailable("The model adapter is closed: this worker is stopping.")
            self._load()
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="vardy-model", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(act(*given), self._loop)

    async def _ask_many(self, requests: Sequence[ModelRequest], until: float) -> list[Answer]:
        seconds = until - time.monotonic()
        if seconds <= 0 or not requests:
            return [[Failure.late(request.model)] for request in requests]
        room = asyncio.Semaphore(AT_ONCE_MAX)

        async def ask(request: ModelRequest) -> Answer:
            async with room:
                return await self._ask_all(request, until)

        tasks = [asyncio.ensure_future(ask(request)) for request in requests]
        try:
            await asyncio.wait(tasks, timeout=seconds)
        finally:
            # Told to end, and not waited for: the time is over.
            for task in tasks:
                task.cancel()
        return [
            task.result() if task.done() and not task.cancelled() else [Failure.late(request.model)]
            for task, request in zip(tasks, requests, strict=True)
        ]

    async def _ask_all(self, request: ModelRequest, until: float = math.inf) -> Answer:
        failures: list[Failure] = []
        for model in (request.model, *request.fallbacks):
            answer = await self._ask(model, request, until)
            if isinstance(answer, ModelReply):
                return answer
            failures.append(answer)
            if not answer.transient and len(failures) == 1:
                break
        return failures

    async def _ask(self, model: str, request: ModelRequest, until: float) -> ModelReply | Failure:
        started = time.monotonic()
        tries = 0
        while True:
            tries += 1
            answer = await self._try(model, request)
            if isinstance(answer, ModelReply):
                _log_answer(request, answer, tries, started)
                return answer
            failure = answer.after(tries)
            log.warning("model.try_failed", job_id=request.job_id, purpose=request.purpose, **failure.details())
            if not failure.transient or tries > request.retries:
                return failure
            pause = failure.retry_after_seconds
            if pause is None:
                pause = self._backoff.pause(tries, self._rng)
            elif pause > self._backoff.retry_after_max:
                return failure
            if time.monotonic() + pause >= until:
                # Nobody would wait for the next try; told now, the failure leaves time to go on without.
                return failure
            await self._pause(pause)

    async def _try(self, model: str, request: ModelRequest) -> ModelReply | Failure:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        limit: dict[str, Any] = {}
        if request.answer_tokens_max is not None:
            # Dropped where a provider has no such parameter.
            limit = {"max_tokens": request.answer_tokens_max, "drop_params": True}
        try:
            # litellm's own timeout is one of silence; this one is of the whole try.
            async with asyncio.timeout(request.timeout_seconds):
                response = await self._litellm.acompletion(
                    model=model,
                    messages=messages,
                    timeout=request.timeout_seconds,
                    num_retries=0,
                    max_retries=0,
                    **limit,
                )
        except TimeoutError:
            return Failure.timeout(model, request.timeout_seconds)
        except Exception as error:  # noqa: BLE001 - providers' modules raise whatever their libraries do
            return classify(error, model, self._litellm, request.timeout_seconds)
        return self._reply(model, response)

    def _reply(self, model: str, response: Any) -> ModelReply | Failure:
        try:
            choice = response.choices[0]
            text = choice.message.content or ""
            finish_reason = choice.finish_reason or "stop"
        except (AttributeError, IndexError, TypeError):
            return Failure.malformed(model)
        return ModelReply(text=text, finish_reason=finish_reason, model=model, usage=self._usage(model, response))

    def _usage(self, model: str, response: Any) -> TokenUsage:
        usage = getattr(response, "usage", None)
        return TokenUsage(
            prompt_tokens=getattr(usage, "prompt_tokens", 0) or 0,
            completion_tokens=getattr(usage, "completion_tokens", 0) or 0,
            cost_usd=self._cost(model, response),
        )

    def _cost(self, model: str, response: Any) -> float:
        try:
            cost = float(self._litellm.completion_cost(completion_response=response, model=model))
        except Exception:  # noqa: BLE001 - a model without a price raises one of several plain exceptions
            return 0.0
        return cost if math.isfinite(cost) else 0.0


def _import_litellm() -> Any:
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    for name in CONTENT_LOGGERS:
        logging.getLogger(name).disabled = True
    return litellm


def _log_answer(request: ModelRequest, reply: ModelReply, tries: int, started: float) -> None:
    log.info(
        "model.answered",
        job_id=request.job_id,
        purpose=request.purpose,
        model=reply.model,
        finish_reason=reply.finish_reason,
        tries=tries,
        ms=round((time.monotonic() - started) * 1000),
        prompt_tokens=reply.usage.prompt_tokens,
        completion_tokens=reply.usage.completion_tokens,
        cost_usd=reply.usage.cost_usd,
    )


def _failed(failures: list[Failure]) -> ModelFailed:
    return ModelFailed(error=_error(failures).info(), about=failures[0].about)


def _error(failures: list[Failure]) -> ModelUnavailable | ModelRejected:
    details = {"models": [failure.details() for failure in failures]}
    said = " ".join(failure.sentence() for failure in failures)
    if failures[0].transient:
        return ModelUnavailable(f"No model could be reached. {said}", details=details)
    return ModelRejected(said, details=details)
