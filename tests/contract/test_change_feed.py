from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.feeds import Listener
from tests.support.relay import Relay
from tests.support.worlds import MemoryWorld, RedisWorld, submitted
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, JobStore
from vardy_worker.store.connection import connect
from vardy_worker.store.feed import MemoryChangeFeed, RedisChangeFeed
from vardy_worker.store.keys import Keys
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
async def listening(feed: Feed) -> AsyncIterator[Listener]:
    """Whoever hears the feed, once it listens: a Redis feed says so when its subscription begins."""
    listener = Listener(feed)
    if isinstance(feed, RedisChangeFeed):
        assert await listener.hears(None)
    try:
        yield listener
    finally:
        await feed.aclose()


async def run(store: JobStore, job_id: str) -> None:
    """A change from another thread, as changes are."""
    await asyncio.to_thread(store.change, Change(job_id, QUEUED, Status.RUNNING))


def test_each_change_of_each_job_is_told_in_order(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        jobs = [submitted(store).id for _ in range(3)]
        async with listening(open_feed()) as listener:
            for job_id in jobs:
                await run(store, job_id)
            for job_id in jobs:
                assert await listener.hears(job_id)

    asyncio.run(scenario())


def test_claims_requests_to_cancel_and_erasures_are_told_too(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        job = submitted(store)
        async with listening(open_feed()) as listener:
            store.claim(job.id, expect=QUEUED, to=Status.RUNNING, worker="w", lease_ms=1000)
            assert await listener.hears(job.id)
            store.change(Change(job.id, frozenset({Status.RUNNING}), Status.COMMITTING))
            assert await listener.hears(job.id)
            assert store.request_cancel(job.id, by="lea")
            assert await listener.hears(job.id)
            store.change(Change(job.id, frozenset({Status.COMMITTING}), Status.CANCELLED))
            assert await listener.hears(job.id)
            store.erase(job.id, expect_version=4, at_ms=1)
            assert await listener.hears(job.id)
        # A wish to cancel and an erasure leave to the follower's look what became of the job.
        told = listener.statuses[-5:]
        assert told == [Status.RUNNING, Status.COMMITTING, None, Status.CANCELLED, None]

    asyncio.run(scenario())


def test_a_refused_change_is_not_told(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        refused, changed = submitted(store), submitted(store)
        async with listening(open_feed()) as listener:
            store.change(Change(refused.id, frozenset({Status.RUNNING}), Status.SUCCESS))
            await run(store, changed.id)
            assert await listener.hears(changed.id)
            assert listener.told == []

    asyncio.run(scenario())


def test_a_closed_feed_tells_nothing_more(world_and_feed: tuple[JobStore, Open]) -> None:
    store, open_feed = world_and_feed

    async def scenario() -> None:
        job, sign = submitted(store), submitted(store)
        async with listening(open_feed()) as listener:
            pass
        await run(store, job.id)
        other = open_feed()
        async with listening(other) as later:
            await run(store, sign.id)
            assert await later.hears(sign.id)
        assert listener.told == []

    asyncio.run(scenario())


def test_a_feed_costs_one_connection(redis_world: RedisWorld, redis_url: str) -> None:
    async def scenario() -> None:
        channel = f"{redis_world.namespace}:changed"
        async with listening(RedisChangeFeed(redis_url, redis_world.namespace)):
            assert redis_world.client.pubsub_numsub(channel) == [(channel.encode(), 1)]
        assert redis_world.client.pubsub_numsub(channel) == [(channel.encode(), 0)]

    asyncio.run(scenario())


def test_after_a_lost_server_everything_is_looked_at_and_changes_are_told_again(tmp_path: Path) -> None:
    port = free_port()

    async def scenario() -> None:
        server = EmbeddedServer(tmp_path, port=port, password="made-up")
        store = RedisJobStore(connect(server.url), "vardy")
        job = submitted(store)
        async with listening(RedisChangeFeed(server.url, "vardy")) as listener:
            await asyncio.to_thread(server.kill)
            assert await listener.hears(None)
            server = await asyncio.to_thread(EmbeddedServer, tmp_path, port=port, password="made-up")
            while not await asyncio.to_thread(server_listens, store):
                assert await listener.hears(None)
            await run(store, job.id)
            assert await listener.hears(job.id)
        server.stop()

    def server_listens(store: RedisJobStore) -> bool:
        [(_, subscribers)] = store._client.pubsub_numsub("vardy:changed")
        return bool(subscribers)

    asyncio.run(scenario())


def test_what_is_no_message_of_vardy_s_ends_no_feed(redis_world: RedisWorld, redis_url: str) -> None:
    async def scenario() -> None:
        job = submitted(redis_world.store)
        async with listening(RedisChangeFeed(redis_url, redis_world.namespace)) as listener:
            for garbage in (b"", b"\xff", b"job_x NO_STATUS OF OURS"):
                redis_world.client.publish(Keys(redis_world.namespace).changed, garbage)
            await run(redis_world.store, job.id)
            assert await listener.hears(job.id)

    asyncio.run(scenario())


def test_a_silent_subscription_is_asked_for_a_sign_of_life_and_kept(
    redis_world: RedisWorld, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_worker.store.feed.SILENCE_SECONDS", 0.15)

    async def scenario() -> None:
        job = submitted(redis_world.store)
        async with listening(RedisChangeFeed(redis_url, redis_world.namespace)) as listener:
            assert not await listener.hears(None, seconds=0.6), "it would be told to look at everything"
            await run(redis_world.store, job.id)
            assert await listener.hears(job.id)

    asyncio.run(scenario())


def test_a_subscription_that_froze_is_replaced(
    redis_world: RedisWorld, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_worker.store.feed.SILENCE_SECONDS", 0.1)
    target = redis_url.rpartition(":")[2].partition("/")[0]

    async def scenario(relay: Relay) -> None:
        job = submitted(redis_world.store)
        url = redis_url.replace(f":{target}/", f":{relay.port}/")
        async with listening(RedisChangeFeed(url, redis_world.namespace)) as listener:
            relay.freeze()
            assert await listener.hears(None), "the old one is lost"
            assert await listener.hears(None), "the new one began"
            await run(redis_world.store, job.id)
            assert await listener.hears(job.id)

    with Relay(int(target)) as relay:
        asyncio.run(scenario(relay))


def test_a_subscription_cut_in_the_middle_of_a_message_is_made_anew(redis_world: RedisWorld, redis_url: str) -> None:
    target = redis_url.rpartition(":")[2].partition("/")[0]

    async def scenario(relay: Relay) -> None:
        job = submitted(redis_world.store)
        url = redis_url.replace(f":{target}/", f":{relay.port}/")
        relay.cut_while_answering(b"SUBSCRIBE")
        async with listening(RedisChangeFeed(url, redis_world.namespace)) as listener:
            assert relay.has_met(b"SUBSCRIBE")
            assert await listener.hears(None)
            assert relay.connections > 1
            await run(redis_world.store, job.id)
            assert await listener.hears(job.id)

    with Relay(int(target)) as relay:
        asyncio.run(scenario(relay))


def test_without_a_server_a_feed_says_that_it_may_miss_changes() -> None:
    async def scenario() -> None:
        feed = RedisChangeFeed(f"redis://127.0.0.1:{free_port()}/0", "vardy")
        listener = Listener(feed)
        assert await listener.hears(None)
        await feed.aclose()

    asyncio.run(scenario())
