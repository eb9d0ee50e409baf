"""Listening to a change feed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_worker.contracts.status import Status
    from vardy_worker.ports import ChangeFeed


class Listener:
    """What a feed tells, kept until somebody asks for it. Made in an event loop."""

    def __init__(self, feed: ChangeFeed) -> None:
        self.told: list[str | None] = []
        self.statuses: list[Status | None] = []
        self._more = asyncio.Event()
        feed.follow(self._hear)

    def _hear(self, job_id: str | None, status: Status | None) -> None:
        self.told.append(job_id)
        self.statuses.append(status)
        self._more.set()

    async def hears(self, job_id: str | None, *, seconds: float = 10) -> bool:
        """Whether this is told before the time is over; what came before it is forgotten. None: look at everything."""
        try:
            async with asyncio.timeout(seconds):
                while job_id not in self.told:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            return False
        del self.told[: self.told.index(job_id) + 1]
        return True
