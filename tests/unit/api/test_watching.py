"""Watched jobs: who waits for the end is told by the feed, and a look finds what the feed did not tell."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import StillClock, queued_job
from vardy_api.operations.watching import LOOK_SECONDS, JobWatch
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Seen
from vardy_worker.store.memory_jobs import MemoryJobStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from vardy_worker.ports.feed import Told

SECONDS = 10.0


class Counted(MemoryJobStore):
    """A store that counts the looks at it."""

    looks = 0
    fails = False

    def look(self, job_ids: Sequence[str]) -> Mapping[str, Seen | None]:
        self.looks += 1
        if self.fails:
            raise StoreUnavailable("away")
        return super().look(job_ids)


class Feed:
    """A feed that tells what the test says."""

    told: Told

    def follow(self, told: Told) -> None:
        self.told = told

    async def aclose(self) -> None:
        """Nothing is open."""


class Around:
    """One queued job, watched."""

    def __init__(self) -> None:
        self.store, self.feed = Counted(StillClock()), Feed()
        self.job = queued_job()
        self.store.submit(self.job, None, due_at_ms=0)
        self.watch = JobWatch(self.store, self.feed)

    def move(self, before: Status, after: Status) -> None:
        self.store.change(Change(self.job.id, frozenset({before}), after))

    @asynccontextmanager
    async def poll(self) -> AsyncIterator[asyncio.Task[None]]:
        """Waits for the end; the block begins when it does."""
        with self.watch.on(self.job.id) as watched:
            polling = asyncio.create_task(watched.until_settled(SECONDS, after=1))
            await asyncio.sleep(0)
            yield polling
            polling.cancel()


def test_who_waits_for_the_end_costs_no_look_until_it_is_told() -> None:
    async def scenario() -> None:
        around = Around()
        async with around.poll() as polling:
            around.feed.told(around.job.id, Status.RUNNING)
            around.feed.told(around.job.id, Status.COMMITTING)
            await asyncio.sleep(0)
            assert not polling.done()
            around.feed.told(around.job.id, Status.SUCCESS)
            await asyncio.wait_for(polling, SECONDS)
        assert around.store.looks == 0

    asyncio.run(scenario())


def test_who_follows_every_change_is_told_of_it_without_waiting_for_the_next_round() -> None:
    async def scenario() -> None:
        around = Around()
        with around.watch.on(around.job.id) as watched:
            runs = watched.until(lambda seen: seen is not None and seen.status is Status.RUNNING, SECONDS)
            following = asyncio.create_task(runs)
            await asyncio.sleep(0)
            around.move(Status.QUEUED, Status.RUNNING)
            around.feed.told(around.job.id, Status.RUNNING)
            await asyncio.wait_for(following, LOOK_SECONDS / 2)
        assert around.store.looks == 1

    asyncio.run(scenario())


def test_nobody_waits_for_a_job_that_is_not_there_any_more() -> None:
    async def scenario() -> None:
        around = Around()
        around.job = queued_job()
        async with around.poll() as polling:
            around.feed.told(None, None)
            await asyncio.wait_for(polling, SECONDS / 2)
        assert around.store.looks == 1

    asyncio.run(scenario())


def test_a_change_of_which_only_the_job_is_told_is_looked_at() -> None:
    async def scenario() -> None:
        around = Around()
        async with around.poll() as polling:
            around.move(Status.QUEUED, Status.CANCELLED)
            around.feed.told(around.job.id, None)
            await asyncio.wait_for(polling, SECONDS)
        assert around.store.looks == 1

    asyncio.run(scenario())


def test_after_a_lost_subscription_every_job_is_looked_at() -> None:
    async def scenario() -> None:
        around = Around()
        async with around.poll() as polling:
            around.move(Status.QUEUED, Status.CANCELLED)
            around.feed.told(None, None)
            await asyncio.wait_for(polling, SECONDS)

    asyncio.run(scenario())


def test_a_job_that_settled_between_its_read_and_the_wait_is_not_waited_for() -> None:
    async def scenario() -> None:
        around = Around()
        with around.watch.on(around.job.id) as watched:
            around.move(Status.QUEUED, Status.CANCELLED)
            around.feed.told(around.job.id, Status.CANCELLED)
            await around.watch.look(around.job.id)
            await asyncio.wait_for(watched.until_settled(SECONDS, after=1), SECONDS / 2)

    asyncio.run(scenario())


def test_who_watches_for_more_than_the_end_has_every_change_looked_at() -> None:
    async def scenario() -> None:
        around = Around()
        async with around.poll():
            with around.watch.on(around.job.id) as watched:
                around.move(Status.QUEUED, Status.RUNNING)
                around.feed.told(around.job.id, Status.RUNNING)
                await asyncio.wait_for(
                    watched.until(lambda seen: seen is not None and seen.events > 1, SECONDS), SECONDS
                )
        assert around.store.looks == 1

    asyncio.run(scenario())


def test_all_watched_jobs_are_looked_at_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vardy_api.operations.watching.LOOK_SECONDS", 0.01)

    async def scenario() -> None:
        around = Around()
        with ExitStack() as watching:
            watched = [watching.enter_context(around.watch.on(f"{around.job.id}{number}")) for number in range(300)]
            await asyncio.gather(*(each.until(lambda seen: seen is None, SECONDS) for each in watched))
            assert around.store.looks == 1
            looked = around.store.looks
            await watched[0].until(lambda _: around.store.looks > looked + 1, SECONDS)
        rested = around.store.looks
        await asyncio.sleep(0)
        assert around.watch._timer is not None
        assert around.watch._timer.cancelled(), "nobody watches, so nothing is looked at"
        assert around.store.looks == rested

    asyncio.run(scenario())


def test_a_look_that_fails_is_told_to_all_who_wait() -> None:
    async def scenario() -> None:
        around = Around()
        around.store.fails = True
        async with around.poll() as polling:
            around.feed.told(None, None)
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(polling, SECONDS)

    asyncio.run(scenario())
