"""Streams of one job's events where no event tells of the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.support.factories import StillClock, effect, plan, queued_job
from tests.support.life import caller
from vardy_api.operations.event_stream import EventStream
from vardy_api.operations.shared_reads import SharedReads
from vardy_api.operations.watching import JobWatch
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed
from vardy_worker.store.feed import MemoryChangeFeed
from vardy_worker.store.memory_jobs import MemoryJobStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.events import Event

SECONDS = 10.0
"""Less than the silence after which a stream looks by itself whether it has ended."""


class Vanishing(MemoryJobStore):
    """A store whose settled jobs expire while their events are read."""

    def __init__(self, clock: StillClock) -> None:
        super().__init__(clock)
        self.clock = clock
        self.reads = 0

    def events(self, job_id: str, *, after: str = "", limit: int = 1000) -> Sequence[Event]:
        self.reads += 1
        self.clock.forward(3600)
        return super().events(job_id, after=after, limit=limit)


class Followed:
    """A job in a store, and a stream of its events; what it tells is kept."""

    def __init__(self, store: MemoryJobStore) -> None:
        self.store, self.job = store, queued_job()
        store.submit(self.job, None, due_at_ms=0)
        self.told: list[Event] = []
        self.all_told = asyncio.Event()
        watch = JobWatch(store, MemoryChangeFeed(store))
        reads = SharedReads(store, store.get, lambda caller: caller)
        self.stream = EventStream(watch, reads, caller(), self.job.id, place=0, follow=True, among=set())

    def move(self, before: Status, after: Status, **fields: object) -> None:
        change = Change(self.job.id, frozenset({before}), after, set=fields, retain_seconds=60)
        assert isinstance(self.store.change(change), Changed)

    async def tell(self, events: Sequence[Event]) -> None:
        self.told += events
        if len(self.told) == len(self.store.events(self.job.id)):
            self.all_told.set()


def test_a_job_that_goes_before_its_events_are_read_ends_the_stream() -> None:
    async def scenario() -> None:
        store = Vanishing(StillClock())
        followed = Followed(store)
        followed.move(Status.QUEUED, Status.CANCELLED)
        await asyncio.wait_for(followed.stream.run(followed.tell), SECONDS)
        assert (followed.told, store.reads) == ([], 1)

    asyncio.run(scenario())


def test_erasing_a_job_that_could_be_requeued_ends_its_streams_at_once() -> None:
    async def scenario() -> None:
        followed = Followed(MemoryJobStore(StillClock()))
        store, job_id = followed.store, followed.job.id
        for before, after in ((Status.QUEUED, Status.RUNNING), (Status.RUNNING, Status.COMMITTING)):
            followed.move(before, after)
        followed.move(Status.COMMITTING, Status.FUNCTION_ERROR, plan=plan(job_id, effect()), revision=1)
        following = asyncio.create_task(followed.stream.run(followed.tell))
        await asyncio.wait_for(followed.all_told.wait(), SECONDS)
        known = store.version(job_id)
        assert known is not None
        assert not following.done()
        store.erase(job_id, expect_version=known[0], at_ms=1)
        await asyncio.wait_for(following, SECONDS)
        assert len(followed.told) == 4

    asyncio.run(scenario())
