"""Watches the jobs that requests are held back for, all of them together."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from vardy_api.operations.batches import Batches
from vardy_worker.contracts.status import is_settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from vardy_worker.contracts.status import Status
    from vardy_worker.ports import ChangeFeed, JobStore, Seen

LOOK_SECONDS: Final = 5.0
"""Every watched job is looked at this often: the feed is only a hint."""
LOOK_JOBS_MAX: Final = 500
"""Jobs looked at in one round trip."""


class Watched:
    """One job, and who waits for it to be in some state. `seen` is None for a job that is not there."""

    __slots__ = ("_polls", "_waiters", "seen", "watchers")

    def __init__(self) -> None:
        self.seen: Seen | None = None
        self.watchers = 0
        self._waiters: dict[asyncio.Future[None], Callable[[Seen | None], bool]] = {}
        self._polls: set[asyncio.Future[None]] = set()

    @property
    def wants_looks(self) -> bool:
        """Whether somebody watches for more than that the job settles."""
        return self.watchers > len(self._polls)

    async def until_settled(self, seconds: float, *, after: int) -> None:
        """Returns when a change or a look says that the job has settled or is gone, or else as `until` does.

        `after`: the version in which the caller saw it unsettled.
        """
        if self.seen is not None and self.seen.version > after and is_settled(self.seen.status):
            return
        future = asyncio.get_running_loop().create_future()
        self._polls.add(future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            pass
        finally:
            self._polls.discard(future)

    def settled(self) -> None:
        """Hears that the job has settled."""
        _let_go(self._polls)

    async def until(self, reached: Callable[[Seen | None], bool], seconds: float) -> None:
        """Returns after a look that found the job as wanted, when watching stops, or after the time.

        Raises the error of a look that failed meanwhile.
        """
        future = asyncio.get_running_loop().create_future()
        self._waiters[future] = reached
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            pass
        finally:
            del self._waiters[future]

    def take(self, answer: Seen | Exception | None) -> None:
        """Hears what a look found."""
        if isinstance(answer, Exception):
            for future in (*self._waiters, *self._polls):
                if not future.done():
                    future.set_exception(answer)
            return
        self.seen = answer
        if answer is None or is_settled(answer.status):
            self.settled()
        for future, reached in self._waiters.items():
            if not future.done() and reached(answer):
                future.set_result(None)

    def release(self) -> None:
        """Lets everybody who waits go."""
        _let_go((*self._waiters, *self._polls))


def _let_go(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class JobWatch:
    """Looks at jobs when the feed hints at a change, and at every watched one each `LOOK_SECONDS`.

    A waiting request costs a future: no thread, no task, and no round trip of its own.
    """

    def __init__(self, store: JobStore, feed: ChangeFeed) -> None:
        self._feed = feed
        self._watched: dict[str, Watched] = {}
        self._looks: Batches[str, Seen | None] = Batches(store.look, size_max=LOOK_JOBS_MAX, then=self._found)
        self._timer: asyncio.TimerHandle | None = None
        self.stopped = asyncio.Event()
        """Set when the API stops."""

    @contextmanager
    def on(self, job_id: str) -> Iterator[Watched]:
        """Watches a job until the block ends. A change after its first step is never missed."""
        if not self._watched:
            self._feed.follow(self._told)
            self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_at_all)
        watched = self._watched.setdefault(job_id, Watched())
        watched.watchers += 1
        try:
            yield watched
        finally:
            watched.watchers -= 1
            if not watched.watchers:
                del self._watched[job_id]
            if not self._watched and self._timer is not None:
                self._timer.cancel()

    async def look(self, job_id: str) -> Seen | None:
        """The job as it is now; whoever watches it hears of it, too."""
        return await self._looks.ask(job_id)

    def stop(self) -> None:
        """Lets everybody who waits go, now and from now on."""
        self.stopped.set()
        for watched in self._watched.values():
            watched.release()

    def _told(self, job_id: str | None, status: Status | None) -> None:
        if job_id is None:
            for each in self._watched:
                self._looks.put(each)
            return
        watched = self._watched.get(job_id)
        if watched is None:
            return
        # Who waits for the end alone reads the job then, and needs no look before.
        if status is not None and is_settled(status):
            watched.settled()
        if status is None or watched.wants_looks:
            self._looks.put(job_id)

    def _look_at_all(self) -> None:
        self._told(None, None)
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_at_all)

    def _found(self, job_id: str, answer: Seen | Exception | None) -> None:
        watched = self._watched.get(job_id)
        if watched is not None:
            watched.take(answer)
