"""The one event loop of a worker process, on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    AsyncWork = Callable[[], Coroutine[Any, Any, bool]]
    """Runs one call; False when its caller had given it up meanwhile."""


class LoopThread:
    """Runs coroutines for callers in other threads. One loop for all, so that they can share pools.

    Work that is given up is cancelled, and counts as stuck until it has really ended.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()
        self._stuck = 0
        self._loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread | None = None

    @property
    def stuck(self) -> int:
        """Coroutines that nobody waits for and that have not ended."""
        with self._lock:
            return self._stuck

    def start(self) -> None:
        """Starts the thread. Nothing may be submitted before."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="vardy-functions-loop", daemon=True)
        self._thread.start()

    def submit(self, work: AsyncWork, context: Context) -> Callable[[], None]:
        """Runs the work soon; the answer gives it up once it has begun."""
        started: list[asyncio.Task[None]] = []

        async def run() -> None:
            in_time = await work()
            with self._lock:
                self._stuck -= not in_time

        def start() -> None:
            task = self._loop.create_task(run(), context=context)
            started.append(task)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        def cancel() -> None:
            started[0].cancel()

        def give_up() -> None:
            with self._lock:
                self._stuck += 1
            with contextlib.suppress(RuntimeError):  # a closed loop has cancelled everything
                self._loop.call_soon_threadsafe(cancel)

        self._loop.call_soon_threadsafe(start)
        return give_up

    def close(self, seconds: float) -> None:
        """Cancels what still runs and ends the thread; waits for it at most so long."""
        if self._thread is not None and self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
            self._thread.join(seconds)

    async def _finish(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        self._loop.call_soon(self._loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
