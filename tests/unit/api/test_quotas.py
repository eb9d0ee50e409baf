"""Rates and ceilings, as callers and administrators see them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import ApiWorld, explore_body, run_body
from tests.support.factories import ANA, LEA, NOW_MS
from tests.support.life import caller
from vardy_api.client_errors import RateLimited
from vardy_api.shapes import UsageView
from vardy_worker.contracts.job import Usage
from vardy_worker.contracts.quota import QuotaOf, RateExceeded
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope, User

if TYPE_CHECKING:
    import httpx

    from tests.support.api import LoopThread

DAY_SECONDS = 86_400
TO_MIDNIGHT = DAY_SECONDS - NOW_MS // 1000 % DAY_SECONDS


def made_key(http: httpx.Client, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = http.post("/v1/keys", json={"owner": "desk", "scopes": ["submit"], **fields}).json()
    return made


def submitted(http: httpx.Client, user: User = ANA, *, again: str = "") -> httpx.Response:
    headers = {"Idempotency-Key": again} if again else {}
    return http.post("/v1/run", json=run_body(user=user.model_dump()), headers=headers)


def spend(api: ApiWorld, job_id: str, tokens: int, cost_usd: float) -> None:
    usage = Usage(model="m", prompt_tokens=tokens, cost_usd=cost_usd)
    api.move(job_id, Status.QUEUED, Status.RUNNING)
    api.move(job_id, Status.RUNNING, Status.SUCCESS, {"usage": usage})


# --- rates --------------------------------------------------------------------------------


@pytest.mark.parametrize(("wait_ms", "seconds"), [(1, 1), (1000, 1), (1001, 2)])
def test_the_time_to_wait_is_told_in_whole_seconds_and_never_too_short(
    api: ApiWorld, wait_ms: int, seconds: int
) -> None:
    limited = RateExceeded(of=QuotaOf.KEY, maximum=60, wait_ms=wait_ms)
    refused = api.app.state.operations.quotas.refusal(caller(), limited)
    assert refused.details["retry_after_seconds"] == seconds


def test_a_key_above_its_rate_is_told_when_to_come_again(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, key_requests_per_minute=4)
    with api.http() as http:
        assert [http.get("/v1/functions").status_code for _ in range(5)] == [200, 200, 200, 200, 429]
        refused = http.get("/v1/jobs")
        assert refused.headers["Retry-After"] == "15"
        assert refused.json()["details"] == {
            "of": "key",
            "limit": "requests_per_minute",
            "maximum": 4,
            "retry_after_seconds": 15,
        }
        assert refused.json()["detail"] == "The API key may send 4 requests a minute; the next is served in 15 s."
        api.clock.forward(15)
        assert http.get("/v1/jobs").status_code == 200
        assert http.get("/v1/jobs").status_code == 429


def test_every_route_that_takes_a_key_is_counted_and_no_other(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, key_requests_per_minute=1)
    with api.http() as http:
        for path in ("/livez", "/readyz", "/metrics", "/openapi.json", "/problems/internal"):
            assert http.get(path).status_code == 200
        assert http.get("/v1/usage").status_code == 200
        document = http.get("/openapi.json").json()
        needs_key = 0
        for path, methods in document["paths"].items():
            for method, route in methods.items():
                if "security" not in route:
                    continue
                needs_key += 1
                answer = http.request(method, path.replace("{", "").replace("}", ""), json={})
                assert answer.status_code == 429, f"{method} {path}"
                assert "429" in route["responses"]
        assert needs_key > 30


def test_a_request_with_a_wrong_secret_takes_nothing_from_the_key_it_names(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, key_requests_per_minute=1)
    token = api.token()
    for _ in range(5):
        with api.http(token[:-4] + "AAAA") as thief:
            assert thief.get("/v1/functions").status_code == 401
    with api.http(token) as http:
        assert http.get("/v1/functions").status_code == 200


def test_a_key_may_have_a_rate_of_its_own_and_zero_is_none(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, key_requests_per_minute=1)
    with api.http() as admin:
        made = made_key(admin, quota={"requests_per_minute": 3})
        assert made["quota"] == {
            "requests_per_minute": 3, "jobs_max": None, "tokens_per_day": None, "cost_usd_per_day": None,
        }  # fmt: skip
        api.clock.forward(60)
        free = made_key(admin, quota={"requests_per_minute": 0})
    with api.http(made["key"]) as http:
        assert [http.get("/v1/functions").status_code for _ in range(4)] == [200, 200, 200, 429]
    with api.http(free["key"]) as http:
        assert {http.get("/v1/functions").status_code for _ in range(20)} == {200}


def test_a_rotation_does_not_reset_the_rate_and_a_new_key_has_its_own(api: ApiWorld, http: httpx.Client) -> None:
    made = made_key(http, quota={"requests_per_minute": 1})
    with api.http(made["key"]) as limited:
        assert limited.get("/v1/functions").status_code == 200
    rotated = http.post(f"/v1/keys/{made['id']}/rotate", json={}).json()
    with api.http(rotated["key"]) as limited:
        assert limited.get("/v1/functions").status_code == 429
    http.delete(f"/v1/keys/{made['id']}")
    with api.http(made_key(http, quota={"requests_per_minute": 1})["key"]) as limited:
        assert limited.get("/v1/functions").status_code == 200


def test_jobs_for_one_person_are_counted_over_all_keys_and_kinds(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, user_requests_per_minute=2)
    with api.http() as one, api.http() as other:
        assert submitted(one).status_code == 202
        assert other.post("/v1/explore", json=explore_body()).status_code == 202
        refused = submitted(other)
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "30"
        assert refused.json()["details"]["of"] == "user"
        assert submitted(other, LEA).status_code == 202
        api.clock.forward(30)
        assert submitted(other).status_code == 202


def test_a_replay_is_neither_counted_nor_refused(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, user_requests_per_minute=2, user_jobs_max=2)
    with api.http() as http:
        for _ in range(5):
            assert submitted(http, again="k").status_code == 202
        assert submitted(http).status_code == 202
        assert submitted(http).status_code == 429
        replayed = submitted(http, again="k")
        assert (replayed.status_code, replayed.headers["Idempotent-Replayed"]) == (202, "true")


def test_a_refused_submission_leaves_its_idempotency_key_free(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, user_requests_per_minute=1)
    with api.http() as http:
        submitted(http)
        assert submitted(http, again="k").status_code == 429
        api.clock.forward(60)
        again = submitted(http, again="k")
        assert again.status_code == 202
        assert "Idempotent-Replayed" not in again.headers


@pytest.mark.parametrize("name", ["a:b{c}*?", "🦊" * 200, "x" * 200, "rate:key", "../../x%00y"])
def test_people_with_odd_ids_have_rates_and_ceilings_of_their_own(loop_thread: LoopThread, name: str) -> None:
    api = ApiWorld(loop_thread, user_requests_per_minute=1, user_jobs_max=1)
    with api.http() as http:
        assert submitted(http).status_code == 202
        assert submitted(http, User(id=name)).status_code == 202
        assert submitted(http, User(id=name)).status_code == 429
        answer = http.get("/v1/usage", params={"user": name})
        assert UsageView.model_validate_json(answer.content).items[1].used.jobs == 1


def test_one_person_in_two_spellings_is_one_person(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, user_requests_per_minute=1)
    with api.http() as http:
        assert submitted(http, User(id="jos\u00e9")).status_code == 202
        assert http.post("/v1/run", json=run_body(user={"id": "jose\u0301"})).status_code == 429


# --- ceilings -----------------------------------------------------------------------------


def test_unsettled_jobs_at_once_are_limited_for_keys_and_people(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, user_jobs_max=1)
    with api.http() as http:
        first = submitted(http).json()["id"]
        refused = submitted(http)
        assert (refused.status_code, refused.json()["code"]) == (429, "quota.exceeded")
        assert refused.json()["details"] == {
            "of": "user",
            "limit": "jobs_max",
            "maximum": 1,
            "used": 1,
            "retry_after_seconds": 5,
        }
        assert refused.headers["Retry-After"] == "5"
        # 1 and 1.0 are equal: numbers of jobs are whole ones.
        assert '"maximum":1,"used":1,' in refused.text
        spend(api, first, 0, 0)
        assert submitted(http).status_code == 202


@pytest.mark.parametrize(
    ("quota", "limit"),
    [({"tokens_per_day": 1000}, "tokens_per_day"), ({"cost_usd_per_day": 0.5}, "cost_usd_per_day")],
)
def test_a_day_s_ceiling_of_a_key_ends_with_the_day(
    api: ApiWorld, http: httpx.Client, quota: dict[str, float], limit: str
) -> None:
    made = made_key(http, quota=quota)
    with api.http(made["key"]) as limited:
        job = submitted(limited).json()["id"]
        spend(api, job, 1000, 0.5)
        refused = submitted(limited, LEA)
        assert (refused.status_code, refused.json()["code"]) == (429, "quota.exceeded")
        assert refused.json()["details"]["limit"] == limit
        assert refused.headers["Retry-After"] == str(TO_MIDNIGHT)
        assert submitted(http).status_code == 202
        # What exists can still be looked at.
        assert limited.get(f"/v1/jobs/{job}").status_code == 200
        api.clock.forward(TO_MIDNIGHT)
        assert submitted(limited).status_code == 202


def test_the_worker_is_told_the_ceilings_that_held_at_submission(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, key_tokens_per_day=7, user_cost_usd_per_day=2)
    with api.http() as http:
        made = made_key(http, quota={"tokens_per_day": 9})
        with api.http(made["key"]) as limited:
            job = api.store.get(submitted(limited).json()["id"])
    assert job is not None
    assert (job.key_id, job.quotas.key.tokens_per_day, job.quotas.user.cost_usd_per_day) == (made["id"], 9, 2)


# --- changing the ceilings of a key --------------------------------------------------------


def test_the_ceilings_of_a_key_change_at_once_and_its_secret_stays(api: ApiWorld, http: httpx.Client) -> None:
    made = made_key(http, quota={"requests_per_minute": 1, "jobs_max": 5})
    with api.http(made["key"]) as limited:
        limited.get("/v1/functions")
        assert limited.get("/v1/functions").status_code == 429
        changed = http.patch(f"/v1/keys/{made['id']}", json={"quota": {"requests_per_minute": None}}).json()
        assert changed["quota"]["requests_per_minute"] is None
        assert changed["quota"]["jobs_max"] == 5
        api.clock.forward(1)
        assert limited.get("/v1/functions").status_code == 200


def test_a_change_of_ceilings_is_noted_with_what_they_were(http: httpx.Client) -> None:
    made = made_key(http, quota={"jobs_max": 5})
    url = f"/v1/keys/{made['id']}"
    http.patch(url, json={"quota": {"jobs_max": 6, "cost_usd_per_day": 0.5}})
    http.patch(url, json={"quota": {"jobs_max": 6}})
    found = http.get("/v1/audit", params={"action": "key.changed"}).json()["items"]
    assert [entry["subject"] for entry in found] == [made["id"]]
    assert found[0]["details"]["quota_before"] == {"jobs_max": 5}
    assert found[0]["details"]["quota"] == {"jobs_max": 6, "cost_usd_per_day": 0.5}
    created = http.get("/v1/audit", params={"action": "key.created"}).json()["items"]
    assert created[0]["details"]["quota"] == {"jobs_max": 5}


@pytest.mark.parametrize(
    "quota",
    [
        {"requests_per_minute": -1},
        {"requests_per_minute": 1_000_001},
        {"jobs_max": 2**53},
        {"tokens_per_day": 1.5},
        {"cost_usd_per_day": 1e10},
        {"requests_per_hour": 1},
    ],
)
def test_ceilings_that_mean_nothing_are_refused(http: httpx.Client, quota: dict[str, float]) -> None:
    assert http.post("/v1/keys", json={"owner": "desk", "scopes": ["submit"], "quota": quota}).status_code == 422
    made = made_key(http)
    assert http.patch(f"/v1/keys/{made['id']}", json={"quota": quota}).status_code == 422


def test_only_administrators_change_ceilings_and_only_of_keys_that_are_valid(api: ApiWorld, http: httpx.Client) -> None:
    made = made_key(http)
    change = {"quota": {"requests_per_minute": 0}}
    with api.http(made["key"]) as own:
        assert own.patch(f"/v1/keys/{made['id']}", json=change).json()["code"] == "auth.scope"
    assert http.patch("/v1/keys/key_none", json=change).json()["code"] == "key.not_found"
    http.delete(f"/v1/keys/{made['id']}")
    assert http.patch(f"/v1/keys/{made['id']}", json=change).json()["code"] == "key.conflict"


# --- usage --------------------------------------------------------------------------------


def usage(http: httpx.Client, **query: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = http.get("/v1/usage", params=query).json()["items"]
    return items


def test_a_key_sees_its_ceilings_and_what_is_used_of_them(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, key_jobs_max=9, user_tokens_per_day=5000)
    with api.http(api.token(person=ANA)) as http:
        spend(api, submitted(http).json()["id"], 1200, 0.25)
        submitted(http)
        answer = http.get("/v1/usage")
        view = UsageView.model_validate_json(answer.content)
    assert view.resets_at.timestamp() == NOW_MS // 1000 + TO_MIDNIGHT
    key, person = view.items
    assert (key.of, key.quota.jobs_max, key.used.jobs, key.used.tokens) == (QuotaOf.KEY, 9, 1, 1200)
    assert (person.of, person.id, person.quota.tokens_per_day) == (QuotaOf.USER, "ana", 5000)
    assert (person.used.tokens, person.used.cost_usd) == (1200, 0.25)


def test_a_bound_key_sees_no_other_person_and_no_other_key(api: ApiWorld, http: httpx.Client) -> None:
    made = made_key(http)
    with api.http(api.token(Scope.SUBMIT, person=ANA)) as bound:
        assert bound.get("/v1/usage", params={"user": "lea"}).json()["code"] == "auth.person"
        assert [share["id"] for share in usage(bound, user="ana")][1] == "ana"
        assert bound.get("/v1/usage", params={"key": made["id"]}).json()["code"] == "auth.scope"
    with api.http(api.token(Scope.OPERATE, person=ANA)) as operator:
        assert usage(operator, user="lea")[1]["id"] == "lea"
    with api.http(made["key"]) as trusted:
        assert usage(trusted, user="lea")[1]["id"] == "lea"
        assert [share["of"] for share in usage(trusted)] == ["key"]
        assert usage(trusted, key=made["id"])[0]["id"] == made["id"]
    assert usage(http, key=made["id"])[0]["id"] == made["id"]
    assert http.get("/v1/usage", params={"key": "key_none"}).json()["code"] == "key.not_found"


def test_an_administrator_sees_the_person_of_a_bound_key(http: httpx.Client) -> None:
    made = made_key(http, person=LEA.model_dump(), quota={"jobs_max": 3})
    key, person = usage(http, key=made["id"])
    assert (key["quota"]["jobs_max"], key["quota"]["requests_per_minute"]) == (3, 6000)
    assert person["id"] == "lea"


# --- what operators see -------------------------------------------------------------------


def test_refusals_are_counted_without_ids(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, user_requests_per_minute=1, user_jobs_max=1)
    with api.http() as http:
        for user in (ANA, ANA, ANA):
            submitted(http, user)
        metrics = http.get("/metrics").text
    assert 'vardy_ceilings_reached_total{limit="jobs_max",of="user"} 2.0' in metrics
    assert "ana" not in metrics


def test_refusals_fill_neither_the_log_nor_the_audit_trail(
    loop_thread: LoopThread, caplog: pytest.LogCaptureFixture
) -> None:
    api = ApiWorld(loop_thread, key_requests_per_minute=1)
    token = api.token()
    with api.http(token) as http, caplog.at_level(logging.WARNING):
        for _ in range(20):
            http.get("/v1/functions")
        assert len(said(caplog)) == 1
        api.clock.forward(60)
        for _ in range(20):
            http.get("/v1/functions")
        assert len(said(caplog)) == 2
    assert said(caplog)[0]["limit"] == "requests_per_minute"
    with api.http() as admin:
        assert {entry["action"] for entry in admin.get("/v1/audit").json()["items"]} == {"key.created"}


def said(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [line for line in lines if line["event"] == "quota.refused"]


# --- the client ---------------------------------------------------------------------------


def test_the_client_waits_where_it_is_a_matter_of_seconds(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, key_requests_per_minute=6)
    vardy = api.vardy()
    began = api.clock.monotonic()
    for _ in range(8):
        vardy.functions()
    assert api.clock.monotonic() - began == 20


def test_the_client_does_not_wait_for_the_next_day(loop_thread: LoopThread) -> None:
    api = ApiWorld(loop_thread, user_tokens_per_day=10)
    vardy = api.vardy()
    job = vardy.run("refund it", user=ANA, wait=False)
    spend(api, job.id, 10, 0)
    began = api.clock.monotonic()
    with pytest.raises(RateLimited) as refused:
        vardy.run("refund it", user=ANA, wait=False)
    assert api.clock.monotonic() == began
    assert refused.value.code == "quota.exceeded"
    assert refused.value.details["retry_after_seconds"] == TO_MIDNIGHT


def test_the_client_changes_ceilings_and_reads_what_is_used(api: ApiWorld) -> None:
    admin = api.vardy()
    made = admin.create_key(["submit"], owner="desk", quota={"jobs_max": 2, "tokens_per_day": 9})
    changed = admin.change_key(made.id, quota={"jobs_max": None})
    assert (changed.quota.jobs_max, changed.quota.tokens_per_day) == (None, 9)
    desk = api.vardy(made.key)
    desk.run("refund it", user=ANA, wait=False)
    assert [share.used.jobs for share in desk.usage(user="ana").items] == [1, 1]
    assert [share.id for share in admin.usage(key=made.id).items] == [made.id]
