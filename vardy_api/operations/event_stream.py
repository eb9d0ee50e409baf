"""What is told of one job, followed at the pace of its reader."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.errors import RequestError, TransientError
from vardy_worker.contracts.status import is_settled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from vardy_api.operations.caller import Caller
    from vardy_api.operations.shared_reads import SharedReads
    from vardy_api.operations.watching import JobWatch, Watched
    from vardy_worker.contracts.events import Event
    from vardy_worker.ports import Seen

    Tell = Callable[[Sequence[Event]], Awaitable[None]]

KEEP_ALIVE_SECONDS: Final = 15.0
"""The longest silence of a stream, and the longest that it outlives its caller's key."""
OUTAGE_PAUSE_SECONDS: Final = 0.5
"""Between two looks at a store that cannot be reached."""


class EventStream:
    """The events of one job after a place, oldest first, each once.

    Nothing is remembered of them but the place that was reached; the next are read when
    the reader has taken those before.
    """

    def __init__(
        self,
        watch: JobWatch,
        reads: SharedReads,
        caller: Caller,
        job_id: str,
        *,
        place: int,
        follow: bool,
        among: set[EventStream],
    ) -> None:
        """`among`: the streams that are open, of which this is one while it runs."""
        self._watch = watch
        self._reads = reads
        self._caller = caller
        self._job_id = job_id
        self._place = place
        self._follow = follow
        self._among = among
        self._told_at = 0.0

    async def run(self, tell: Tell) -> None:
        """Calls `tell` with some events, or with none as a sign of life, until there is no more to tell.

        It also ends when the caller's key does, when the API stops, and when the job is
        gone. While the store cannot be reached it waits.
        """
        self._told_at = asyncio.get_running_loop().time()
        self._among.add(self)
        try:
            await self._run(tell)
        finally:
            self._among.discard(self)

    async def _run(self, tell: Tell) -> None:
        with self._watch.on(self._job_id) as watched:
            look = True
            while not self._watch.stopped.is_set():
                try:
                    if look:
                        await self._watch.look(self._job_id)
                    if self.has_ended(watched.seen) or not await self._go_on(watched, tell):
                        return
                    look = False
                except TransientError:
                    look = True
                    await self._sit_out(tell)

    def has_ended(self, seen: Seen | None) -> bool:
        """Whether all was told that there is, and will be, to tell."""
        if seen is None:
            return True
        return seen.events == self._place and (seen.is_over if self._follow else is_settled(seen.status))

    async def _go_on(self, watched: Watched, tell: Tell) -> bool:
        """Tells what is new, or waits for something new; False when the caller may hear no more."""
        known = watched.seen.events if watched.seen is not None else 0
        if known > self._place:
            return await self._tell_more(tell)
        if known < self._place:
            # That look is older than what was read since; or the store lost what was told, and whoever
            # comes again hears that there is no such event.
            seen = await self._watch.look(self._job_id)
            return seen is not None and seen.events >= self._place
        left = self._told_at + KEEP_ALIVE_SECONDS - asyncio.get_running_loop().time()
        if left > 0:
            await watched.until(self._is_new, left)
            return True
        return await self._may_hear() and await self._tell(tell, ())

    async def _tell_more(self, tell: Tell) -> bool:
        if not await self._may_hear():
            return False
        events = await self._reads.events(self._job_id, self._place)
        if not events:
            # The job has gone since it was looked at.
            await self._watch.look(self._job_id)
            return True
        self._place = int(events[-1].id)
        return await self._tell(tell, events)

    def _is_new(self, seen: Seen | None) -> bool:
        return seen is None or seen.events != self._place or self.has_ended(seen)

    async def _may_hear(self) -> bool:
        try:
            self._caller = await self._reads.recheck(self._caller)
        except RequestError:
            return False
        return True

    async def _tell(self, tell: Tell, events: Sequence[Event]) -> bool:
        await tell(events)
        self._told_at = asyncio.get_running_loop().time()
        return True

    async def _sit_out(self, tell: Tell) -> None:
        """A pause; a sign of life, which tells nothing, needs no store."""
        if asyncio.get_running_loop().time() >= self._told_at + KEEP_ALIVE_SECONDS:
            await self._tell(tell, ())
        with suppress(TimeoutError):
            async with asyncio.timeout(OUTAGE_PAUSE_SECONDS):
                await self._watch.stopped.wait()
