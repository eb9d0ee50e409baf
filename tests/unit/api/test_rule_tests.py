"""Rules tried over stored plans: what would change, without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import effect, policy
from vardy_api.operations.rule_tests import STEP_JOBS
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.rules import CelRules

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.policy import PolicyResult

CEILING = """\
default: allow
rules:
- {name: ceiling, on: [refund_payment], when: args.payment_id > 5, then: block, message: "Too high a number."}
- {name: many, on: [refund_payment], when: plan.counts.refund_payment > 2, then: approve}
- {name: mad, on: [refund_payment], when: plan.counts.refund_payment > 900, then: approve}
"""


def planned(api: ApiWorld, *payment_ids: int, verdict: Verdict = Verdict.ALLOW, **fields: Any) -> JobRecord:
    """A job that committed a refund of each payment, with the verdict that was recorded."""
    effects = tuple(effect(seq, args={"payment_id": payment}) for seq, payment in enumerate(payment_ids))
    needs = (ApprovalNeed(rule="old"),) if verdict is Verdict.APPROVE else ()
    judged = policy(verdict, len(effects), *needs)
    return api.job(Status.SUCCESS, **{"effects": effects, "policy": judged, **fields})


def tried(http: httpx.Client, text: str = CEILING, **fields: Any) -> Any:
    answer = http.post("/v1/rules/test", json={"text": text, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_plan_says_what_was_recorded_what_would_be_and_why(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api, 1, 7, 8)
    before = api.store.get(job.id)
    [item] = tried(http, job=job.id)["items"]
    assert (item["job"], item["digest"], item["effects"]) == (job.id, job.digest, 3)
    assert (item["before"], item["after"], item["change"]) == ("allow", "block", "stricter")
    blocked = {"effects": [1, 2], "before": "allow", "after": "block", "rules": ["ceiling", "many"], "failed_rule": ""}
    asked = {"effects": [0], "before": "allow", "after": "approve", "rules": ["many"], "failed_rule": ""}
    assert item["reasons"] == [
        {**asked, "message": "Rule `many` asks for approval of `refund_payment`."},
        {**blocked, "message": "Too high a number."},
    ]
    assert api.store.get(job.id) == before
    assert http.get("/v1/rules").json()["version"] == 0


def test_a_page_counts_in_how_many_plans_each_rule_matched(api: ApiWorld, http: httpx.Client) -> None:
    for ids in ((1, 7), (1,), (1, 2, 9)):
        planned(api, *ids)
    page = tried(http)
    assert page["matched"] == {"ceiling": 2, "many": 1, "mad": 0}
    assert page["failed"] == {"ceiling": 0, "many": 0, "mad": 0}


@pytest.mark.parametrize(
    ("recorded", "text", "change"),
    [
        (Verdict.ALLOW, "default: allow\n", "unchanged"),
        (Verdict.ALLOW, "default: approve\n", "stricter"),
        (Verdict.BLOCK, "default: approve\n", "laxer"),
        (Verdict.APPROVE, "default: approve\n", "unchanged"),
        (Verdict.APPROVE, "rules: [{name: a, then: approve, approvers: {roles: [lead]}}]\n", "other"),
        (Verdict.APPROVE, "rules: [{name: a, then: approve, approvers: {quorum: 2}}]\n", "other"),
        (Verdict.APPROVE, "rules: [{name: other, then: approve}]\n", "unchanged"),
        (
            Verdict.APPROVE,
            "rules: [{name: a, then: approve}, {name: b, then: approve, approvers: {roles: [lead]}}]\n",
            "stricter",
        ),
    ],
)
def test_stricter_and_laxer_are_told_apart(
    api: ApiWorld, http: httpx.Client, recorded: Verdict, text: str, change: str
) -> None:
    job = planned(api, 1, verdict=recorded)
    [item] = tried(http, text, job=job.id)["items"]
    assert item["change"] == change


def test_fewer_approvals_are_laxer(api: ApiWorld, http: httpx.Client) -> None:
    judged = policy(Verdict.APPROVE, 1, ApprovalNeed(rule="a"), ApprovalNeed(rule="b", roles=("lead",)))
    job = planned(api, 1, policy=judged)
    [item] = tried(http, "default: approve\n", job=job.id)["items"]
    assert item["change"] == "laxer"
    assert [need["roles"] for need in item["approvals_before"]] == [[], ["lead"]]


def test_pages_follow_the_filters_and_leave_out_jobs_without_a_plan(api: ApiWorld, http: httpx.Client) -> None:
    jobs = []
    for number in range(5):
        jobs.append(planned(api, number).id)
        api.clock.forward(1)
        api.job(Status.QUEUED)
        api.clock.forward(1)
    found: list[str] = []
    cursor = None
    while True:
        page = tried(http, limit=3, cursor=cursor, status=["SUCCESS", "QUEUED"])
        found += [item["job"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == jobs[::-1]
    assert tried(http, user="nobody")["items"] == []
    assert tried(http, status=["PARTIAL"])["items"] == []


def test_a_page_that_takes_long_ends_early_and_the_next_one_goes_on(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each plan takes two seconds here; a step is five jobs, so that a page ends after its first."""
    jobs = [planned(api, number).id for number in range(STEP_JOBS * 2 + 1)]
    evaluate = CelRules.evaluate

    def slow(*args: Any) -> PolicyResult:
        api.clock.forward(2)
        return evaluate(*args)

    monkeypatch.setattr(CelRules, "evaluate", slow)
    pages, cursor = [], None
    while True:
        page = tried(http, limit=100, **({"cursor": cursor} if cursor else {}))
        pages.append([item["job"] for item in page["items"]])
        cursor = page["next"]
        if cursor is None:
            break
    assert [len(page) for page in pages] == [STEP_JOBS, STEP_JOBS, 1]
    assert sorted(job for page in pages for job in page) == sorted(jobs)


def test_a_plan_whose_function_is_gone_is_named_and_not_judged(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api, 1)
    api.forget_function("refund_payment")
    [item] = tried(http, "default: block\n", job=job.id)["items"]
    assert (item["change"], item["before"], item["after"]) == ("unknown", "allow", None)
    assert item["note"] == "No worker has `refund_payment` any more."


def test_a_plan_that_is_not_kept_is_named_too(api: ApiWorld, http: httpx.Client) -> None:
    planned(api, 1, policy=None)
    [item] = tried(http)["items"]
    assert (item["change"], item["note"]) == ("unknown", "Its plan is not kept any more.")


def test_a_plan_that_was_erased_is_named_too(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api, 1)
    api.store.erase(job.id, expect_version=job.version, at_ms=api.clock.now_ms())
    [item] = tried(http)["items"]
    assert (item["job"], item["change"], item["note"]) == (job.id, "unknown", "Its plan is not kept any more.")
    answer = http.post("/v1/rules/test", json={"text": CEILING, "job": job.id})
    assert (answer.status_code, answer.json()["code"]) == (410, "plan.erased")


def test_a_function_that_changed_since_is_said(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api, 1, effects=(effect(0, version="older", args={"payment_id": 1}),))
    [item] = tried(http, job=job.id)["items"]
    assert (item["change"], item["note"]) == ("unchanged", "Since the plan was made, `refund_payment` changed.")


def test_a_rule_that_fails_is_told_with_its_reason(api: ApiWorld, http: httpx.Client) -> None:
    job = planned(api, 1)
    page = tried(http, "default: allow\nrules: [{name: sums, when: params.days > 1, then: approve}]\n", job=job.id)
    assert page["failed"] == {"sums": 1}
    [reason] = page["items"][0]["reasons"]
    assert (reason["failed_rule"], reason["after"]) == ("sums", "block")
    assert "`params.days`" in reason["message"]


def test_one_job_and_filters_do_not_go_together(api: ApiWorld, http: httpx.Client) -> None:
    answer = http.post("/v1/rules/test", json={"text": CEILING, "job": planned(api, 1).id, "user": "ana"})
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    assert "not both" in answer.json()["details"]["problems"][0]["message"]


def test_a_file_that_is_not_valid_is_refused_as_ever(http: httpx.Client) -> None:
    answer = http.post("/v1/rules/test", json={"text": "default: perhaps\n"})
    assert (answer.status_code, answer.json()["code"]) == (422, "rules.invalid")


def test_a_job_without_a_plan_or_unseen_has_none_to_try(api: ApiWorld, http: httpx.Client) -> None:
    answer = http.post("/v1/rules/test", json={"text": CEILING, "job": api.job().id})
    assert (answer.status_code, answer.json()["code"]) == (404, "plan.none")
    answer = http.post("/v1/rules/test", json={"text": CEILING, "job": "job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"})
    assert (answer.status_code, answer.json()["code"]) == (404, "job.not_found")


def test_trying_needs_a_scope_and_sees_no_more_than_the_key(api: ApiWorld) -> None:
    planned(api, 1)
    for scope, seen in ((Scope.READ, 1), (Scope.DECIDE, 1), (Scope.OPERATE, 1), (Scope.ADMIN, 0)):
        http = api.http(api.token(scope, owner="other"))
        assert len(tried(http)["items"]) == seen
    answer = api.http(api.token(Scope.SUBMIT)).post("/v1/rules/test", json={"text": CEILING})
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.scope")


def test_the_client_tries_rules(api: ApiWorld) -> None:
    vardy = api.vardy()
    job = planned(api, 7)
    page = vardy.test_rules(CEILING, job=job.id)
    assert [item.after for item in page.items] == [Verdict.BLOCK]
    assert vardy.test_rules(CEILING, status="SUCCESS", limit=1).matched["ceiling"] == 1


def test_warnings_come_with_a_check_and_with_applying(http: httpx.Client) -> None:
    text = "default: approve\nrules:\n- {name: a, on: [refund_payment], when: mode == 'planned', then: block}\n"
    for query in ("?dry_run=true", ""):
        answer = http.put(f"/v1/rules{query}", json={"text": text}).json()
        [warning] = answer["warnings"]
        assert (warning["line"], warning["rule"]) == (3, "a")
        assert "never true" in warning["message"]
    assert http.get("/v1/rules").json()["warnings"] == []
