"""Erasing over HTTP: who may, of which jobs, and what is answered afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.api import run_body
from tests.support.audit import actions, check, entries
from tests.support.factories import ANA, effect
from vardy_api.client_errors import Conflict, NotFound
from vardy_worker.contracts.audit import SETTINGS
from vardy_worker.contracts.erasure import ERASED
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.contracts.user import Scope
from vardy_worker.ports import Claimed

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.job import JobRecord

DISCARDED = ErrorInfo(code="commit.discarded", message="Given up because of Ana.")
FAILED = ErrorInfo(code="function.failed", message="No.")
LIVE = [Status.QUEUED, Status.RUNNING, Status.COMMITTING, Status.PLANNED, Status.PENDING_APPROVAL, Status.PARTIAL]


def erase(http: httpx.Client, job: JobRecord, **query: str) -> httpx.Response:
    return http.delete(f"/v1/jobs/{job.id}", params=query)


def test_erasing_answers_with_what_stays(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.SUCCESS, output={"name": "Ana"}, effects=(effect(args={"payment_id": 17}),))
    answer = erase(http, job)
    shown = answer.json()
    assert answer.status_code == 200
    assert (shown["request"], shown["user"]["id"], shown["output"], shown["effects"]) == (ERASED, ERASED, None, [])
    assert (shown["status"], shown["plan"]["digest"], shown["plan"]["counts"]["total"]) == ("SUCCESS", job.digest, 1)
    assert shown["erased_at"] is not None
    read = http.get(f"/v1/jobs/{job.id}")
    assert (read.json(), read.headers["ETag"]) == (shown, answer.headers["ETag"])


def test_erasing_again_is_the_same_and_leaves_no_second_entry(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.SUCCESS)
    assert erase(http, job).json() == erase(http, job).json()
    assert actions(api.trail, job.id) == ["job.erased"]
    [entry] = entries(api.trail, job.id)
    assert (entry.by, entry.via, entry.digest) == ("shop", "api", job.digest)
    assert check(api.trail)[job.id].ok


def test_a_dry_run_erases_nothing_and_refuses_as_the_real_one_would(api: ApiWorld, http: httpx.Client) -> None:
    job, live = api.job(Status.SUCCESS), api.job(Status.RUNNING)
    assert erase(http, job, dry_run="true").json()["erased_at"] is None
    assert api.store.get(job.id) == job
    assert erase(http, live, dry_run="true").status_code == 409


@pytest.mark.parametrize("status", LIVE)
def test_a_job_that_may_still_become_something_is_not_erased(api: ApiWorld, http: httpx.Client, status: Status) -> None:
    job = api.job(status)
    answer = erase(http, job)
    assert (answer.status_code, answer.json()["code"]) == (409, "job.conflict")
    assert "first" in answer.json()["detail"]
    assert api.store.get(job.id) == job
    assert entries(api.trail, job.id) == []


def test_a_partial_job_is_erased_once_its_rest_is_discarded(api: ApiWorld, http: httpx.Client) -> None:
    records = (EffectRecord(seq=0, state=EffectState.SUCCEEDED, result={"id": 1}),)
    job = api.job(Status.PARTIAL, records=records)
    before = http.get(f"/v1/jobs/{job.id}").json()["plan"]["counts"]
    http.post(f"/v1/jobs/{job.id}/discard", json={"reason": "Ana left.", "user": {"id": "olga"}})
    shown = erase(http, job).json()
    assert shown["plan"]["counts"] == before | {"pending": 0, "skipped": 1}
    assert shown["error"] == {"code": "commit.discarded", "message": "What was said of this was erased.", "details": {}}
    assert "Ana" not in str([entry.model_dump() for entry in entries(api.trail, job.id)])


def test_a_plan_that_expired_unseen_is_over(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    api.clock.forward(2 * 86_400)
    answer = erase(http, job)
    assert (answer.status_code, answer.json()["status"]) == (200, "POLICY_BLOCKED")


def test_nothing_can_be_done_with_an_erased_job(api: ApiWorld, http: httpx.Client) -> None:
    failed = api.job(Status.FUNCTION_ERROR, error=FAILED)
    unknown = (EffectRecord(seq=0, state=EffectState.UNKNOWN),)
    partial = api.job(Status.PARTIAL, error=DISCARDED, records=unknown)
    for job in (failed, partial):
        assert erase(http, job).status_code == 200
    person = {"user": {"id": "olga"}}
    refused = [
        http.post(f"/v1/jobs/{failed.id}/requeue", json=person),
        http.post(f"/v1/jobs/{partial.id}/requeue", json=person),
        http.post(f"/v1/jobs/{partial.id}/discard", json={**person, "reason": "r"}),
        http.post(f"/v1/jobs/{partial.id}/effects/0/resolve", json={**person, "done": True, "reason": "r"}),
        http.post(f"/v1/jobs/{failed.id}/cancel", json=person),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(409, "job.conflict")] * 5
    assert all("contents were erased" in answer.json()["detail"] for answer in refused)
    expect = frozenset({Status.COMMITTING})
    claimed = api.store.claim(failed.id, expect=expect, to=Status.COMMITTING, worker="w", lease_ms=1)
    assert not isinstance(claimed, Claimed)


def test_the_plan_of_an_erased_job_is_gone(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.SUCCESS)
    erase(http, job)
    answer = http.get(f"/v1/jobs/{job.id}/plan")
    assert (answer.status_code, answer.json()["code"]) == (410, "plan.erased")
    assert answer.json()["details"]["digest"] == job.digest
    assert http.get(f"/v1/jobs/{job.id}/console").json() == {"lines": [], "truncated": False}
    tried = http.post("/v1/rules/test", json={"text": "default: block\n", "job": job.id})
    assert tried.status_code == 410
    with api.vardy() as vardy, pytest.raises(NotFound) as gone:
        vardy.plan(job.id)
    assert gone.value.code == "plan.erased"


def test_a_trial_of_rules_says_that_the_plan_is_not_kept(api: ApiWorld, http: httpx.Client) -> None:
    job, other = api.job(Status.SUCCESS), api.job(Status.SUCCESS)
    erase(http, job)
    tried = http.post("/v1/rules/test", json={"text": "default: block\n"}).json()
    assert {item["job"]: item["change"] for item in tried["items"]} == {job.id: "unknown", other.id: "stricter"}


def test_recipes_that_were_saved_from_it_stay_and_no_new_one_can_be(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.SUCCESS)
    assert http.put("/v1/recipes/kept", json={"from_job": job.id}).status_code == 200
    erase(http, job)
    assert http.get("/v1/recipes/kept").json()["source"] == "async function run() {}"
    late = http.put("/v1/recipes/late", json={"from_job": job.id})
    assert (late.status_code, "erased" in late.json()["detail"]) == (422, True)


def test_the_same_submission_leads_to_what_stayed(api: ApiWorld, http: httpx.Client) -> None:
    send = {"json": run_body(), "headers": {"Idempotency-Key": "k1"}}
    first = http.post("/v1/run", **send).json()  # type: ignore[arg-type] # the parts have several types
    api.move(first["id"], Status.QUEUED, Status.RUNNING)
    api.move(first["id"], Status.RUNNING, Status.SUCCESS)
    http.delete(f"/v1/jobs/{first['id']}")
    again = http.post("/v1/run", **send)  # type: ignore[arg-type] # the same
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (again.json()["id"], again.json()["request"]) == (first["id"], ERASED)


@pytest.mark.parametrize("scopes", [(Scope.SUBMIT,), (Scope.READ, Scope.DECIDE), (Scope.ADMIN,)])
def test_only_operators_erase(api: ApiWorld, scopes: tuple[Scope, ...]) -> None:
    job = api.job(Status.SUCCESS)
    http = api.http(api.token(*scopes))
    assert (erase(http, job).status_code, http.delete("/v1/users/ana/totals").status_code) == (403, 403)
    assert api.store.get(job.id) == job


def test_the_client_erases_and_tells_what_stands_against_it(api: ApiWorld) -> None:
    job, live = api.job(Status.SUCCESS), api.job(Status.RUNNING)
    with api.vardy() as vardy:
        assert vardy.erase(job.id, dry_run=True).erased_at is None
        assert vardy.erase(job.id).erased_at is not None
        with pytest.raises(Conflict):
            vardy.erase(live.id)


@pytest.mark.parametrize(
    ("kept", "typed"),
    [
        ("Jos\u00e9", "Jose\u0301"),
        ("shop/ana", "shop/ana"),
        ("ana/totals", "ana/totals"),
        ("50%25 ana?", "50%25 ana?"),
        ("ana@shop.example", "ana@shop.example"),
    ],
    ids=ascii,
)
def test_whatever_an_id_is_made_of_it_finds_the_persons_jobs_totals_and_deeds(
    api: ApiWorld, kept: str, typed: str
) -> None:
    with api.vardy() as vardy:
        made = vardy.run("Give 17 back.", user={"id": typed}, wait=False)
        api.move(made.id, Status.QUEUED, Status.RUNNING)
        api.move(made.id, Status.RUNNING, Status.COMMITTING)
        job = api.store.get(made.id)
        assert job is not None
        api.store.count_plan(job, fence=0, totals=EffectTotals(counts={"refund_payment": 2}), window_hours=0)
        assert [found.id for found in vardy.list_jobs(user=typed).items] == [job.id]
        assert [entry.by for entry in vardy.audit(by=typed).items] == [kept]
        assert not api.store.user_totals(kept, window_hours=24).is_zero
        vardy.erase_totals(typed)
    assert api.store.user_totals(kept, window_hours=24).is_zero


def test_a_persons_totals_are_erased_once_and_again_and_noted_once(api: ApiWorld) -> None:
    job = api.job(Status.COMMITTING)
    api.store.count_plan(job, fence=0, totals=EffectTotals(counts={"refund_payment": 2}), window_hours=0)
    assert api.store.user_totals(ANA.id, window_hours=24).counts == {"refund_payment": 2}
    with api.vardy() as vardy:
        vardy.erase_totals(ANA.id)
        vardy.erase_totals(ANA.id)
        (entry,) = vardy.audit(action="totals.erased").items
    assert api.store.user_totals(ANA.id, window_hours=24).is_zero
    assert (entry.chain, entry.subject, entry.before, entry.after) == (SETTINGS, ANA.id, None, None)
    assert (entry.via, bool(entry.key_id)) == ("api", True)
