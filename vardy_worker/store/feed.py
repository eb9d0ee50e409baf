"""Wakes coroutines when jobs change: one subscription for the whole process, however many wait."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from vardy_worker.logs import get_logger
from vardy_worker.store.connection import connect_async
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

    from vardy_worker.store.memory_jobs import MemoryJobStore

SILENCE_SECONDS: Final = 5.0
"""A subscription that is silent this long is asked for a sign of life, and dropped without one."""

CONNECT_SECONDS: Final = 3.0
RETRY_FIRST_SECONDS: Final = 0.1
RETRY_MAX_SECONDS: Final = 2.0

log = get_logger(__name__)


class Waiters:
    """Who waits for which job. For one event loop; `wake` and `wake_all` run in it."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    async def wait(self, job_id: str, timeout_seconds: float) -> bool:
        """True when woken, False after the time. Waiting begins before the first suspension."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(job_id, set()).add(future)
        try:
            await asyncio.wait_for(future, timeout_seconds)
        except TimeoutError:
            return False
        else:
            return True
        finally:
            if waiting := self._waiting.get(job_id):
                waiting.discard(future)
                if not waiting:
                    del self._waiting[job_id]

    def wake(self, job_id: str) -> None:
        """Wakes everybody who waits for the job."""
        for future in self._waiting.pop(job_id, ()):
            if not future.done():
                future.set_result(None)

    def wake_all(self) -> None:
        """Wakes everybody."""
        for job_id in list(self._waiting):
            self.wake(job_id)


class RedisChangeFeed:
    """The `ChangeFeed` port over one pub/sub connection. Belongs to the loop of the first `wait`.

    Whenever the subscription begins, at first or after a lost connection, everybody is
    woken to look again, because changes may have been missed before. While Redis cannot
    be reached, waits end by their time.
    """

    def __init__(self, url: str, namespace: str) -> None:
        self._client = connect_async(url)
        self._channel = Keys(namespace).changed
        self._waiters = Waiters()
        self._reader: asyncio.Task[None] | None = None

    async def wait(self, job_id: str, timeout_seconds: float) -> bool:
        """See `ChangeFeed.wait`. A change after the call's first step is never missed."""
        if self._reader is None:
            self._reader = asyncio.create_task(self._read(), name="vardy-change-feed")
        return await self._waiters.wait(job_id, timeout_seconds)

    async def aclose(self) -> None:
        """Ends the subscription and wakes everybody."""
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
        self._waiters.wake_all()
        await self._client.aclose()

    async def _read(self) -> None:
        pause = RETRY_FIRST_SECONDS
        while True:
            try:
                async with self._client.pubsub() as subscription:
                    async with asyncio.timeout(CONNECT_SECONDS):
                        await subscription.subscribe(self._channel)
                    pause = RETRY_FIRST_SECONDS
                    await self._follow(subscription)
            except (RedisError, OSError, TimeoutError) as error:
                log.warning("change_feed.lost", error=type(error).__name__, retry_seconds=pause)
                self._waiters.wake_all()
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_MAX_SECONDS)

    async def _follow(self, subscription: PubSub) -> None:
        """Delivers messages until the connection is lost. Raises `TimeoutError` when it is dead."""
        asked = False
        while True:
            message = await subscription.get_message(ignore_subscribe_messages=False, timeout=SILENCE_SECONDS)
            if message is None:
                if asked:
                    raise TimeoutError
                await subscription.ping()
                asked = True
                continue
            asked = False
            if message["type"] == "message":
                self._waiters.wake(message["data"].decode())
            elif message["type"] == "subscribe":
                self._waiters.wake_all()


class MemoryChangeFeed:
    """The `ChangeFeed` port over a `MemoryJobStore`, whose changes may come from any thread."""

    def __init__(self, store: MemoryJobStore) -> None:
        self._waiters = Waiters()
        self._loop: asyncio.AbstractEventLoop | None = None
        store.on_change(self._changed)

    async def wait(self, job_id: str, timeout_seconds: float) -> bool:
        """See `ChangeFeed.wait`."""
        self._loop = asyncio.get_running_loop()
        return await self._waiters.wait(job_id, timeout_seconds)

    async def aclose(self) -> None:
        """Wakes everybody."""
        self._waiters.wake_all()

    def _changed(self, job_id: str) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._waiters.wake, job_id)
