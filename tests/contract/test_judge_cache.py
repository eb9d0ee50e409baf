"""The cache of the judge, in memory and on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import eventually
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.store.connection import connect
from vardy_worker.store.memory_judge_cache import MemoryJudgeCache
from vardy_worker.store.redis_judge_cache import KEYS_PER_COMMAND, RedisJudgeCache
from vardy_worker.testing.clock import MovableClock

if TYPE_CHECKING:
    from redis import Redis

    from vardy_worker.ports.judge import JudgeCache

A, B, C = ("a" * 64, "b" * 64, "c" * 64)


@pytest.fixture
def redis_cache(redis_client: Redis, namespace: str) -> RedisJudgeCache:
    return RedisJudgeCache(redis_client, namespace)


@pytest.fixture(params=["memory", "redis"])
def cache(request: pytest.FixtureRequest) -> JudgeCache:
    if request.param == "memory":
        return MemoryJudgeCache(MovableClock())
    cache: RedisJudgeCache = request.getfixturevalue("redis_cache")
    return cache


def test_what_was_put_comes_back_as_it_was(cache: JudgeCache) -> None:
    answers = {A: "spam", B: {"value": [1, 2.5, None, "ü\u2028"]}, C: 2**70}
    cache.put_many(answers, keep_seconds=60)
    assert cache.get_many([A, B, C]) == answers


def test_only_what_is_kept_comes_back(cache: JudgeCache) -> None:
    cache.put_many({A: "spam"}, keep_seconds=60)
    assert cache.get_many([B, A, B, A]) == {A: "spam"}
    assert cache.get_many([]) == {}
    cache.put_many({}, keep_seconds=60)


def test_a_later_answer_takes_the_place_of_an_earlier_one(cache: JudgeCache) -> None:
    cache.put_many({A: "spam"}, keep_seconds=60)
    cache.put_many({A: "ham"}, keep_seconds=60)
    assert cache.get_many([A]) == {A: "ham"}


def test_very_many_are_put_and_asked_for_in_parts(cache: JudgeCache) -> None:
    answers = {f"{number:064x}": str(number) for number in range(2 * KEYS_PER_COMMAND + 1)}
    cache.put_many(answers, keep_seconds=60)
    assert cache.get_many(list(answers)) == answers


def test_an_answer_is_forgotten_after_its_time() -> None:
    clock = MovableClock()
    cache = MemoryJudgeCache(clock)
    cache.put_many({A: "spam"}, keep_seconds=60)
    clock.move_to(clock.now_ms() + 59_999)
    assert cache.get_many([A]) == {A: "spam"}
    clock.move_to(clock.now_ms() + 1)
    assert cache.get_many([A]) == {}


def test_an_answer_on_the_server_has_a_time_to_live(
    redis_cache: RedisJudgeCache, redis_client: Redis, namespace: str
) -> None:
    redis_cache.put_many({A: "spam"}, keep_seconds=60)
    [key] = list(redis_client.scan_iter(f"{namespace}:*"))
    assert key.decode() == f"{namespace}:judge:{A}"
    assert 55_000 < redis_client.pttl(key) <= 60_000
    redis_client.pexpire(key, 1)
    assert eventually(lambda: redis_cache.get_many([A]) == {})


@pytest.mark.parametrize("damage", [b"", b"spam", b"\xff\xfe", b'{"value":', b"[" * 100_000])
def test_a_damaged_answer_is_not_there_and_spoils_no_other(
    redis_cache: RedisJudgeCache, redis_client: Redis, namespace: str, damage: bytes
) -> None:
    redis_cache.put_many({A: "spam", B: "ham"}, keep_seconds=60)
    redis_client.set(f"{namespace}:judge:{A}", damage)
    assert redis_cache.get_many([A, B]) == {B: "ham"}


def test_a_server_that_is_away_is_told() -> None:
    cache = RedisJudgeCache(connect("redis://127.0.0.1:1/0"), "vardy")
    with pytest.raises(StoreUnavailable):
        cache.get_many([A])
    with pytest.raises(StoreUnavailable):
        cache.put_many({A: "spam"}, keep_seconds=60)
