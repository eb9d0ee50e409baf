"""Answers what many coroutines ask by few calls in a thread."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

K = TypeVar("K")
V = TypeVar("V")


class Batches(Generic[K, V]):
    """Questions about keys, gathered while a call is under way and answered by the next.

    However many ask at once, one thread works; those that ask about the same key get the
    same answer, and no answer is older than its question. For one event loop.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[K]], Mapping[K, V | Exception]],
        *,
        size_max: int,
        then: Callable[[K, V | Exception], None] | None = None,
    ) -> None:
        """`answer` runs in a thread; an exception among its answers is raised to those who asked about that key.

        One that it raises is raised to all of the batch. `then` hears every answer, in the loop.
        """
        self._answer = answer
        self._size_max = size_max
        self._then = then
        self._asked: dict[K, asyncio.Future[V]] = {}
        self._working: asyncio.Task[None] | None = None
        # Not one of the threads of requests, which may all wait for a slow server.
        self._thread = CapacityLimiter(1)

    async def ask(self, key: K) -> V:
        """The answer to a question that is asked now."""
        # Others wait for the same future, so whoever is cancelled must not take it along.
        return await asyncio.shield(self.put(key))

    def put(self, key: K) -> asyncio.Future[V]:
        """Asks without waiting."""
        future = self._asked.get(key)
        if future is None:
            future = self._asked[key] = asyncio.get_running_loop().create_future()
            if self._working is None:
                self._working = asyncio.create_task(self._work())
        return future

    async def _work(self) -> None:
        try:
            while self._asked:
                batch = {key: self._asked.pop(key) for key in list(islice(self._asked, self._size_max))}
                try:
                    answers = await run_sync(self._answer, list(batch), limiter=self._thread)
                except Exception as error:  # noqa: BLE001 - it is raised to whoever asked
                    answers = dict.fromkeys(batch, error)
                for key, future in batch.items():
                    self._settle(key, future, answers[key])
        finally:
            self._working = None

    def _settle(self, key: K, future: asyncio.Future[V], answer: V | Exception) -> None:
        if self._then is not None:
            self._then(key, answer)
        if isinstance(answer, Exception):
            future.set_exception(answer)
            # Known here, so that it is no surprise where nobody waits any more.
            future.exception()
        else:
            future.set_result(answer)
