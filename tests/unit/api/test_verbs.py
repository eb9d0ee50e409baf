"""Decisions, commits and the operator's verbs over HTTP."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import approve
from tests.support.factories import ANA, LEA, LEO, effect
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import Change, Changed, Conflict, Missing

DENIAL = {"decision": "deny", "user": LEA.model_dump(), "reason": "Not today."}


def decide(http: httpx.Client, job: JobRecord, body: dict[str, Any], digest: str | None = None) -> httpx.Response:
    headers = {"If-Match": f'"{job.digest if digest is None else digest}"'}
    return http.post(f"/v1/jobs/{job.id}/decisions", json=body, headers=headers)


def test_the_last_approval_starts_exactly_one_commit(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    answer = decide(http, job, approve())
    assert (answer.status_code, answer.json()["status"]) == (200, "COMMITTING")
    [decision] = answer.json()["decisions"]
    assert (decision["user"]["id"], decision["at"]) == ("lea", "2023-11-14T22:13:20Z")
    assert (api.queue.take("commit"), api.queue.take("commit")) == (job.id, None)
    late = decide(http, job, approve(LEO))
    assert (late.status_code, late.json()["code"]) == (409, "job.conflict")
    assert late.json()["details"]["status"] == "COMMITTING"
    assert api.queue.depth("commit") == 0


def test_while_the_quorum_is_incomplete_each_approval_answers_the_job(api: ApiWorld, http: httpx.Client) -> None:
    needs = (ApprovalNeed(rule="mass-mail", roles=("support_lead",), quorum=2),)
    job = api.job(Status.PENDING_APPROVAL, needs=needs)
    for _ in range(2):
        answer = decide(http, job, approve())
        assert (answer.status_code, answer.json()["status"]) == (200, "PENDING_APPROVAL")
        assert answer.json()["plan"]["approvals"][0]["approved_by"] == ["lea"]
    assert len(answer.json()["decisions"]) == 1
    assert decide(http, job, approve(LEO)).json()["status"] == "COMMITTING"


def test_a_denial_ends_the_job_and_needs_a_reason(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    refused = decide(http, job, {**DENIAL, "reason": " "})
    assert (refused.status_code, refused.json()["code"]) == (422, "approval.reason")
    denied = decide(http, job, DENIAL).json()
    assert (denied["status"], denied["error"]["code"]) == ("POLICY_BLOCKED", "policy.denied")
    assert api.queue.depth("commit") == 0


def test_a_decision_without_a_digest_changes_nothing(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    answer = http.post(f"/v1/jobs/{job.id}/decisions", json=approve())
    assert (answer.status_code, answer.json()["code"]) == (428, "digest.missing")
    assert http.get(f"/v1/jobs/{job.id}").json()["decisions"] == []


@pytest.mark.parametrize("if_match", ['"0000"', "*", 'W/"{digest}"', '"0", "{digest}"', '"'])
def test_a_decision_on_another_plan_changes_nothing(api: ApiWorld, http: httpx.Client, if_match: str) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    headers = {"If-Match": if_match.replace("{digest}", job.digest)}
    answer = http.post(f"/v1/jobs/{job.id}/decisions", json=approve(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (412, "digest.mismatch")
    assert http.get(f"/v1/jobs/{job.id}").json()["decisions"] == []


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_looking_never_decides(api: ApiWorld, http: httpx.Client, method: str) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    answer = http.request(method, f"/v1/jobs/{job.id}/decisions", headers={"If-Match": f'"{job.digest}"'})
    assert answer.status_code == 405
    assert http.get(f"/v1/jobs/{job.id}").json()["status"] == "PENDING_APPROVAL"


def test_the_requester_cannot_approve_through_any_key(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    for client in (http, api.http(api.token(Scope.DECIDE, person=ANA, owner="other"))):
        answer = decide(client, job, approve(ANA))
        assert (answer.status_code, answer.json()["code"]) == (403, "approval.requester")


def test_only_the_roles_that_were_named_may_decide(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL, needs=(ApprovalNeed(rule="r", roles=("finance",)),))
    answer = decide(http, job, approve())
    assert (answer.status_code, answer.json()["code"]) == (403, "approval.role")


def test_deciding_needs_its_scope(api: ApiWorld) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    answer = decide(api.http(api.token(Scope.SUBMIT)), job, approve())
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.scope")


def test_a_decision_says_where_it_came_from(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    headers = {"If-Match": f'"{job.digest}"', "Vardy-Via": "cli"}
    answer = http.post(f"/v1/jobs/{job.id}/decisions", json=approve(), headers=headers)
    assert answer.json()["decisions"][0]["via"] == "cli"


def test_after_its_time_a_plan_can_no_longer_be_approved(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    api.clock.forward(86_400)
    answer = decide(http, job, approve())
    assert (answer.status_code, answer.json()["code"]) == (409, "approval.expired")
    assert http.get("/v1/jobs?status=POLICY_BLOCKED").json()["items"][0]["error_code"] == "policy.expired"
    assert api.queue.depth("commit") == 0


def test_a_decision_that_loses_a_race_is_made_on_the_job_as_it_is_now(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = api.job(Status.PENDING_APPROVAL, needs=(ApprovalNeed(rule="r", quorum=2),))
    change = api.store.change
    lost = threading.Event()

    def beaten(wanted: Change) -> Changed | Conflict | Missing:
        if not lost.is_set():
            lost.set()
            assert decide(http, job, approve(LEO)).status_code == 200
        return change(wanted)

    monkeypatch.setattr(api.store, "change", beaten)
    assert decide(http, job, approve()).json()["status"] == "COMMITTING"
    assert api.queue.depth("commit") == 1


# --- committing a planned job ------------------------------------------------------------------------------


def commit(http: httpx.Client, job: JobRecord) -> httpx.Response:
    return http.post(
        f"/v1/jobs/{job.id}/commit", json={"user": ANA.model_dump()}, headers={"If-Match": f'"{job.digest}"'}
    )


def planned(api: ApiWorld) -> JobRecord:
    return api.job(Status.PLANNED, verdict=Verdict.ALLOW, needs=())


def test_a_planned_job_is_committed_when_the_rules_allow_it(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/rules", json={"text": "default: allow\n", "user": LEA.model_dump()})
    job = planned(api)
    assert commit(http, job).json()["status"] == "COMMITTING"
    assert api.queue.take("commit") == job.id


def test_a_planned_job_waits_for_approval_when_the_rules_now_ask_for_it(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api)
    parked = commit(http, job).json()
    assert (parked["status"], parked["plan"]["revision"]) == ("PENDING_APPROVAL", 2)
    assert parked["plan"]["digest"] != job.digest
    assert parked["plan"]["avoidable"] is None
    assert api.queue.depth("commit") == 0


def test_a_planned_job_that_now_waits_says_how_that_could_be_avoided(api: ApiWorld, http: httpx.Client) -> None:
    rule = "{name: a, on: [refund_payment], when: args.payment_id > 0, then: approve}"
    http.put("/v1/rules", json={"text": f"default: allow\nrules: [{rule}]\n", "user": LEA.model_dump()})
    parked = commit(http, planned(api)).json()
    assert parked["status"] == "PENDING_APPROVAL"
    assert parked["plan"]["avoidable"] == {"without": [1], "message": "Without effect 1 the rest would be allowed."}


def test_a_planned_job_is_blocked_when_the_rules_now_block_it(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/rules", json={"text": "default: block\n", "user": LEA.model_dump()})
    blocked = commit(http, planned(api)).json()
    assert (blocked["status"], blocked["error"]["code"]) == ("POLICY_BLOCKED", "policy.blocked")


def test_a_planned_job_is_judged_by_what_its_requester_did_meanwhile(api: ApiWorld, http: httpx.Client) -> None:
    rule = "{name: often, on: [refund_payment], when: user_window.counts.refund_payment > 1, then: block}"
    http.put("/v1/rules", json={"text": f"default: allow\nrules: [{rule}]\n", "user": LEA.model_dump()})
    other = api.job(Status.COMMITTING)
    first, second = planned(api), planned(api)
    assert commit(http, first).json()["status"] == "COMMITTING"
    totals = EffectTotals(counts={"refund_payment": 2})
    assert api.store.count_plan(other, fence=other.fence, totals=totals, window_hours=24)
    blocked = commit(http, second).json()
    assert (blocked["status"], blocked["error"]["code"]) == ("POLICY_BLOCKED", "policy.blocked")
    assert api.store.user_totals(ANA.id, window_hours=24) == totals


def test_a_planned_job_is_committed_only_as_it_was_shown(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api)
    missing = http.post(f"/v1/jobs/{job.id}/commit", json={"user": ANA.model_dump()})
    other = http.post(f"/v1/jobs/{job.id}/commit", json={"user": ANA.model_dump()}, headers={"If-Match": '"0"'})
    assert (missing.status_code, other.status_code) == (428, 412)
    api.clock.forward(86_400)
    assert commit(http, job).json()["code"] == "approval.expired"
    assert commit(http, api.job()).json()["code"] == "job.conflict"


def test_rules_that_this_release_cannot_read_commit_nothing(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api)
    api.break_rules()
    answer = commit(http, job)
    assert (answer.status_code, answer.json()["code"]) == (409, "commit.blocked")
    assert http.get(f"/v1/jobs/{job.id}").json()["status"] == "PLANNED"


def test_a_bound_key_may_leave_the_body_out(api: ApiWorld) -> None:
    http = api.http(api.token(Scope.SUBMIT, person=ANA))
    job = planned(api)
    answer = http.post(f"/v1/jobs/{job.id}/commit", headers={"If-Match": f'"{job.digest}"'})
    assert answer.json()["status"] == "PENDING_APPROVAL"
    assert http.post(f"/v1/jobs/{job.id}/cancel").json()["status"] == "CANCELLED"


# --- cancel ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [Status.QUEUED, Status.RUNNING, Status.PLANNED, Status.PENDING_APPROVAL])
def test_a_job_that_has_not_begun_to_commit_is_cancelled(api: ApiWorld, http: httpx.Client, status: Status) -> None:
    job = api.job(status)
    cancelled = http.post(f"/v1/jobs/{job.id}/cancel", json={"user": ANA.model_dump()}).json()
    assert (cancelled["status"], cancelled["error"]["details"]) == ("CANCELLED", {"by": "ana"})


def test_a_committing_job_is_asked_to_stop(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.COMMITTING)
    assert http.post(f"/v1/jobs/{job.id}/cancel").json()["status"] == "COMMITTING"
    record = api.store.get(job.id)
    assert record is not None
    assert record.cancel_requested_by == "shop"


def test_a_cancel_that_comes_as_the_commit_ends_is_refused(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = api.job(Status.COMMITTING)
    request_cancel = api.store.request_cancel

    def late(job_id: str, **given: Any) -> bool:
        api.move(job_id, Status.COMMITTING, Status.SUCCESS)
        return request_cancel(job_id, **given)

    monkeypatch.setattr(api.store, "request_cancel", late)
    answer = http.post(f"/v1/jobs/{job.id}/cancel")
    assert (answer.status_code, answer.json()["details"]["status"]) == (409, "SUCCESS")


def test_a_job_that_has_ended_cannot_be_cancelled(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.SUCCESS)
    answer = http.post(f"/v1/jobs/{job.id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "job.conflict")


def test_only_its_owner_or_an_operator_cancels_a_job(api: ApiWorld) -> None:
    job = api.job()
    assert (
        api.http(api.token(Scope.READ, Scope.SUBMIT, owner="desk")).post(f"/v1/jobs/{job.id}/cancel").status_code == 403
    )
    assert api.http(api.token(Scope.SUBMIT, owner="desk")).post(f"/v1/jobs/{job.id}/cancel").status_code == 404
    assert api.http(api.token(Scope.OPERATE, owner="ops")).post(f"/v1/jobs/{job.id}/cancel").status_code == 200


# --- requeue, resolve, discard -------------------------------------------------------------------------------


def partial(api: ApiWorld, *states: EffectState, **fields: Any) -> JobRecord:
    records = tuple(EffectRecord(seq=seq, state=state, attempts=1) for seq, state in enumerate(states))
    return api.job(Status.PARTIAL, records=records, **fields)


def test_a_partial_job_is_requeued(api: ApiWorld, http: httpx.Client) -> None:
    job = partial(api, EffectState.SUCCEEDED, EffectState.FAILED)
    assert http.post(f"/v1/jobs/{job.id}/requeue", json={"user": LEA.model_dump()}).json()["status"] == "COMMITTING"
    assert api.queue.take("commit") == job.id


def test_an_unknown_effect_is_resolved_before_the_job_is_requeued(api: ApiWorld, http: httpx.Client) -> None:
    job = partial(api, EffectState.UNKNOWN, EffectState.PENDING)
    refused = http.post(f"/v1/jobs/{job.id}/requeue")
    assert (refused.status_code, refused.json()["code"]) == (409, "commit.unresolved")
    assert refused.json()["details"] == {"effects": [0]}
    url = f"/v1/jobs/{job.id}/effects/0/resolve"
    resolved = http.post(url, json={"done": True, "reason": "Found it.", "user": LEA.model_dump()}).json()
    assert (resolved["status"], resolved["effects"][0]["state"]) == ("PARTIAL", "RESOLVED_DONE")
    assert resolved["plan"]["counts"]["resolved"] == 1
    again = http.post(url, json={"done": True, "reason": "Found it."})
    assert (again.status_code, again.json()["code"]) == (409, "effect.not_unknown")
    assert http.post(f"/v1/jobs/{job.id}/requeue").json()["status"] == "COMMITTING"


@pytest.mark.parametrize(
    ("seq", "body", "status", "code"),
    [
        (9, {"done": False, "reason": "r"}, 404, "effect.not_found"),
        (0, {"done": False}, 422, "approval.reason"),
        (0, {"done": True, "reason": "r"}, 422, "effect.result"),
        (0, {"done": True, "reason": "r", "result": {"id": "row-4711"}}, 422, "effect.result"),
        (0, {"done": True, "reason": "r", "result": {"id": 4}}, 200, None),
        (0, {"done": False, "reason": "r"}, 200, None),
        (-1, {"done": False, "reason": "r"}, 422, "request.invalid"),
    ],
)
def test_a_result_is_needed_and_checked_where_a_later_effect_refers_to_it(
    api: ApiWorld, http: httpx.Client, seq: int, body: dict[str, Any], status: int, code: str | None
) -> None:
    later = effect(1, args={}, refs=(Ref(at="/payment_id", effect=0, path="/id"),))
    job = partial(api, EffectState.UNKNOWN, EffectState.PENDING, effects=(effect(), later))
    answer = http.post(f"/v1/jobs/{job.id}/effects/{seq}/resolve", json=body)
    assert (answer.status_code, answer.json().get("code")) == (status, code)
    assert "4711" not in answer.text


def test_a_result_is_refused_when_its_function_is_gone(api: ApiWorld, http: httpx.Client) -> None:
    job = partial(api, EffectState.UNKNOWN)
    api.forget_function("refund_payment")
    body = {"done": True, "reason": "r", "result": {"id": 4}}
    answer = http.post(f"/v1/jobs/{job.id}/effects/0/resolve", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "effect.result")


def test_the_rest_of_a_partial_job_is_discarded_for_good(api: ApiWorld, http: httpx.Client) -> None:
    job = partial(api, EffectState.SUCCEEDED)
    assert http.post(f"/v1/jobs/{job.id}/discard", json={}).json()["code"] == "approval.reason"
    ended = http.post(f"/v1/jobs/{job.id}/discard", json={"reason": "Refunded by hand."}).json()
    assert (ended["status"], ended["error"]["code"]) == ("PARTIAL", "commit.discarded")
    assert [item["state"] for item in ended["effects"]] == ["SUCCEEDED", "SKIPPED"]
    assert http.post(f"/v1/jobs/{job.id}/requeue").json()["code"] == "job.conflict"
    assert http.post(f"/v1/jobs/{job.id}/discard", json={"reason": "r"}).json()["code"] == "job.conflict"


@pytest.mark.parametrize("verb", ["requeue", "discard", "effects/0/resolve"])
def test_repairing_needs_its_scope(api: ApiWorld, verb: str) -> None:
    job = partial(api, EffectState.UNKNOWN)
    http = api.http(api.token(Scope.SUBMIT, Scope.DECIDE, Scope.READ))
    answer = http.post(f"/v1/jobs/{job.id}/{verb}", json={} if verb != "effects/0/resolve" else {"done": False})
    assert (answer.status_code, answer.json()["details"]) == (403, {"scopes": ["operate"]})
