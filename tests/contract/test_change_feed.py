from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.relay import Relay
from tests.support.worlds import MemoryWorld, RedisWorld, submitted
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, JobStore
from vardy_worker.store.connection import connect
from vardy_worker.store.feed import MemoryChangeFeed, RedisChangeFeed
from vardy_worker.store.redis_jobs import RedisJobStore

Feed = MemoryChangeFeed | RedisChangeFeed
Open = Callable[[], Feed]

QUEUED = frozenset({Status.QUEUED})


@pytest.fixture(params=["memory", "redis"])
def world_and_feed(request: pytest.FixtureRequest) -> tuple[JobStore, Open]:
    """A store, and how to open its feed (inside the event loop)."""
    if request.param == "memory":
        world = MemoryWorld()
        return world.store, lambda: MemoryChangeFeed(world.store)
    redis_world: RedisWorld = request.getfixturevalue("redis_world")
    url: str = request.getfixturevalue("redis_url")
    return redis_world.store, lambda: RedisChangeFeed(url, redis_world.namespace)


@asynccontextmanager
async def opened(feed: Feed) -> AsyncIterator[Feed]:
    """The feed, once it listens: a Redis feed wakes everybody when its subscription begins."""
    if isinstance(feed, RedisChangeFeed):
        assert await feed.wait(new_job_id(), 10)
    try:
        yield feed
    finally:
        await feed.aclose()


async def begun(wait: Awaitable[bool]) -> asyncio.Future[bool]:
    """The wait, with its first step done."""
    future = asyncio.ensure_future(wait)
    await asyncio.sleep(0)
    return future


def test_a_change_wakes_those_who_wait_for_that_job_alone(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        mine, other = submitted(store), submitted(store)
        async with opened(open_feed()) as feed:
            waits = [await begun(feed.wait(mine.id, 10)) for _ in range(3)]
            stranger = await begun(feed.wait(other.id, 0.3))
            await asyncio.to_thread(store.change, Change(mine.id, QUEUED, Status.RUNNING))
            assert await asyncio.gather(*waits) == [True, True, True]
            assert await stranger is False

    asyncio.run(scenario())


def test_claims_and_requests_to_cancel_wake_too(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        job = submitted(store)
        async with opened(open_feed()) as feed:
            claimed = await begun(feed.wait(job.id, 10))
            store.claim(job.id, expect=QUEUED, to=Status.RUNNING, worker="w", lease_ms=1000)
            assert await claimed
            store.change(Change(job.id, frozenset({Status.RUNNING}), Status.COMMITTING))
            asked = await begun(feed.wait(job.id, 10))
            assert store.request_cancel(job.id, by="lea")
            assert await asked

    asyncio.run(scenario())


def test_a_refused_change_wakes_nobody_and_the_wait_ends_by_its_time(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        job = submitted(store)
        async with opened(open_feed()) as feed:
            wait = await begun(feed.wait(job.id, 0.2))
            store.change(Change(job.id, frozenset({Status.RUNNING}), Status.SUCCESS))
            assert await wait is False

    asyncio.run(scenario())


def test_closing_the_feed_wakes_everybody(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        job = submitted(store)
        async with opened(open_feed()) as feed:
            wait = await begun(feed.wait(job.id, 60))
        assert await wait

    asyncio.run(scenario())


def test_a_thousand_waiters_cost_one_connection_and_wake_at_once(redis_world: RedisWorld, redis_url: str) -> None:
    store = redis_world.store

    async def scenario() -> float:
        jobs = [submitted(store) for _ in range(100)]
        async with opened(RedisChangeFeed(redis_url, redis_world.namespace)) as feed:
            waits = [await begun(feed.wait(job.id, 30)) for job in jobs for _ in range(10)]
            channel = f"{redis_world.namespace}:changed"
            assert redis_world.client.pubsub_numsub(channel) == [(channel.encode(), 1)]
            last = time.monotonic()
            for job in jobs:
                await asyncio.to_thread(store.change, Change(job.id, QUEUED, Status.RUNNING))
                last = time.monotonic()
            assert all(await asyncio.gather(*waits))
            return time.monotonic() - last

    assert asyncio.run(scenario()) < 5


def test_after_a_lost_server_everybody_looks_again_and_changes_wake_again(tmp_path: Path) -> None:
    port = free_port()

    async def scenario() -> None:
        server = EmbeddedServer(tmp_path, port=port, password="made-up")
        store = RedisJobStore(connect(server.url), "vardy")
        job = submitted(store)
        async with opened(RedisChangeFeed(server.url, "vardy")) as feed:
            lost = await begun(feed.wait(job.id, 30))
            await asyncio.to_thread(server.kill)
            assert await lost
            back = await begun(feed.wait(job.id, 30))
            server = await asyncio.to_thread(EmbeddedServer, tmp_path, port=port, password="made-up")
            assert await back
            while not server_listens(store):
                await feed.wait(job.id, 1)
            woken = await begun(feed.wait(job.id, 30))
            await asyncio.to_thread(store.change, Change(job.id, QUEUED, Status.RUNNING))
            assert await woken
        server.stop()

    def server_listens(store: RedisJobStore) -> bool:
        [(_, subscribers)] = store._client.pubsub_numsub("vardy:changed")
        return bool(subscribers)

    asyncio.run(scenario())


def test_a_silent_subscription_is_asked_for_a_sign_of_life_and_kept(
    redis_world: RedisWorld, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_worker.store.feed.SILENCE_SECONDS", 0.02)

    async def scenario() -> None:
        job = submitted(redis_world.store)
        async with opened(RedisChangeFeed(redis_url, redis_world.namespace)) as feed:
            assert await feed.wait(job.id, 0.3) is False
            wait = await begun(feed.wait(job.id, 10))
            await asyncio.to_thread(redis_world.store.change, Change(job.id, QUEUED, Status.RUNNING))
            assert await wait

    asyncio.run(scenario())


def test_a_subscription_that_froze_is_replaced(
    redis_world: RedisWorld, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_worker.store.feed.SILENCE_SECONDS", 0.1)
    target = redis_url.rpartition(":")[2].partition("/")[0]

    async def scenario(relay: Relay) -> None:
        job = submitted(redis_world.store)
        url = redis_url.replace(f":{target}/", f":{relay.port}/")
        async with opened(RedisChangeFeed(url, redis_world.namespace)) as feed:
            relay.freeze()
            assert await feed.wait(job.id, 10)
            assert await feed.wait(job.id, 10)
            wait = await begun(feed.wait(job.id, 10))
            await asyncio.to_thread(redis_world.store.change, Change(job.id, QUEUED, Status.RUNNING))
            assert await wait

    with Relay(int(target)) as relay:
        asyncio.run(scenario(relay))


def test_a_subscription_cut_in_the_middle_of_a_message_is_made_anew(redis_world: RedisWorld, redis_url: str) -> None:
    target = redis_url.rpartition(":")[2].partition("/")[0]

    async def scenario(relay: Relay) -> None:
        job = submitted(redis_world.store)
        url = redis_url.replace(f":{target}/", f":{relay.port}/")
        relay.cut_while_answering(b"SUBSCRIBE")
        channel = f"{redis_world.namespace}:changed"

        def listening() -> bool:
            return redis_world.client.pubsub_numsub(channel) == [(channel.encode(), 1)]

        async with opened(RedisChangeFeed(url, redis_world.namespace)) as feed:
            assert relay.has_met(b"SUBSCRIBE")
            while relay.connections < 2 or not listening():
                await feed.wait(job.id, 0.05)
            wait = await begun(feed.wait(job.id, 10))
            await asyncio.to_thread(redis_world.store.change, Change(job.id, QUEUED, Status.RUNNING))
            assert await wait

    with Relay(int(target)) as relay:
        asyncio.run(scenario(relay))


def test_without_a_server_a_wait_ends_by_its_time_or_earlier() -> None:
    async def scenario() -> float:
        feed = RedisChangeFeed(f"redis://127.0.0.1:{free_port()}/0", "vardy")
        started = time.monotonic()
        await feed.wait(new_job_id(), 0.2)
        await feed.aclose()
        return time.monotonic() - started

    assert asyncio.run(scenario()) < 5
