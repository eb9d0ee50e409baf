"""Keys: what they may do, and what is kept of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import LEA
from vardy_api.operations.caller import NOBODY
from vardy_api.shapes import KeyCreate
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import KEYS
from vardy_worker.ports import WorkerSeen

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld


def test_a_key_is_shown_once_and_kept_only_as_a_hash(api: ApiWorld, http: httpx.Client) -> None:
    answer = http.post("/v1/keys", json={"name": "desk", "scopes": ["read", "read"]})
    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    assert made["key"].startswith(f"vk_{made['id'].removeprefix('key_')}_")
    assert (made["owner"], made["scopes"]) == ("desk", ["read"])
    secret = made["key"].split("_", 2)[2]
    kept = json.dumps([document.value for document in api.documents.all(KEYS)])
    assert secret not in kept
    assert secret not in http.get("/v1/keys").text
    assert "sha256" not in http.get("/v1/keys").text
    assert api.http(made["key"]).get("/v1/jobs").status_code == 200


def test_a_key_of_a_person_belongs_to_the_person(http: httpx.Client) -> None:
    made = http.post("/v1/keys", json={"scopes": ["decide"], "person": LEA.model_dump()}).json()
    assert (made["owner"], made["person"]["id"]) == ("lea", "lea")


@pytest.mark.parametrize("name", sorted(NOBODY))
def test_nobody_calls_themselves_as_vardy_does_in_the_audit_trail(http: httpx.Client, name: str) -> None:
    for key in ({"owner": name}, {"name": name}, {"person": {"id": name}}):
        assert refused(http.post("/v1/keys", json={"scopes": ["read"], **key}))
    body = {"request": "Give 17 back.", "user": {"id": name}}
    assert refused(http.post("/v1/run", json=body)) == ["/user/id"]
    job = http.post("/v1/run", json={**body, "user": {"id": "ana"}}).json()["id"]
    assert refused(http.post(f"/v1/jobs/{job}/cancel", json={"user": {"id": name}})) == ["/user/id"]


@pytest.mark.parametrize("name", ["vardy ", "boot\u200bstrap", "shop\n", "\x1b[31mshop", "shop  desk"])
def test_an_owner_that_could_look_like_another_is_refused_as_an_id_of_a_person_is(
    http: httpx.Client, name: str
) -> None:
    for key in ({"owner": name}, {"name": name}):
        assert refused(http.post("/v1/keys", json={"scopes": ["read"], **key})) == [f"/{next(iter(key))}"]


def refused(answer: httpx.Response) -> list[str]:
    """Where the request is wrong."""
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    return [problem["at"] for problem in answer.json()["details"]["problems"]]


@pytest.mark.parametrize(
    "authorization",
    ["Bearer", "Bearer ", "Basic abc", "Bearer nonsense", "Bearer vk_", f"Bearer vk_{'0' * 26}_{'a' * 43}", "vk_x"],
)
def test_a_request_without_a_valid_key_is_refused(api: ApiWorld, authorization: str) -> None:
    answer = api.http("").get("/v1/jobs", headers={"Authorization": authorization})
    assert (answer.status_code, answer.json()["code"][:5]) == (401, "auth.")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_no_header_and_a_wrong_key_are_told_apart(api: ApiWorld) -> None:
    assert api.http("").get("/v1/jobs").json()["code"] == "auth.missing"
    right = api.token()
    assert api.http(right[:-1] + ("a" if right[-1] != "a" else "b")).get("/v1/jobs").json()["code"] == "auth.invalid"


def test_a_revoked_key_ends_at_once_and_stays_listed(api: ApiWorld, http: httpx.Client) -> None:
    made = http.post("/v1/keys", json={"name": "desk", "scopes": ["read"]}).json()
    client = api.http(made["key"])
    assert client.get("/v1/jobs").status_code == 200
    first = http.delete(f"/v1/keys/{made['id']}").json()
    api.clock.forward(60)
    assert http.delete(f"/v1/keys/{made['id']}").json() == first
    assert client.get("/v1/jobs").json()["code"] == "auth.invalid"
    assert first["revoked_at"] is not None


def test_a_key_ends_at_its_time(api: ApiWorld, http: httpx.Client) -> None:
    made = http.post("/v1/keys", json={"name": "desk", "scopes": ["read"], "expires_in_seconds": 60}).json()
    client = api.http(made["key"])
    assert client.get("/v1/jobs").status_code == 200
    api.clock.forward(60)
    assert client.get("/v1/jobs").json()["code"] == "auth.invalid"


def test_a_key_that_does_not_exist_cannot_be_revoked(http: httpx.Client) -> None:
    answer = http.delete("/v1/keys/key_1")
    assert (answer.status_code, answer.json()["code"]) == (404, "key.not_found")


def test_keys_and_queues_need_their_scopes(api: ApiWorld) -> None:
    http = api.http(api.token(Scope.SUBMIT, Scope.READ, Scope.DECIDE))
    for answer in (
        http.get("/v1/keys"),
        http.post("/v1/keys", json={"scopes": ["admin"]}),
        http.delete("/v1/keys/key_1"),
        http.get("/v1/queues"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "auth.scope")


def test_a_key_without_scopes_is_refused(http: httpx.Client) -> None:
    assert http.post("/v1/keys", json={"name": "desk", "scopes": []}).json()["code"] == "request.invalid"
    assert http.post("/v1/keys", json={"name": "desk", "scopes": ["root"]}).json()["code"] == "request.invalid"


def test_a_fixed_key_is_installed_once_whatever_its_form(api: ApiWorld) -> None:
    request = KeyCreate(name="dev", scopes=tuple(Scope))
    first = api.operations.keys.install("my-development-key", request)
    assert api.operations.keys.install("my-development-key", request) == first
    assert api.http("my-development-key").get("/v1/keys").status_code == 200
    with pytest.raises(RequestError):
        api.operations.keys.install("short", request)


def test_queues_show_depth_age_and_workers(api: ApiWorld, http: httpx.Client) -> None:
    api.queue.publish("run", "job_1")
    api.presence.beat(WorkerSeen("w1", ("run",), api.clock.now_ms(), api.clock.now_ms()), ttl_seconds=60)
    api.clock.forward(5)
    shown = http.get("/v1/queues").json()
    assert shown["queues"][0] == {"name": "run", "depth": 1, "oldest_seconds": 5.0}
    assert shown["queues"][1] == {"name": "commit", "depth": 0, "oldest_seconds": None}
    assert [worker["worker"] for worker in shown["workers"]] == ["w1"]
