"""Who is let in, and what is counted of it, where the process has read the key before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import AUDITOR
from tests.support.factories import StillClock
from vardy_api.operations.admission import Admission
from vardy_api.operations.authentication import HOUR_MS, Authentication
from vardy_api.operations.keys import KeyOperations
from vardy_api.operations.quotas import QuotaOperations
from vardy_api.shapes import KeyChange, KeyCreate
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.quota import KeyQuota, Quota, Quotas
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import KEYS
from vardy_worker.store.memory_documents import MemoryDocuments
from vardy_worker.store.memory_jobs import MemoryJobStore
from vardy_worker.store.memory_key_uses import MemoryKeyUses
from vardy_worker.store.memory_rates import MemoryRates
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_rates import RedisRates

if TYPE_CHECKING:
    from redis import Redis

    from vardy_worker.contracts.user import ApiKey
    from vardy_worker.ports import Document, Documents, Rates

IN = "in"


class Watched(RedisDocuments):
    """Tells which keys were read."""

    def __init__(self, client: Redis, namespace: str) -> None:
        super().__init__(client, namespace)
        self.read: list[str] = []

    def get(self, collection: str, name: str) -> Document | None:
        self.read.append(name)
        return super().get(collection, name)


class Door:
    """One process that lets requests in, and the keys that it and others change."""

    def __init__(self, documents: Documents, rates: Rates, clock: StillClock, *, remembered: int = 10) -> None:
        self.clock = clock
        self.documents = documents
        self.keys = KeyOperations(documents, clock)
        self.uses = MemoryKeyUses()
        authentication = Authentication(documents, self.uses, clock, remembered=remembered)
        deployment = Quotas(key=Quota(requests_per_minute=5))
        quotas = QuotaOperations(rates, MemoryJobStore(clock), self.keys, clock, deployment=deployment)
        self._admission = Admission(authentication, quotas)

    def make(self, **fields: Any) -> tuple[ApiKey, str]:
        return self.keys.create(KeyCreate(name="desk", scopes=(Scope.READ,), **fields))

    def admit(self, token: str) -> str:
        """What comes of one request: it is in, or the code of the refusal."""
        try:
            self._admission.admit(token)
        except RequestError as refused:
            return refused.code
        return IN

    def until_refused(self, token: str) -> int:
        """How many requests are let in until one is refused for its rate."""
        for count in range(100):
            if (answer := self.admit(token)) != IN:
                assert answer == "rate.limited"
                return count
        raise AssertionError("no request was refused")


@pytest.fixture(params=["memory", "redis"])
def door(request: pytest.FixtureRequest) -> Door:
    clock = StillClock()
    if request.param == "memory":
        documents = MemoryDocuments()
        return Door(documents, MemoryRates(clock, documents), clock)
    client, namespace = request.getfixturevalue("redis_client"), request.getfixturevalue("namespace")
    return Door(RedisDocuments(client, namespace), RedisRates(client, namespace), clock)


@pytest.fixture
def watched(redis_client: Redis, namespace: str) -> Watched:
    return Watched(redis_client, namespace)


@pytest.fixture
def seeing(watched: Watched, redis_client: Redis, namespace: str) -> Door:
    """A door that remembers two keys."""
    return Door(watched, RedisRates(redis_client, namespace), StillClock(), remembered=2)


def test_every_request_is_counted_once_whether_the_key_was_read_for_it_or_not(door: Door) -> None:
    _, token = door.make()
    assert door.until_refused(token) == 5


def test_a_key_is_read_once_for_many_requests(seeing: Door, watched: Watched) -> None:
    key, token = seeing.make()
    watched.read.clear()
    assert [seeing.admit(token) for _ in range(4)] == [IN] * 4
    assert watched.read == [key.id]


def test_a_key_that_was_revoked_between_two_requests_is_refused_and_not_counted(door: Door) -> None:
    key, token = door.make()
    assert [door.admit(token) for _ in range(2)] == [IN, IN]
    known = door.documents.get(KEYS, key.id)
    assert known is not None
    door.keys.revoke(AUDITOR, key.id)
    assert [door.admit(token) for _ in range(9)] == ["auth.invalid"] * 9
    # What it was before, to see what was counted.
    door.documents.put(KEYS, key.id, known.value)
    assert door.until_refused(token) == 3


def test_a_key_that_was_deleted_between_two_requests_is_refused(door: Door) -> None:
    key, token = door.make()
    assert door.admit(token) == IN
    door.documents.delete(KEYS, key.id)
    assert door.admit(token) == "auth.invalid"


@pytest.mark.parametrize(("ceiling", "left"), [(1, 0), (3, 2), (20, 18), (None, 4)])
def test_a_ceiling_that_was_changed_between_two_requests_holds_from_the_next(
    door: Door, ceiling: int | None, left: int
) -> None:
    key, token = door.make(quota=KeyQuota(requests_per_minute=10))
    assert door.admit(token) == IN
    door.keys.change(AUDITOR, key.id, KeyChange(quota=KeyQuota(requests_per_minute=ceiling)))
    # Of the bucket a tenth was used.
    assert door.until_refused(token) == left


def test_a_rate_that_was_taken_away_or_given_between_two_requests_holds_from_the_next(door: Door) -> None:
    key, token = door.make()
    assert door.until_refused(token) == 5
    door.keys.change(AUDITOR, key.id, KeyChange(quota=KeyQuota(requests_per_minute=0)))
    assert [door.admit(token) for _ in range(20)] == [IN] * 20
    door.keys.change(AUDITOR, key.id, KeyChange(quota=KeyQuota(requests_per_minute=5)))
    assert door.admit(token) == "rate.limited"


def test_tokens_of_strangers_who_know_the_id_of_a_key_take_nothing_from_it(door: Door) -> None:
    key, token = door.make()
    wrong = token[:-4] + "AAAA"
    assert [door.admit(wrong) for _ in range(9)] == ["auth.invalid"] * 9
    assert door.admit(token) == IN
    assert [door.admit(wrong) for _ in range(9)] == ["auth.invalid"] * 9
    assert door.until_refused(token) == 4
    # A full bucket tells strangers nothing, either.
    assert door.admit(wrong) == "auth.invalid"
    assert door.uses.last([key.id]).keys() == {key.id}


def test_of_a_rotated_key_each_secret_is_let_in_as_long_as_it_holds(door: Door) -> None:
    key, first = door.make(quota=KeyQuota(requests_per_minute=100))
    assert door.admit(first) == IN
    second = door.keys.rotate(AUDITOR, key.id, keep_seconds=60)[1]
    assert [door.admit(token) for token in (second, first, second)] == [IN] * 3
    door.clock.forward(60)
    assert [door.admit(token) for token in (first, second)] == ["auth.invalid", IN]
    third = door.keys.rotate(AUDITOR, key.id, keep_seconds=0)[1]
    assert [door.admit(token) for token in (first, second)] == ["auth.invalid"] * 2
    assert door.admit(third) == IN


def test_a_key_that_expires_between_two_requests_is_refused(door: Door) -> None:
    _, token = door.make(expires_in_seconds=60)
    assert [door.admit(token) for _ in range(2)] == [IN, IN]
    door.clock.forward(60)
    assert door.admit(token) == "auth.invalid"


def test_the_hour_of_a_use_is_noted_though_the_key_is_not_read(seeing: Door, watched: Watched) -> None:
    key, token = seeing.make()
    seeing.admit(token)
    seeing.clock.forward(3600)
    watched.read.clear()
    assert seeing.admit(token) == IN
    assert watched.read == []
    assert seeing.uses.last([key.id]) == {key.id: seeing.clock.now_ms() // HOUR_MS * HOUR_MS}


def test_the_keys_that_were_used_last_are_remembered(seeing: Door, watched: Watched) -> None:
    made = [seeing.make() for _ in range(3)]
    (one, first), (two, second), (three, third) = made
    watched.read.clear()
    for token in (first, second, first, third, first, second):
        assert seeing.admit(token) == IN
    assert watched.read == [one.id, two.id, three.id, two.id]


def test_no_secret_is_remembered(door: Door) -> None:
    _, token = door.make()
    assert door.admit(token) == IN
    assert token[-20:] not in repr(vars(door._admission._authentication))
