"""Keys in a real store: what holds at once in every process, and who wins when two change a key."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.audit import AUDITOR
from tests.support.live_api import LiveApi
from tests.support.serving import Served, served
from tests.support.stored import everything_stored
from tests.support.waiting import eventually
from vardy_api.bootstrap import build_api
from vardy_api.operations.authentication import Authentication
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.audit import Action, AuditFilter
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import ApiKey, Scope
from vardy_worker.documents import KEYS
from vardy_worker.ports import KeyUses
from vardy_worker.settings import load_settings
from vardy_worker.store.memory_key_uses import MemoryKeyUses
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_key_uses import RedisKeyUses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redis import Redis

    from vardy_worker.ports import Document

ROTATIONS = 8
CLOCK = SystemClock()


class Interrupted(RedisDocuments):
    """Between a look at a document and what follows, `meanwhile` happens."""

    meanwhile: Callable[[], object] | None = None

    def get(self, collection: str, name: str) -> Document | None:
        found = super().get(collection, name)
        if self.meanwhile is not None:
            self.meanwhile()
        return found


@pytest.fixture
def documents(redis_client: Redis, namespace: str) -> Interrupted:
    return Interrupted(redis_client, namespace)


@pytest.fixture
def others(redis_client: Redis, namespace: str) -> KeyOperations:
    """What another process does."""
    return KeyOperations(RedisDocuments(redis_client, namespace), CLOCK)


@pytest.fixture
def made(others: KeyOperations) -> tuple[ApiKey, str]:
    return others.create(KeyCreate(name="desk", scopes=(Scope.READ,)))


@pytest.fixture
def check(redis_client: Redis, namespace: str) -> Authentication:
    return Authentication(RedisDocuments(redis_client, namespace), RedisKeyUses(redis_client, namespace), CLOCK)


def works(check: Authentication, token: str) -> bool:
    try:
        return check.authenticate(token).key.name == "desk"
    except RequestError:
        return False


def test_of_rotations_that_saw_the_same_key_one_wins_and_the_others_have_done_nothing(
    documents: Interrupted, made: tuple[ApiKey, str], check: Authentication, redis_client: Redis, namespace: str
) -> None:
    key, first = made
    documents.meanwhile = threading.Barrier(ROTATIONS).wait
    keys = KeyOperations(documents, CLOCK)

    def rotate(_: int) -> str:
        try:
            return keys.rotate(AUDITOR, key.id, keep_seconds=60)[1]
        except RequestError as refused:
            return refused.code

    with ThreadPoolExecutor(ROTATIONS) as threads:
        answers = list(threads.map(rotate, range(ROTATIONS)))
    documents.meanwhile = None
    (token,) = (answer for answer in answers if answer != "key.conflict")
    assert works(check, token)
    assert works(check, first)
    rotations = AuditFilter(action=Action.KEY_ROTATED)
    assert len(RedisAuditTrail(redis_client, namespace).page(rotations, cursor=None, limit=100).items) == 1


def test_a_rotation_does_not_undo_a_revocation_that_overtook_it(
    documents: Interrupted, others: KeyOperations, made: tuple[ApiKey, str], check: Authentication
) -> None:
    key, first = made
    documents.meanwhile = lambda: others.revoke(AUDITOR, key.id)
    with pytest.raises(RequestError) as refused:
        KeyOperations(documents, CLOCK).rotate(AUDITOR, key.id, keep_seconds=60)
    assert refused.value.code == "key.conflict"
    assert not works(check, first)


def test_a_revocation_ends_a_secret_that_was_made_while_it_looked(
    documents: Interrupted, others: KeyOperations, made: tuple[ApiKey, str], check: Authentication
) -> None:
    key, first = made
    fresh: list[str] = []

    def overtake() -> None:
        if not fresh:
            fresh.append(others.rotate(AUDITOR, key.id, keep_seconds=60)[1])

    documents.meanwhile = overtake
    revoked = KeyOperations(documents, CLOCK).revoke(AUDITOR, key.id)
    assert revoked.rotated_at_ms is not None
    assert (works(check, first), works(check, fresh[0])) == (False, False)


def test_only_hashes_of_secrets_are_in_the_store(
    others: KeyOperations, made: tuple[ApiKey, str], check: Authentication, redis_client: Redis, namespace: str
) -> None:
    key, first = made
    fresh = others.rotate(AUDITOR, key.id, keep_seconds=60)[1]
    check.authenticate(fresh)
    stored = repr(everything_stored(redis_client, namespace))
    assert sha256_text(fresh) in stored
    for token in (first, fresh):
        assert token[-43:] not in stored


def test_a_key_that_was_stored_before_keys_were_rotated_is_read(
    documents: Interrupted, made: tuple[ApiKey, str], check: Authentication
) -> None:
    key, token = made
    older = key.model_dump(mode="json", exclude={"rotated_at_ms", "former"})
    documents.put(KEYS, key.id, older)
    assert works(check, token)


@pytest.fixture
def two(redis_url: str, namespace: str) -> Iterator[tuple[Served, Served]]:
    """Two API processes, as far as a store can tell: each with connections of its own."""
    with ExitStack() as stack:
        settings = load_settings(redis_url=redis_url, namespace=namespace)
        first, second = (stack.enter_context(served(build_api(settings))) for _ in range(2))
        yield first, second


def test_a_rotation_and_a_revocation_hold_at_once_in_every_process(
    two: tuple[Served, Served], others: KeyOperations
) -> None:
    admin = others.create(KeyCreate(name="ops", scopes=(Scope.ADMIN,)))[1]
    here, there = two
    with httpx.Client(timeout=20, headers={"Authorization": f"Bearer {admin}"}) as http:

        def allowed(api: Served, token: str) -> bool:
            headers = {"Authorization": f"Bearer {token}"}
            return http.get(f"{api.url}/v1/jobs", headers=headers).status_code == httpx.codes.OK

        made = http.post(f"{here.url}/v1/keys", json={"name": "desk", "scopes": ["read"]}).json()
        url = f"/v1/keys/{made['id']}"
        first = made["key"]
        assert [allowed(api, first) for api in two] == [True, True]
        second = http.post(f"{here.url}{url}/rotate", json={"keep_seconds": 3600}).json()["key"]
        assert [allowed(api, token) for api in two for token in (first, second)] == [True] * 4
        third = http.post(f"{there.url}{url}/rotate", json={}).json()["key"]
        kept = [allowed(api, token) for api in two for token in (first, second, third)]
        assert kept == [False, False, True] * 2
        http.delete(here.url + url)
        assert not any(allowed(api, token) for api in two for token in (first, second, third))
        assert http.get(there.url + url).json()["last_used_at"] is not None


@pytest.mark.parametrize(("keep_seconds", "expected"), [(0, 401), (3600, 200)])
def test_a_poll_that_a_rotation_overtakes_is_answered_as_its_own_secret_still_may(
    redis_url: str, namespace: str, keep_seconds: int, expected: int
) -> None:
    with LiveApi(redis_url, namespace) as live, live.served() as server, ThreadPoolExecutor(1) as pool:
        job_id = live.job(Status.RUNNING)
        key, token = live.key()
        poll = pool.submit(live.http(server.url, token).get, f"/v1/jobs/{job_id}?wait=30")
        assert eventually(lambda: server.api.state.operations.held.polls == 1)
        rotated = live.http(server.url).post(f"/v1/keys/{key.id}/rotate", json={"keep_seconds": keep_seconds})
        live.move(job_id, Status.RUNNING, Status.SUCCESS)
        assert poll.result().status_code == expected
        fresh = live.http(server.url, rotated.json()["key"])
        assert fresh.get(f"/v1/jobs/{job_id}?wait=30").status_code == httpx.codes.OK


@pytest.fixture(params=["memory", "redis"])
def uses(request: pytest.FixtureRequest) -> KeyUses:
    if request.param == "memory":
        return MemoryKeyUses()
    return RedisKeyUses(request.getfixturevalue("redis_client"), request.getfixturevalue("namespace"))


def test_the_last_hour_of_each_key_is_kept(uses: KeyUses) -> None:
    assert uses.last([]) == uses.last(["key_1"]) == {}
    uses.note("key_1", 3_600_000)
    uses.note("key_2", 3_600_000)
    uses.note("key_1", 7_200_000)
    assert uses.last(["key_2", "key_9", "key_1"]) == {"key_1": 7_200_000, "key_2": 3_600_000}
    assert uses.last(["key_2"]) == {"key_2": 3_600_000}
