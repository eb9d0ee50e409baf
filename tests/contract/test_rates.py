"""The buckets of requests, in memory and in Redis."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.support.factories import StillClock
from vardy_worker.contracts.quota import QuotaOf
from vardy_worker.documents import KEYS
from vardy_worker.ports import Outdated
from vardy_worker.store.keys import Keys
from vardy_worker.store.memory_documents import MemoryDocuments
from vardy_worker.store.memory_rates import MemoryRates
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_rates import RedisRates

if TYPE_CHECKING:
    from redis import Redis

    from vardy_worker.contracts.quota import RateExceeded
    from vardy_worker.ports import Document, Documents, Rates

ODD = [
    "ana\u0301",
    "a:b{c}*?",
    "🦊" * 200,
    "x" * 200,
    "' OR 1=1 --",
    "rate:key",
]


class Buckets(Protocol):
    """Rates whose time a test moves, and the keys that they look at."""

    rates: Rates
    documents: Documents

    def forward(self, seconds: float) -> None:
        """Lets time pass for the bucket of the key `k`; less than nothing puts the clock back."""


class MemoryBuckets:
    def __init__(self) -> None:
        self.clock = StillClock()
        self.documents: Documents = MemoryDocuments()
        self.rates: Rates = MemoryRates(self.clock, self.documents)

    def forward(self, seconds: float) -> None:
        self.clock.forward(seconds)


class RedisBuckets:
    """The server's clock cannot be moved, so what it left in the bucket is."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client = client
        self._bucket = Keys(namespace).rate(QuotaOf.KEY, "k")
        self.documents: Documents = RedisDocuments(client, namespace)
        self.rates: Rates = RedisRates(client, namespace)

    def forward(self, seconds: float) -> None:
        full_at = self._client.get(self._bucket)
        assert isinstance(full_at, bytes)
        self._client.set(self._bucket, int(full_at) - int(seconds * 1_000_000), keepttl=True)


@pytest.fixture(params=["memory", "redis"])
def buckets(request: pytest.FixtureRequest) -> Buckets:
    if request.param == "memory":
        return MemoryBuckets()
    return RedisBuckets(request.getfixturevalue("redis_client"), request.getfixturevalue("namespace"))


@pytest.fixture
def shared(redis_client: Redis, namespace: str) -> RedisRates:
    return RedisRates(redis_client, namespace)


def take(rates: Rates, times: int, per_minute: int) -> list[RateExceeded | None]:
    return [rates.take(QuotaOf.KEY, "k", per_minute) for _ in range(times)]


def waits(refused: RateExceeded | None, seconds: float) -> bool:
    """Whether it is refused for about that long: Redis' clock goes on while a test runs."""
    return refused is not None and (seconds - 4) * 1000 < refused.wait_ms <= math.ceil(seconds * 1000)


@pytest.mark.parametrize("per_minute", [1, 2, 7])
def test_the_requests_of_a_minute_may_come_at_once_and_no_more(buckets: Buckets, per_minute: int) -> None:
    assert take(buckets.rates, per_minute, per_minute) == [None] * per_minute
    refused = buckets.rates.take(QuotaOf.KEY, "k", per_minute)
    assert waits(refused, 60 / per_minute)
    assert refused is not None
    assert (refused.of, refused.maximum) == (QuotaOf.KEY, per_minute)


def test_a_bucket_fills_evenly_and_not_beyond_a_minute(buckets: Buckets) -> None:
    take(buckets.rates, 6, 6)
    buckets.forward(10)
    assert buckets.rates.take(QuotaOf.KEY, "k", 6) is None
    assert waits(buckets.rates.take(QuotaOf.KEY, "k", 6), 10)
    buckets.forward(3600)
    assert take(buckets.rates, 6, 6) == [None] * 6
    assert waits(buckets.rates.take(QuotaOf.KEY, "k", 6), 10)


def test_a_refused_request_takes_nothing(buckets: Buckets) -> None:
    take(buckets.rates, 60, 6)
    buckets.forward(10)
    assert buckets.rates.take(QuotaOf.KEY, "k", 6) is None


def test_a_clock_that_is_put_back_locks_nobody_out(buckets: Buckets) -> None:
    take(buckets.rates, 3, 6)
    buckets.forward(-86_400)
    assert waits(buckets.rates.take(QuotaOf.KEY, "k", 6), 10)
    buckets.forward(10)
    assert buckets.rates.take(QuotaOf.KEY, "k", 6) is None


def test_another_ceiling_keeps_the_share_that_is_used(buckets: Buckets) -> None:
    take(buckets.rates, 3, 6)
    assert take(buckets.rates, 6, 12) == [None] * 6
    assert waits(buckets.rates.take(QuotaOf.KEY, "k", 12), 5)


def read(documents: Documents, name: str = "k") -> Document:
    found = documents.get(KEYS, name)
    assert found is not None
    return found


def test_a_request_of_a_known_key_is_taken_from_the_bucket_of_the_key(buckets: Buckets) -> None:
    buckets.documents.put(
        KEYS, "k", {"owner": "nai\u0308ve 🦊", "weight": 0.1, "quota": {"x": None}, "scopes": ["read"]}
    )
    known = read(buckets.documents)
    assert [buckets.rates.take_of_key(known, 3) for _ in range(2)] == [None, None]
    assert buckets.rates.take(QuotaOf.KEY, "k", 3) is None
    assert waits(buckets.rates.take(QuotaOf.KEY, "k", 3), 20)
    refused = buckets.rates.take_of_key(known, 3)
    assert not isinstance(refused, Outdated)
    assert waits(refused, 20)
    buckets.forward(20)
    assert buckets.rates.take_of_key(known, 3) is None


def test_of_a_key_that_is_not_what_is_known_of_it_nothing_is_taken(buckets: Buckets) -> None:
    documents = buckets.documents
    documents.put(KEYS, "k", {"scopes": ["read"]})
    first = read(documents)
    documents.put(KEYS, "k", {"scopes": []})
    second = read(documents)
    assert [buckets.rates.take_of_key(first, 1) for _ in range(3)] == [Outdated()] * 3
    documents.delete(KEYS, "k")
    assert buckets.rates.take_of_key(second, 1) == Outdated()
    documents.put(KEYS, "k", {"scopes": ["admin"]})
    # It has the number that is known, and another text.
    assert buckets.rates.take_of_key(first, 1) == Outdated()
    assert buckets.rates.take_of_key(read(documents), 1) is None


def test_keys_and_people_have_buckets_of_their_own(buckets: Buckets) -> None:
    for name in ("k", *ODD):
        for of in QuotaOf:
            assert buckets.rates.take(of, name, 1) is None
    for name in ("k", *ODD):
        for of in QuotaOf:
            assert buckets.rates.take(of, name, 1) is not None


def test_requests_of_many_connections_at_once_never_pass_the_ceiling(shared: RedisRates) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: shared.take(QuotaOf.KEY, "k", 100), range(400)))
    refilled = int((time.monotonic() - began) * 100 / 60) + 1
    assert 100 <= answers.count(None) <= 100 + refilled


def test_a_bucket_goes_when_it_is_full_and_names_nobody(
    shared: RedisRates, redis_client: Redis, namespace: str
) -> None:
    shared.take(QuotaOf.USER, "ana", 1)
    (kept,) = redis_client.keys(f"{namespace}:*")
    assert b"ana" not in kept
    assert 55_000 < redis_client.pttl(kept) <= 60_000


def test_what_is_counted_is_written_to_no_file(shared: RedisRates, redis_client: Redis, namespace: str) -> None:
    def bytes_written() -> int:
        found = redis_client.info("persistence")
        assert isinstance(found, dict)
        return int(found["aof_current_size"])

    documents = RedisDocuments(redis_client, namespace)
    documents.put(KEYS, "k", {})
    known = read(documents)
    before = bytes_written()
    take(shared, 25, 100)
    for _ in range(25):
        assert shared.take_of_key(known, 100) is None
    assert bytes_written() - before < 50 * 10  # fewer bytes than the shortest command for each would have
