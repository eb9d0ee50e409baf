"""Hears which jobs change: one subscription for the whole process, however many wait."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from vardy_worker.contracts.status import Status
from vardy_worker.logs import get_logger
from vardy_worker.store.connection import connect_async
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

    from vardy_worker.ports.feed import Told
    from vardy_worker.store.memory_jobs import MemoryJobStore

SILENCE_SECONDS: Final = 5.0
"""A subscription that is silent this long is asked for a sign of life, and dropped without one."""

CONNECT_SECONDS: Final = 3.0
RETRY_FIRST_SECONDS: Final = 0.1
RETRY_MAX_SECONDS: Final = 2.0

log = get_logger(__name__)


class RedisChangeFeed:
    """The `ChangeFeed` port over one pub/sub connection, from the first `follow` on.

    Whenever the subscription begins, at first or after a lost connection, and when it is
    lost, the follower is told to look at everything.
    """

    def __init__(self, url: str, namespace: str) -> None:
        self._client = connect_async(url)
        self._channel = Keys(namespace).changed
        self._told: Told = _nobody
        self._reader: asyncio.Task[None] | None = None

    def follow(self, told: Told) -> None:
        """See `ChangeFeed.follow`."""
        self._told = told
        if self._reader is None:
            self._reader = asyncio.create_task(self._read(), name="vardy-change-feed")

    async def aclose(self) -> None:
        """See `ChangeFeed.aclose`."""
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
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
                self._told(None, None)
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
                self._told(*_read(message["data"]))
            elif message["type"] == "subscribe":
                self._told(None, None)


class MemoryChangeFeed:
    """The `ChangeFeed` port over a `MemoryJobStore`, whose changes may come from any thread."""

    def __init__(self, store: MemoryJobStore) -> None:
        self._told: Told = _nobody
        self._loop: asyncio.AbstractEventLoop | None = None
        store.on_change(self._changed)

    def follow(self, told: Told) -> None:
        """See `ChangeFeed.follow`."""
        self._told, self._loop = told, asyncio.get_running_loop()

    async def aclose(self) -> None:
        """See `ChangeFeed.aclose`."""
        self._loop = None

    def _changed(self, job_id: str, status: Status | None) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._told, job_id, status)


def _nobody(_: str | None, __: Status | None) -> None:
    return


def _read(message: bytes) -> tuple[str, Status | None]:
    """Id and status of a message; of a status that a newer Vardy may have, nothing is known.

    What nobody of Vardy's published is the id of no job.
    """
    job_id, _, status = message.decode(errors="replace").partition(" ")
    return job_id, Status.__members__.get(status)
