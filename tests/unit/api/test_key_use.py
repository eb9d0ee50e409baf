"""When a key was used last, so that operators find those that nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.factories import StillClock
from vardy_api.operations.authentication import HOUR_MS, Authentication
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.contracts.errors import RequestError, StoreUnavailable
from vardy_worker.contracts.user import Scope
from vardy_worker.store.memory_documents import MemoryDocuments
from vardy_worker.store.memory_key_uses import MemoryKeyUses

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld


class CountedUses(MemoryKeyUses):
    """Counts how often it is written; refuses to while the store is full."""

    def __init__(self) -> None:
        super().__init__()
        self.notes = 0
        self.full = False

    def note(self, key_id: str, hour_ms: int) -> None:
        self.notes += 1
        if self.full:
            raise StoreUnavailable("Redis is full")
        super().note(key_id, hour_ms)


class Desk:
    """Keys, and what checks them."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.uses = CountedUses()
        documents = MemoryDocuments()
        self.keys = KeyOperations(documents, self.clock)
        self.check = Authentication(documents, self.uses, self.clock)
        self.key, self.token = self.keys.create(KeyCreate(name="desk", scopes=(Scope.READ,)))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_key_shows_the_hour_of_its_last_use(api: ApiWorld, http: httpx.Client) -> None:
    made = http.post("/v1/keys", json={"name": "desk", "scopes": ["read"]}).json()
    url = f"/v1/keys/{made['id']}"
    assert http.get(url).json()["last_used_at"] is None
    api.http(made["key"]).get("/v1/jobs")
    first = http.get(url).json()["last_used_at"]
    assert first.endswith(":00:00Z")
    api.clock.forward(3600)
    api.http(made["key"]).get("/v1/jobs")
    assert http.get(url).json()["last_used_at"] > first
    shown = http.get(url).json()
    listed = {key["id"]: key for key in http.get("/v1/keys").json()["items"]}
    assert listed[made["id"]] == shown
    changed = http.patch(url, json={"quota": {"jobs_max": 3}})
    rotated = http.post(f"{url}/rotate", json={})
    revoked = http.delete(url)
    assert [answer.json()["last_used_at"] for answer in (changed, rotated, revoked)] == [shown["last_used_at"]] * 3


def test_it_is_written_once_an_hour_however_often_a_key_is_used(desk: Desk) -> None:
    for _ in range(50):
        desk.check.authenticate(desk.token)
    assert desk.uses.notes == 1
    desk.clock.forward(3600)
    desk.check.authenticate(desk.token)
    assert desk.uses.notes == 2
    assert desk.check.last_used([desk.key.id]) == {desk.key.id: desk.clock.now_ms() // HOUR_MS * HOUR_MS}


def test_no_request_fails_because_its_hour_cannot_be_noted(desk: Desk) -> None:
    desk.uses.full = True
    for _ in range(3):
        assert desk.check.authenticate(desk.token).key == desk.key
    assert desk.uses.notes == 1
    assert desk.check.last_used([desk.key.id]) == {}


def test_a_key_that_is_refused_is_not_used(desk: Desk) -> None:
    desk.clock.forward(3600)
    with pytest.raises(RequestError):
        desk.check.authenticate(desk.token[:-1] + "?")
    assert desk.uses.notes == 0
