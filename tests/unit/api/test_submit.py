"""`POST /v1/run`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import run_body
from tests.support.factories import ANA, LEA
from vardy_worker.contracts.errors import QueueUnavailable, RecordTooNew, StoreUnavailable
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.errors import VardyError


def test_a_job_is_stored_and_published_before_202_is_answered(api: ApiWorld, http: httpx.Client) -> None:
    answer = http.post("/v1/run", json=run_body(metadata={"ticket": "4711"}))
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert answer.headers["retry-after"] == "1"
    assert (job["status"], job["settled"], job["schema"]) == ("QUEUED", False, 1)
    assert job["metadata"] == {"ticket": "4711"}
    assert api.store.get(job["id"]) is not None
    assert api.queue.take("run") == job["id"]


def test_a_lost_message_does_not_lose_the_job(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(queue: str, job_id: str) -> None:
        raise QueueUnavailable(f"no {queue} for {job_id}")

    monkeypatch.setattr(api.queue, "publish", broken)
    job_id = http.post("/v1/run", json=run_body()).json()["id"]
    api.clock.forward(10)
    assert [due.job_id for due in api.store.take_due(limit=10, hide_ms=1000)] == [job_id]


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"request": "a", "recipe": "b"}, ""),
        ({"request": None}, ""),
        ({"request": ""}, "/request"),
        ({"params": [1]}, "/params"),
        ({"mode": "later"}, "/mode"),
        ({"surprise": 1}, "/surprise"),
        ({"user": {"id": ""}}, "/user/id"),
        ({"user": None}, "/user"),
        ({"execution_repairs": 4}, "/execution_repairs"),
        ({"metadata": {"a": 1}}, "/metadata/a"),
        ({"limits": {"no_such_limit": 1}}, "/limits/no_such_limit"),
        ({"limits": {"calls_max": 257}}, "/limits/calls_max"),
        ({"limits": {"calls_max": 2.5}}, "/limits/calls_max"),
        ({"limits": {"execute_seconds_max": 0}}, "/limits/execute_seconds_max"),
        ({"request": "  \n"}, ""),
        ({"functions": ["list_payment"]}, "/functions/0"),
        ({"functions": ["list_salaries"]}, "/functions/0"),
        ({"callback_url": "https://example.org"}, "/callback_url"),
    ],
)
def test_a_body_that_does_not_fit_is_refused_with_the_place(
    api: ApiWorld, http: httpx.Client, fields: dict[str, Any], at: str
) -> None:
    answer = http.post("/v1/run", json={**run_body(), **fields})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "request.invalid")
    assert problem["details"]["problems"][0]["at"] == at
    assert api.queue.depth("run") == 0


def test_a_value_that_does_not_fit_is_not_repeated_in_the_answer(http: httpx.Client) -> None:
    answer = http.post("/v1/run", json=run_body(params="row-4711", mode="secret-4711"))
    assert "4711" not in answer.text


def test_limits_may_be_lowered(http: httpx.Client) -> None:
    assert http.post("/v1/run", json=run_body(limits={"calls_max": 3})).status_code == 202


def test_functions_are_narrowed_to_names_that_exist_with_a_hint_otherwise(http: httpx.Client) -> None:
    assert http.post("/v1/run", json=run_body(functions=["list_payments"])).status_code == 202
    problem = http.post("/v1/run", json=run_body(functions=["list_payment"])).json()
    assert "Did you mean list_payments?" in problem["detail"]


def test_an_unknown_recipe_is_refused(http: httpx.Client) -> None:
    answer = http.post("/v1/run", json=run_body(recipe="no-such"))
    assert (answer.status_code, answer.json()["code"]) == (404, "recipe.not_found")


def test_a_job_keeps_the_version_of_its_recipe(api: ApiWorld, http: httpx.Client) -> None:
    source = "async function run(params) { return params.days; }"
    http.put("/v1/recipes/days", json={"source": source})
    job_id = http.post("/v1/run", json=run_body(recipe="days")).json()["id"]
    http.put("/v1/recipes/days", json={"source": "async function run() { return 2; }"})
    record = api.store.get(job_id)
    assert record is not None
    assert record.recipe is not None
    assert (record.recipe.version, record.recipe.source) == (1, source)


def test_a_bound_key_acts_only_as_its_person(api: ApiWorld) -> None:
    http = api.http(api.token(Scope.SUBMIT, person=ANA))
    assert http.post("/v1/run", json={"request": "a"}).json()["user"] == ANA.model_dump(mode="json")
    claimed = http.post("/v1/run", json={"request": "a", "user": {"id": "ana", "roles": ["root"]}})
    assert claimed.json()["user"]["roles"] == ["support"]
    answer = http.post("/v1/run", json={"request": "a", "user": LEA.model_dump()})
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.person")


# --- Idempotency-Key ---------------------------------------------------------------------------------


def test_a_key_reused_with_the_same_body_gives_the_same_job(api: ApiWorld, http: httpx.Client) -> None:
    first = http.post("/v1/run", json=run_body(), headers={"Idempotency-Key": "k1"})
    second = http.post("/v1/run", json=run_body(), headers={"Idempotency-Key": "k1"})
    assert second.json()["id"] == first.json()["id"]
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert api.queue.depth("run") == 1


def test_a_key_reused_with_another_body_is_refused(http: httpx.Client) -> None:
    http.post("/v1/run", json=run_body(), headers={"Idempotency-Key": "k1"})
    answer = http.post("/v1/run", json=run_body(request="else"), headers={"Idempotency-Key": "k1"})
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency.mismatch")


def test_a_key_replays_even_when_the_body_would_no_longer_be_taken(http: httpx.Client) -> None:
    http.put("/v1/recipes/days", json={"source": "async function run() { return 1; }"})
    headers = {"Idempotency-Key": "k1"}
    first = http.post("/v1/run", json=run_body(recipe="days"), headers=headers).json()
    http.delete("/v1/recipes/days")
    assert http.post("/v1/run", json=run_body(recipe="days"), headers=headers).json()["id"] == first["id"]
    assert http.post("/v1/run", json=run_body(recipe="days")).json()["code"] == "recipe.not_found"
    other = http.post("/v1/run", json=run_body(recipe="none"), headers=headers)
    assert other.json()["code"] == "idempotency.mismatch"


def test_a_key_belongs_to_its_owner(api: ApiWorld, http: httpx.Client) -> None:
    mine = http.post("/v1/run", json=run_body(), headers={"Idempotency-Key": "k1"})
    other = api.http(api.token(owner="desk")).post("/v1/run", json=run_body(), headers={"Idempotency-Key": "k1"})
    assert other.json()["id"] != mine.json()["id"]


def test_a_key_whose_first_request_is_under_way_is_refused_for_now(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    submit = api.store.submit

    def slow(*args: Any, **fields: Any) -> Any:
        began.set()
        assert go_on.wait(10)
        return submit(*args, **fields)

    monkeypatch.setattr(api.store, "submit", slow)
    headers = {"Idempotency-Key": "k1"}
    first: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: first.append(http.post("/v1/run", json=run_body(), headers=headers)))
    thread.start()
    assert began.wait(10)
    second = http.post("/v1/run", json=run_body(), headers=headers)
    go_on.set()
    thread.join()
    assert (second.status_code, second.json()["code"]) == (409, "idempotency.in_flight")
    assert second.headers["retry-after"] == "1"
    assert first[0].status_code == 202
    assert http.post("/v1/run", json=run_body(), headers=headers).json()["id"] == first[0].json()["id"]


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "ü"])
def test_a_key_that_is_no_key_is_refused(http: httpx.Client, key: str) -> None:
    answer = http.post("/v1/run", json=run_body(), headers=[(b"Idempotency-Key", key.encode("latin-1"))])
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")


# --- Prefer: wait --------------------------------------------------------------------------------------


def test_a_preferred_wait_answers_200_when_the_job_settles_in_time(api: ApiWorld, http: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k1", "Prefer": "wait=20"}
    answers: list[httpx.Response] = []
    published = threading.Event()
    publish = api.queue.publish

    def tell(queue: Any, job_id: str) -> None:
        publish(queue, job_id)
        published.set()

    api.queue.publish = tell  # type: ignore[method-assign] # the test stands in for the worker
    thread = threading.Thread(target=lambda: answers.append(http.post("/v1/run", json=run_body(), headers=headers)))
    thread.start()
    assert published.wait(10)
    job_id = api.queue.take("run")
    assert job_id is not None
    api.move(job_id, Status.QUEUED, Status.RUNNING)
    api.move(job_id, Status.RUNNING, Status.SUCCESS, {"output": {"paid": True}})
    thread.join(10)
    assert answers[0].status_code == 200
    assert answers[0].headers["preference-applied"] == "wait=20"
    assert (answers[0].json()["status"], answers[0].json()["output"]) == ("SUCCESS", {"paid": True})


def test_a_preferred_wait_answers_202_when_the_time_is_over(http: httpx.Client) -> None:
    answer = http.post("/v1/run", json=run_body(), headers={"Prefer": "wait=0.05"})
    assert (answer.status_code, answer.json()["status"]) == (202, "QUEUED")


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), RecordTooNew("newer")])
def test_a_preferred_wait_answers_202_when_the_stored_job_cannot_be_read(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch, failure: VardyError
) -> None:
    def unreadable(job_id: str) -> None:
        del job_id
        raise failure

    monkeypatch.setattr(api.store, "get", unreadable)
    answer = http.post("/v1/run", json=run_body(), headers={"Prefer": "wait=0.05"})
    assert (answer.status_code, answer.json()["status"]) == (202, "QUEUED")
    assert answer.headers["location"] == f"/v1/jobs/{api.queue.take('run')}"
    assert "preference-applied" not in answer.headers


@pytest.mark.parametrize("prefer", ["respond-async", "wait=soon", "wait=-1", "wait=nan", ""])
def test_a_preference_that_means_nothing_is_ignored(http: httpx.Client, prefer: str) -> None:
    answer = http.post("/v1/run", json=run_body(), headers={"Prefer": prefer})
    assert answer.status_code == 202
    assert "preference-applied" not in answer.headers
