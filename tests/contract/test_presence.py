from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import StillClock
from vardy_worker.ports import Presence, WorkerSeen
from vardy_worker.store.keys import Keys
from vardy_worker.store.memory_documents import MemoryPresence
from vardy_worker.store.redis_presence import RedisPresence

if TYPE_CHECKING:
    from redis import Redis

Silence = Callable[[str], None]
W1 = WorkerSeen(worker="host-1", queues=("run", "commit"), started_at_ms=1, seen_at_ms=2, confined=True)
W2 = WorkerSeen(worker="host-2", queues=("commit",), started_at_ms=3, seen_at_ms=4)


@pytest.fixture
def redis_presence(redis_client: Redis, namespace: str) -> tuple[Presence, Silence]:
    def silence(worker: str) -> None:
        redis_client.pexpire(Keys(namespace).worker(worker), 0)

    return RedisPresence(redis_client, namespace), silence


@pytest.fixture(params=["memory", "redis"])
def presence_and_silence(request: pytest.FixtureRequest) -> tuple[Presence, Silence]:
    """A presence, and a way to let a worker's time pass."""
    if request.param == "redis":
        made: tuple[Presence, Silence] = request.getfixturevalue("redis_presence")
        return made
    clock = StillClock()

    def silence(worker: str) -> None:
        del worker
        clock.forward(10)

    return MemoryPresence(clock), silence


def test_workers_are_seen_by_name_as_they_last_said(presence_and_silence: tuple[Presence, Silence]) -> None:
    presence, _ = presence_and_silence
    assert list(presence.seen()) == []
    presence.beat(W2, ttl_seconds=10)
    presence.beat(W1, ttl_seconds=10)
    later = WorkerSeen(worker="host-1", queues=("run",), started_at_ms=1, seen_at_ms=9)
    presence.beat(later, ttl_seconds=10)
    assert list(presence.seen()) == [later, W2]


@pytest.mark.parametrize("confined", [True, False, None])
def test_a_worker_is_seen_as_confined_as_it_said(
    presence_and_silence: tuple[Presence, Silence], confined: bool | None
) -> None:
    presence, _ = presence_and_silence
    presence.beat(WorkerSeen("host-1", ("run",), 1, 2, confined=confined), ttl_seconds=10)
    assert [worker.confined for worker in presence.seen()] == [confined]


def test_a_worker_of_an_older_version_is_seen_though_it_says_less(redis_client: Redis, namespace: str) -> None:
    presence = RedisPresence(redis_client, namespace)
    presence.beat(W2, ttl_seconds=10)
    said = '{"worker": "host-2", "queues": ["commit"], "started_at_ms": 3, "seen_at_ms": 4}'
    redis_client.set(Keys(namespace).worker(W2.worker), said)
    assert list(presence.seen()) == [W2]


def test_a_worker_that_falls_silent_is_no_longer_seen(presence_and_silence: tuple[Presence, Silence]) -> None:
    presence, silence = presence_and_silence
    presence.beat(W1, ttl_seconds=10)
    silence(W1.worker)
    presence.beat(W2, ttl_seconds=10)
    assert list(presence.seen()) == [W2]
    presence.beat(W1, ttl_seconds=10)
    assert list(presence.seen()) == [W1, W2]


def test_a_worker_that_says_goodbye_is_no_longer_seen(presence_and_silence: tuple[Presence, Silence]) -> None:
    presence, _ = presence_and_silence
    presence.beat(W1, ttl_seconds=10)
    presence.gone(W1.worker)
    presence.gone("stranger")
    assert list(presence.seen()) == []
