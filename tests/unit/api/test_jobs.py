"""Reading jobs: one, waited for, listed; plans and consoles."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import ANA
from tests.support.waiting import eventually
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.execution import ConsoleLine
from vardy_worker.contracts.job import ConsoleRecord
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.ports import Change, Changed


def test_a_job_that_the_caller_has_already_is_not_sent_again(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.RUNNING)
    etag = http.get(f"/v1/jobs/{job.id}").headers["etag"]
    again = http.get(f"/v1/jobs/{job.id}", headers={"If-None-Match": f'"1", W/{etag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    api.move(job.id, Status.RUNNING, Status.SUCCESS)
    changed = http.get(f"/v1/jobs/{job.id}", headers={"If-None-Match": etag})
    assert (changed.status_code, changed.json()["status"]) == (200, "SUCCESS")
    assert changed.headers["etag"] != etag


def test_a_wait_returns_at_once_for_a_settled_job(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    assert http.get(f"/v1/jobs/{job.id}?wait=60").json()["settled"] is True


def test_a_wait_returns_when_the_job_settles(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.RUNNING)
    answers: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: answers.append(http.get(f"/v1/jobs/{job.id}?wait=30")))
    thread.start()
    assert eventually(lambda: api.operations.held.polls == 1)
    api.move(job.id, Status.RUNNING, Status.SUCCESS)
    thread.join(4)
    assert not thread.is_alive()
    assert answers[0].json()["status"] == "SUCCESS"


def test_a_wait_ends_with_the_job_as_it_is(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.RUNNING)
    answer = http.get(f"/v1/jobs/{job.id}?wait=0.05")
    assert (answer.status_code, answer.json()["status"]) == (200, "RUNNING")


@pytest.mark.parametrize("wait", ["61", "-1", "soon", "nan", "inf"])
def test_a_wait_beyond_its_bounds_is_refused(api: ApiWorld, http: httpx.Client, wait: str) -> None:
    answer = http.get(f"/v1/jobs/{api.job().id}?wait={wait}")
    assert (answer.status_code, answer.json()["details"]["problems"][0]["at"]) == (422, "query:wait")


def test_when_the_api_stops_waiting_requests_answer_at_once(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.RUNNING)
    api.transport._loop.loop.call_soon_threadsafe(api.operations.held.stop)
    assert http.get(f"/v1/jobs/{job.id}?wait=60").json()["status"] == "RUNNING"


def test_a_job_of_another_owner_looks_like_one_that_does_not_exist(api: ApiWorld) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    stranger = api.http(api.token(Scope.SUBMIT, owner="desk"))
    for path in ("", "/plan", "/console"):
        hidden = stranger.get(f"/v1/jobs/{job.id}{path}")
        missing = stranger.get(f"/v1/jobs/job_{'0' * 26}{path}")
        assert (hidden.status_code, missing.status_code) == (404, 404)
        assert hidden.json()["code"] == missing.json()["code"] == "job.not_found"
        assert hidden.json()["title"] == missing.json()["title"]


@pytest.mark.parametrize("scope", [Scope.READ, Scope.DECIDE, Scope.OPERATE])
def test_some_scopes_see_every_job(api: ApiWorld, scope: Scope) -> None:
    job = api.job()
    assert api.http(api.token(scope, owner="desk")).get(f"/v1/jobs/{job.id}").status_code == 200


def test_an_owner_survives_the_rotation_of_its_key(api: ApiWorld, http: httpx.Client) -> None:
    old = api.token(Scope.SUBMIT, owner="shop")
    job_id = api.http(old).post("/v1/run", json={"request": "a", "user": ANA.model_dump()}).json()["id"]
    for key in http.get("/v1/keys").json()["items"]:
        if key["scopes"] == ["submit"]:
            http.delete(f"/v1/keys/{key['id']}")
    assert api.http(old).get(f"/v1/jobs/{job_id}").status_code == 401
    assert api.http(api.token(Scope.SUBMIT, owner="shop")).get(f"/v1/jobs/{job_id}").status_code == 200


@pytest.mark.parametrize("job_id", ["nonsense", "job_1", "job_" + "U" * 26, "%00", "job_" + "0" * 300])
def test_an_id_that_cannot_be_is_not_found(http: httpx.Client, job_id: str) -> None:
    answer = http.get(f"/v1/jobs/{job_id}")
    assert (answer.status_code, answer.json()["code"]) == (404, "job.not_found")


def test_a_plan_whose_time_is_over_has_ended_when_it_is_read(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    api.clock.forward(86_400)
    seen = http.get(f"/v1/jobs/{job.id}").json()
    assert (seen["status"], seen["error"]["code"]) == ("POLICY_BLOCKED", "policy.expired")
    assert http.get("/v1/jobs?status=POLICY_BLOCKED").json()["items"][0]["id"] == job.id


def test_a_plan_whose_time_is_over_has_ended_even_while_the_store_cannot_write(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    api.clock.forward(86_400)

    def full(_: Change) -> Changed:
        raise StoreUnavailable("full")

    monkeypatch.setattr(api.store, "change", full)
    seen = http.get(f"/v1/jobs/{job.id}").json()
    assert (seen["status"], seen["error"]["code"]) == ("POLICY_BLOCKED", "policy.expired")


# --- the plan and the console --------------------------------------------------------------------------


def test_the_plan_is_the_bytes_that_were_hashed(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    answer = http.get(f"/v1/jobs/{job.id}/plan")
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"' == f'"{job.digest}"'
    assert http.get(f"/v1/jobs/{job.id}/plan", headers={"If-None-Match": f'"{job.digest}"'}).status_code == 304


def test_a_job_without_a_plan_says_so(api: ApiWorld, http: httpx.Client) -> None:
    answer = http.get(f"/v1/jobs/{api.job().id}/plan")
    assert (answer.status_code, answer.json()["code"]) == (404, "plan.none")


def test_the_console_is_for_owner_and_operators(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job()
    assert http.get(f"/v1/jobs/{job.id}/console").json() == {"lines": [], "truncated": False}
    api.store.put_console(job.id, ConsoleRecord(lines=(ConsoleLine(level="log", text="hello"),), truncated=True))
    shown = {"lines": [{"level": "log", "text": "hello", "round": None}], "truncated": True}
    assert http.get(f"/v1/jobs/{job.id}/console").json() == shown
    assert api.http(api.token(Scope.OPERATE, owner="ops")).get(f"/v1/jobs/{job.id}/console").json() == shown
    reader = api.http(api.token(Scope.READ, owner="desk")).get(f"/v1/jobs/{job.id}/console")
    assert (reader.status_code, reader.json()["code"]) == (403, "auth.scope")


# --- lists ---------------------------------------------------------------------------------------------------


def test_a_list_is_summaries_newest_first_page_by_page(api: ApiWorld, http: httpx.Client) -> None:
    ids = []
    for _ in range(5):
        api.clock.forward(1)
        ids.append(api.job().id)
    first = http.get("/v1/jobs?limit=3").json()
    second = http.get("/v1/jobs", params={"limit": 3, "cursor": first["next"]}).json()
    assert [item["id"] for item in first["items"] + second["items"]] == ids[::-1]
    assert second["next"] is None
    assert first["items"][0].keys() == {
        "id", "kind", "status", "stage", "request", "recipe", "user", "created_at", "settled_at", "expires_at",
        "erased_at", "error_code", "effects_total",
    }  # fmt: skip


def test_filters_narrow_a_list_and_must_all_match(api: ApiWorld, http: httpx.Client) -> None:
    waiting = api.job(Status.PENDING_APPROVAL)
    queued = api.job()
    api.job(Status.RUNNING)

    def ids(query: str) -> set[str]:
        return {item["id"] for item in http.get(f"/v1/jobs?{query}").json()["items"]}

    assert ids("status=PENDING_APPROVAL") == {waiting.id}
    assert ids("status=pending_approval,QUEUED") == {waiting.id, queued.id}
    assert ids("status=QUEUED&status=PENDING_APPROVAL") == {waiting.id, queued.id}
    assert ids("status=QUEUED&user=ana&kind=run") == {queued.id}
    assert ids("user=nobody") == set()
    assert ids("recipe=none") == set()
    assert ids("created_after=2100-01-01T00:00:00") == set()
    assert len(ids("created_after=2020-01-01T00:00:00Z")) == 3


def test_a_list_is_narrowed_to_the_owner_without_a_scope_to_see_more(api: ApiWorld) -> None:
    job = api.job()
    assert api.http(api.token(Scope.SUBMIT, owner="desk")).get("/v1/jobs").json()["items"] == []
    mine = api.http(api.token(Scope.SUBMIT, owner="shop")).get("/v1/jobs").json()["items"]
    assert [item["id"] for item in mine] == [job.id]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("status=DONE", "request.invalid"),
        ("kind=walk", "request.invalid"),
        ("limit=0", "request.invalid"),
        ("limit=201", "request.invalid"),
        ("created_after=yesterday", "request.invalid"),
        ("cursor=nonsense", "cursor.invalid"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(http: httpx.Client, query: str, code: str) -> None:
    answer = http.get(f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, code)
