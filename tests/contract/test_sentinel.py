"""A primary found through Sentinels, and what becomes of store, queue and feed when another one takes over."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import queued_job
from tests.support.feeds import Listener
from tests.support.replication import SERVICE, Replicated, port_of, replicated
from tests.support.waiting import eventually
from tests.support.worlds import held, submitted
from vardy_api.cli.checkup import Level
from vardy_api.cli.doctor_redis import read_server, server_checks
from vardy_api.cli.doctor_sentinel import read_sentinels, sentinel_checks
from vardy_api.embedded import free_port
from vardy_worker.contracts.errors import QueueUnavailable, StoreUnavailable
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed, Claimed, NotClaimed
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.settings import load_settings
from vardy_worker.store.address import sentinel_address
from vardy_worker.store.connection import connect, connect_async
from vardy_worker.store.feed import RedisChangeFeed
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore
from vardy_worker.store.sentinel import PrimaryFinder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUEUED = frozenset({Status.QUEUED})
RUNNING = frozenset({Status.RUNNING})
ANSWER_SECONDS_MAX = 5.0
SECONDS = 30.0

PATIENCE_SECONDS = 20.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    with replicated(tmp_path_factory.mktemp("sentinel"), replicas=2, sentinels=3, quorum=2) as found:
        yield found


@pytest.fixture
def store(servers: Replicated) -> Iterator[RedisJobStore]:
    with closing(connect(servers.url)) as client:
        yield RedisJobStore(client, "vardy")


@pytest.fixture
def safe_store(servers: Replicated) -> Iterator[RedisJobStore]:
    """One whose writes wait for a replica."""
    with closing(connect(servers.url)) as client:
        yield RedisJobStore(client, "vardy", replicas=1)


@pytest.fixture
def worker_store(servers: Replicated) -> Iterator[RedisJobStore]:
    """One that has patience, too, as a worker's."""
    with closing(connect(servers.url)) as client:
        yield RedisJobStore(client, "vardy", replicas=1, patience_seconds=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda url: url.replace(SERVICE, "another"), "no primary named 'another'"),
        (lambda url: url.replace("sentinel_password=", "sentinel_password=not-"), "refuse the credentials"),
        (lambda url: url.partition("?")[0], "refuse the credentials"),
        (lambda url: url.replace("://:", "://:not-"), "refuses the credentials"),
        (lambda _url: f"redis+sentinel://127.0.0.1:{free_port()}/{SERVICE}", "None of the Sentinels"),
    ],
)
def test_what_is_wrong_with_an_address_of_sentinels_is_said_in_seconds(
    servers: Replicated, wrong: object, said: str
) -> None:
    assert callable(wrong)
    with closing(connect(wrong(servers.url))) as client:
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match=said) as refused:
            RedisJobStore(client, "vardy").ping()
    assert time.monotonic() - began < ANSWER_SECONDS_MAX
    assert "password-of" not in refused.value.message


def test_a_sentinel_that_is_down_is_passed_over(servers: Replicated) -> None:
    head, _, rest = servers.url.partition("@")
    url = f"{head}@127.0.0.1:{free_port()},{rest}"
    with closing(connect(url)) as client:
        RedisJobStore(client, "vardy").ping()

    async def ping() -> None:
        async with connect_async(url) as client:
            assert await client.ping()

    asyncio.run(ping())


def test_a_server_that_is_no_primary_any_more_is_not_read(servers: Replicated, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = ("127.0.0.1", port_of(servers.replicas[0]))
    with closing(connect(servers.url)) as client:
        monkeypatch.setattr(PrimaryFinder, "discover_master", lambda *_: replica)
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            RedisJobStore(client, "vardy").version("job_1")
        monkeypatch.undo()
        assert RedisJobStore(client, "vardy").version("job_1") is None


def test_writes_that_wait_for_a_replica_are_refused_while_none_follows(
    servers: Replicated, store: RedisJobStore, safe_store: RedisJobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_worker.store.scripts.REPLICAS_WAIT_MS", 50)
    job = submitted(safe_store)
    claim = safe_store.claim(job.id, expect=QUEUED, to=Status.RUNNING, worker="w", lease_ms=60_000)
    assert isinstance(claim, Claimed)
    with closing(connect(servers.url)) as client:
        documents = RedisDocuments(client, "vardy", replicas=1)
        assert documents.put("things", "one", {"n": 1}) is not None
        with servers.detached():
            for write in (
                lambda: submitted(safe_store),
                lambda: safe_store.change(Change(job.id, RUNNING)),
                lambda: safe_store.change(Change(job.id, RUNNING, durable=True)),
                lambda: documents.put("things", "one", {"n": 2}),
                lambda: documents.delete("things", "one"),
            ):
                began = time.monotonic()
                with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
                    write()
                assert time.monotonic() - began < ANSWER_SECONDS_MAX
            assert isinstance(store.change(Change(job.id, RUNNING)), Changed)
            servers.configure(min_replicas_to_write="1")
            with pytest.raises(StoreUnavailable, match="min-replicas-to-write"):
                store.change(Change(job.id, RUNNING))
    servers.configure(min_replicas_to_write="0")
    servers.settle()
    assert isinstance(safe_store.change(Change(job.id, RUNNING, durable=True)), Changed)


def test_doctor_tells_what_a_deployment_with_sentinels_lacks(
    servers: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = sentinel_address(servers.url)
    assert address is not None

    def replicas(journal_replicas: int) -> Level:
        settings = load_settings(redis_url=servers.url, journal_replicas=journal_replicas)
        with closing(connect(servers.url)) as client:
            checks = server_checks(read_server(client, settings, sentinels=True))
        return next(check.level for check in checks if check.name == "redis replicas")

    [fine] = sentinel_checks(read_sentinels(address))
    assert (fine.level, fine.message) == (Level.OK, "3 Sentinels with quorum 2, 3 of 3 asked.")
    # Two follow.
    assert [replicas(number) for number in range(4)] == [Level.WARNING, Level.OK, Level.WARNING, Level.FAILURE]
    away = replace(address, sentinels=(*address.sentinels, ("127.0.0.1", free_port())))
    [warning] = sentinel_checks(read_sentinels(away))
    assert (warning.level, "No answer from" in warning.message) == (Level.WARNING, True)
    monkeypatch.setenv("VARDY_REDIS_URL", servers.url)
    ran = subprocess.run(
        [sys.executable, "-m", "vardy_api.cli", "doctor", "--json"], capture_output=True, text=True, check=False
    )
    levels = {check["name"]: check["level"] for check in json.loads(ran.stdout)["checks"]}
    assert [levels[name] for name in ("redis sentinels", "redis", "redis role")] == ["ok", "ok", "ok"]
    assert levels["redis replicas"] == "warning"


def test_a_claim_that_no_replica_confirmed_counts_as_no_lost_worker_and_keeps_none_waiting(
    servers: Replicated, store: RedisJobStore, worker_store: RedisJobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_worker.store.scripts.REPLICAS_WAIT_MS", 50)
    job = submitted(worker_store)

    def claim() -> Claimed | NotClaimed:
        expect = frozenset({Status.QUEUED, Status.RUNNING})
        return worker_store.claim(job.id, expect=expect, to=Status.RUNNING, worker="w", lease_ms=60_000)

    with servers.detached():
        began = time.monotonic()
        for _ in range(5):
            with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
                claim()
        assert time.monotonic() - began < PATIENCE_SECONDS
        found = store.get(job.id)
        assert found is not None
        assert (found.status, found.fence, found.deliveries, found.worker) == (Status.RUNNING, 5, 0, "")
    servers.settle()
    assert held(claim()) == (6, 1)


def test_after_a_failover_everything_follows_and_only_unreplicated_writes_are_lost(
    servers: Replicated, store: RedisJobStore, safe_store: RedisJobStore
) -> None:
    settings = load_settings(redis_url=servers.url)
    queue = CeleryQueue(make_celery(settings), settings)
    queue.publish("run", "job_before")
    kept = submitted(safe_store)
    with servers.detached():
        unreplicated = submitted(store)
        refused = queued_job(created_at_ms=store.server_now_ms())
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            safe_store.submit(refused, None, due_at_ms=refused.created_at_ms)
        assert store.get(unreplicated.id) == unreplicated
        servers.kill_primary()
    slowest = 0.0

    def answers() -> bool:
        nonlocal slowest
        began = time.monotonic()
        try:
            found = store.get(kept.id)
        except StoreUnavailable:
            return False
        else:
            return found == kept
        finally:
            slowest = max(slowest, time.monotonic() - began)

    assert eventually(answers, seconds=SECONDS)
    servers.await_failover()
    assert slowest < ANSWER_SECONDS_MAX
    # What the documentation says: the primary alone had it, so it is gone.
    assert store.get(unreplicated.id) is None
    assert store.get(refused.id) is None
    # Until another replica follows the new primary, writes that wait for one are refused.
    assert eventually(lambda: confirmed(safe_store, kept.id), seconds=SECONDS)
    assert eventually(lambda: published(queue), seconds=SECONDS)
    assert queue.depth("run") == 2
    queue.close()


def confirmed(store: RedisJobStore, job_id: str) -> bool:
    try:
        return isinstance(store.change(Change(job_id, QUEUED)), Changed)
    except StoreUnavailable:
        return False


def published(queue: CeleryQueue) -> bool:
    try:
        queue.publish("run", "job_after")
    except QueueUnavailable:
        return False
    return True


def test_the_feed_follows_a_failover_and_says_to_look_at_everything(
    tmp_path: Path,
) -> None:
    async def scenario(servers: Replicated) -> None:
        feed = RedisChangeFeed(servers.url, "vardy")
        listener = Listener(feed)
        with closing(connect(servers.url)) as client:
            store = RedisJobStore(client, "vardy", replicas=1)
            job = await asyncio.to_thread(submitted, store)
            assert await listener.hears(None, seconds=SECONDS)
            await asyncio.to_thread(servers.kill_primary)
            assert await listener.hears(None, seconds=SECONDS)
            await asyncio.to_thread(servers.await_failover)
            assert await asyncio.to_thread(lambda: eventually(lambda: listened_to(store), seconds=SECONDS))
            # No replica is left to wait for.
            change = RedisJobStore(client, "vardy").change
            assert isinstance(await asyncio.to_thread(change, Change(job.id, QUEUED, Status.RUNNING)), Changed)
            assert await listener.hears(job.id, seconds=SECONDS)
        await feed.aclose()

    def listened_to(store: RedisJobStore) -> bool:
        [(_, subscribers)] = store._client.pubsub_numsub("vardy:changed")
        return bool(subscribers)

    with replicated(tmp_path) as servers:
        asyncio.run(scenario(servers))
