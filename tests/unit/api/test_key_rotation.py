"""A key gets another secret, and keeps everything else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import run_body
from vardy_api.shapes import KeyCreate
from vardy_worker.contracts.audit import SETTINGS
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import KEYS

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld

OK, ENDED = 200, 401


@pytest.fixture
def made(http: httpx.Client) -> dict[str, Any]:
    """A key that belongs to the shop."""
    made: dict[str, Any] = http.post("/v1/keys", json={"owner": "desk", "scopes": ["submit"]}).json()
    return made


def rotate(http: httpx.Client, key_id: str, **body: Any) -> str:
    answer = http.post(f"/v1/keys/{key_id}/rotate", json=body)
    assert answer.status_code == OK, answer.text
    token: str = answer.json()["key"]
    return token


def works(api: ApiWorld, token: str) -> int:
    return api.http(token).get("/v1/jobs").status_code


def test_only_the_secret_changes_and_the_one_before_ends_at_once(
    api: ApiWorld, http: httpx.Client, made: dict[str, Any]
) -> None:
    job = api.http(made["key"]).post("/v1/run", json=run_body()).json()["id"]
    before = {**http.get(f"/v1/keys/{made['id']}").json(), "key": made["key"]}
    api.clock.forward(5)
    answer = http.post(f"/v1/keys/{made['id']}/rotate", json={})
    rotated = answer.json()
    assert answer.headers["cache-control"] == "no-store"
    changed = {name for name in rotated if rotated[name] != before[name]}
    assert changed == {"key", "rotated_at", "former_secret_until"}
    assert rotated["former_secret_until"] == rotated["rotated_at"]
    assert (works(api, made["key"]), works(api, rotated["key"])) == (ENDED, OK)
    assert api.http(rotated["key"]).get(f"/v1/jobs/{job}").status_code == OK


def test_a_secret_that_ended_is_told_so_and_one_that_never_was_is_not(
    api: ApiWorld, http: httpx.Client, made: dict[str, Any]
) -> None:
    rotate(http, made["id"])
    assert "rotated" in api.http(made["key"]).get("/v1/jobs").json()["detail"]
    assert "not known" in api.http(made["key"][:-3] + "xyz").get("/v1/jobs").json()["detail"]


def test_both_secrets_work_until_the_end_that_was_asked_for(
    api: ApiWorld, http: httpx.Client, made: dict[str, Any]
) -> None:
    fresh = rotate(http, made["id"], keep_seconds=60)
    api.clock.at_ms += 59_999
    assert (works(api, made["key"]), works(api, fresh)) == (OK, OK)
    api.clock.at_ms += 1
    assert (works(api, made["key"]), works(api, fresh)) == (ENDED, OK)


def test_a_second_rotation_ends_the_first_secret_whatever_was_promised(
    api: ApiWorld, http: httpx.Client, made: dict[str, Any]
) -> None:
    second = rotate(http, made["id"], keep_seconds=3600)
    third = rotate(http, made["id"], keep_seconds=60)
    assert [works(api, token) for token in (made["key"], second, third)] == [ENDED, OK, OK]
    api.clock.forward(60)
    assert [works(api, token) for token in (made["key"], second, third)] == [ENDED, ENDED, OK]


def test_a_kept_secret_ends_with_its_key(api: ApiWorld, http: httpx.Client) -> None:
    made = http.post("/v1/keys", json={"name": "desk", "scopes": ["read"], "expires_in_seconds": 60}).json()
    rotated = http.post(f"/v1/keys/{made['id']}/rotate", json={"keep_seconds": 3600}).json()
    assert rotated["former_secret_until"] == rotated["expires_at"] == made["expires_at"]
    api.clock.forward(60)
    assert (works(api, made["key"]), works(api, rotated["key"])) == (ENDED, ENDED)


def test_a_revocation_ends_both_secrets(api: ApiWorld, http: httpx.Client, made: dict[str, Any]) -> None:
    fresh = rotate(http, made["id"], keep_seconds=3600)
    assert (works(api, made["key"]), works(api, fresh)) == (OK, OK)
    http.delete(f"/v1/keys/{made['id']}")
    assert (works(api, made["key"]), works(api, fresh)) == (ENDED, ENDED)


def test_a_key_that_ended_is_not_revived(api: ApiWorld, http: httpx.Client) -> None:
    made = http.post("/v1/keys", json={"name": "desk", "scopes": ["read"], "expires_in_seconds": 60}).json()
    api.clock.forward(60)
    refused = http.post(f"/v1/keys/{made['id']}/rotate", json={}).json()
    assert (refused["code"], refused["details"]) == ("key.conflict", {"key": made["id"]})


def test_a_key_whose_token_was_chosen_is_not_rotated(api: ApiWorld, http: httpx.Client) -> None:
    fixed = api.operations.keys.install("my-development-key", KeyCreate(name="dev", scopes=tuple(Scope)))
    refused = http.post(f"/v1/keys/{fixed.id}/rotate", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "key.conflict")
    assert works(api, "my-development-key") == OK


def test_a_key_with_admin_may_rotate_itself_and_no_other_scope_may(api: ApiWorld, http: httpx.Client) -> None:
    made = http.post("/v1/keys", json={"name": "ops", "scopes": ["admin"]}).json()
    fresh = rotate(api.http(made["key"]), made["id"])
    assert (works(api, made["key"]), works(api, fresh)) == (ENDED, OK)
    others = api.token(*(scope for scope in Scope if scope is not Scope.ADMIN))
    refused = api.http(others).post(f"/v1/keys/{made['id']}/rotate", json={})
    assert (refused.status_code, refused.json()["code"]) == (403, "auth.scope")
    assert api.http(others).get(f"/v1/keys/{made['id']}").json()["code"] == "auth.scope"


@pytest.mark.parametrize(
    "body", [{"keep_seconds": -1}, {"keep_seconds": 31 * 86_400}, {"keep": 1}, {"keep_seconds": "x"}]
)
def test_what_no_rotation_can_mean_is_refused(http: httpx.Client, made: dict[str, Any], body: dict[str, Any]) -> None:
    assert http.post(f"/v1/keys/{made['id']}/rotate", json=body).json()["code"] == "request.invalid"


def test_a_rotation_is_audited_without_its_secrets(api: ApiWorld, http: httpx.Client, made: dict[str, Any]) -> None:
    fresh = rotate(http, made["id"], keep_seconds=60)
    entry = http.get("/v1/audit", params={"chain": SETTINGS, "action": "key.rotated"}).json()["items"][0]
    assert entry["subject"] == made["id"]
    assert entry["details"]["keep_seconds"] == 60
    kept = json.dumps([document.value for document in api.documents.all(KEYS)])
    shown = http.get(f"/v1/keys/{made['id']}").text + http.get("/v1/keys").text + http.get("/v1/audit").text
    for token in (made["key"], fresh):
        assert token[-43:] not in kept + shown
        assert sha256_text(token) not in shown


def test_who_waits_is_checked_again_by_the_secret_that_was_sent(
    api: ApiWorld, http: httpx.Client, made: dict[str, Any]
) -> None:
    check = api.operations.authentication
    waiting = check.authenticate(made["key"])
    assert check.recheck(waiting) == waiting
    fresh = check.authenticate(rotate(http, made["id"], keep_seconds=60))
    assert check.recheck(waiting).key.rotated_at_ms is not None
    api.clock.forward(60)
    with pytest.raises(RequestError, match="rotated"):
        check.recheck(waiting)
    assert check.recheck(fresh).key.id == made["id"]
    http.delete(f"/v1/keys/{made['id']}")
    with pytest.raises(RequestError, match="revoked"):
        check.recheck(fresh)


def test_a_caller_shows_no_hash_of_a_secret_when_it_is_printed(api: ApiWorld, made: dict[str, Any]) -> None:
    caller = api.operations.authentication.authenticate(made["key"])
    assert caller.token_sha256 == sha256_text(made["key"])
    assert caller.token_sha256 not in repr(caller)
