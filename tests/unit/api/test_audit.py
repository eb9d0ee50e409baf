"""Every verb leaves exactly one entry that says who, from where and to which plan; a refused one leaves none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import ApiWorld, approve, run_body
from tests.support.audit import actions, check, entries, note
from tests.support.factories import ANA, LEA, LEO, NOW_MS
from vardy_api.operations import audit as audit_operations
from vardy_worker.contracts.audit import SETTINGS, Action, AuditState
from vardy_worker.contracts.audit_chain import ChainCheck
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.ports import Change, LogPart
from vardy_worker.store.cursor import make_cursor

if TYPE_CHECKING:
    import httpx

    from vardy_worker.contracts.job import JobRecord

DOCUMENT = (Path(__file__).parents[3] / "docs" / "audit.md").read_text(encoding="utf-8")
UNKNOWN = (EffectRecord(seq=0, state=EffectState.UNKNOWN), EffectRecord(seq=1))

Send = Callable[["httpx.Client", "JobRecord"], "httpx.Response"]


def if_match(job: JobRecord) -> dict[str, str]:
    return {"If-Match": f'"{job.digest}"'}


def _post(path: str, **body: Any) -> Send:
    return lambda http, job: http.post(f"/v1/jobs/{job.id}/{path}", json=body, headers=if_match(job))


DENIAL = {"decision": "deny", "reason": "Too much.", "user": LEA.model_dump()}
VERBS: dict[str, tuple[Send, dict[Status, Action]]] = {
    "approve": (_post("decisions", **approve()), {Status.PENDING_APPROVAL: Action.DECISION_APPROVE}),
    "deny": (_post("decisions", **DENIAL), {Status.PENDING_APPROVAL: Action.DECISION_DENY}),
    "commit": (_post("commit", user=LEA.model_dump()), {Status.PLANNED: Action.COMMIT_REQUESTED}),
    "cancel": (
        _post("cancel", user=LEA.model_dump()),
        {
            Status.QUEUED: Action.JOB_CANCELLED,
            Status.RUNNING: Action.JOB_CANCELLED,
            Status.PLANNED: Action.JOB_CANCELLED,
            Status.PENDING_APPROVAL: Action.JOB_CANCELLED,
            Status.COMMITTING: Action.JOB_CANCEL_REQUESTED,
        },
    ),
    "requeue": (
        _post("requeue", user=LEA.model_dump()),
        {Status.PARTIAL: Action.COMMIT_REQUEUED, Status.FUNCTION_ERROR: Action.COMMIT_REQUEUED},
    ),
    "discard": (
        _post("discard", user=LEA.model_dump(), reason="Done by hand."),
        {Status.PARTIAL: Action.COMMIT_DISCARDED},
    ),
    "resolve": (
        _post("effects/0/resolve", user=LEA.model_dump(), done=False, reason="Not there."),
        {Status.PARTIAL: Action.EFFECT_RESOLVED},
    ),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", list(Status))
def test_a_verb_leaves_one_entry_in_the_statuses_that_allow_it_and_none_in_others(
    api: ApiWorld, verb: str, status: Status
) -> None:
    send, allowed = VERBS[verb]
    # A requeue is refused while something is unknown; only resolving needs it.
    job = api.job(status, records=UNKNOWN if verb == "resolve" else ())
    token = api.token(owner="shop")
    key_id = entries(api.trail, SETTINGS)[-1].subject
    before = len(entries(api.trail, SETTINGS))
    answer = send(api.http(token), job)
    found = entries(api.trail, job.id)
    if status not in allowed:
        assert answer.status_code == 409
        assert found == []
        return
    assert answer.status_code == 200, answer.text
    [entry] = found
    after = api.store.get(job.id)
    assert after is not None
    assert (entry.action, entry.by, entry.via, entry.key_id) == (allowed[status], LEA.id, "api", key_id)
    assert entry.address == "127.0.0.1"
    assert entry.before == AuditState(status=status, version=job.version)
    assert entry.after == AuditState(status=after.status, version=after.version)
    assert entry.digest in {job.digest, after.digest}
    assert len(entries(api.trail, SETTINGS)) == before
    assert all(one.ok for one in check(api.trail).values())


REFUSED: dict[str, tuple[Status, Send, int]] = {
    "another plan": (
        Status.PENDING_APPROVAL,
        lambda http, job: http.post(
            f"/v1/jobs/{job.id}/decisions", json=approve(), headers={"If-Match": f'"{"0" * 64}"'}
        ),
        412,
    ),
    "the requester": (Status.PENDING_APPROVAL, _post("decisions", **approve(ANA)), 403),
    "no reason": (Status.PENDING_APPROVAL, _post("decisions", **{**DENIAL, "reason": " "}), 422),
    "no such effect": (Status.PARTIAL, _post("effects/9/resolve", done=True, reason="r"), 404),
    "discarded without a reason": (Status.PARTIAL, _post("discard", reason=""), 422),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_verb_leaves_no_entry(api: ApiWorld, name: str) -> None:
    status, send, code = REFUSED[name]
    job = api.job(status)
    assert send(api.http(), job).status_code == code
    assert entries(api.trail, job.id) == []


def test_the_same_decision_again_leaves_no_second_entry(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL, needs=(ApprovalNeed(rule="a-rule", quorum=2),))
    url = f"/v1/jobs/{job.id}/decisions"
    for person in (LEA, LEA, LEO):
        assert http.post(url, json=approve(person), headers=if_match(job)).status_code == 200
    assert [(entry.by, entry.after.status if entry.after else None) for entry in entries(api.trail, job.id)] == [
        (LEA.id, Status.PENDING_APPROVAL),
        (LEO.id, Status.COMMITTING),
    ]


def test_a_reason_is_kept_beside_its_entry(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    http.post(f"/v1/jobs/{job.id}/decisions", json=DENIAL, headers=if_match(job))
    [entry] = entries(api.trail, job.id)
    assert entry.text is not None
    assert entry.text.reason == "Too much."


def test_a_submission_says_for_whom_and_what(api: ApiWorld) -> None:
    http = api.http(api.token(Scope.SUBMIT, owner="desk"))
    job = http.post("/v1/run", json=run_body(mode="plan", metadata={"secret": "no"}, params={"iban": "no"})).json()
    [entry] = entries(api.trail, job["id"])
    assert (entry.action, entry.by) == ("job.submitted", ANA.id)
    assert entry.details == {"kind": "run", "mode": "plan", "owner": "desk"}
    assert entry.after == AuditState(status=Status.QUEUED, version=1)


def test_a_request_sent_again_leaves_one_submission(api: ApiWorld, http: httpx.Client) -> None:
    sent = [http.post("/v1/run", json=run_body(), headers={"Idempotency-Key": "k"}).json()["id"] for _ in range(2)]
    assert sent[0] == sent[1]
    assert len(entries(api.trail, sent[0])) == 1


def test_a_plan_that_ends_by_time_says_that_nobody_ended_it(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    api.clock.forward(86_401)
    assert http.get(f"/v1/jobs/{job.id}").json()["status"] == "POLICY_BLOCKED"
    [entry] = entries(api.trail, job.id)
    assert (entry.action, entry.by, entry.via, entry.key_id) == ("plan.expired", "vardy", "api", "")
    assert entry.digest == job.digest


def test_committing_a_planned_job_that_must_be_approved_names_the_new_plan(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PLANNED, verdict=Verdict.ALLOW, needs=())
    http.put("/v1/rules", json={"text": "default: approve\n"})
    view = http.post(f"/v1/jobs/{job.id}/commit", json={"user": LEA.model_dump()}, headers=if_match(job)).json()
    [entry] = entries(api.trail, job.id)
    assert (entry.action, entry.by) == ("commit.requested", LEA.id)
    assert entry.digest == view["plan"]["digest"] != job.digest
    assert (entry.details["verdict"], entry.details["revision"]) == ("approve", 2)


# --- settings ---------------------------------------------------------------------------------


def test_keys_rules_and_recipes_leave_entries_in_the_chain_of_settings(api: ApiWorld) -> None:
    token = api.token(owner="ops", person=LEA)
    http = api.http(token)
    seen = len(entries(api.trail, SETTINGS))
    made = http.post("/v1/keys", json={"name": "n", "scopes": ["submit"], "person": ANA.model_dump()}).json()
    http.delete(f"/v1/keys/{made['id']}")
    http.delete(f"/v1/keys/{made['id']}")
    rules = http.put("/v1/rules", json={"text": "default: block\n"}).json()
    http.put("/v1/rules", json={"text": "default: block\n"})
    source = "async function run(params) {\n  return 1;\n}\n"
    for days in (1, 2, 2):
        http.put("/v1/recipes/one", json={"source": source.replace("1", str(days))})
    http.delete("/v1/recipes/one")
    http.delete("/v1/recipes/one")
    found = entries(api.trail, SETTINGS)[seen:]
    assert [(entry.action, entry.subject) for entry in found] == [
        ("key.created", made["id"]),
        ("key.revoked", made["id"]),
        ("rules.applied", ""),
        ("recipe.saved", "one"),
        ("recipe.saved", "one"),
        ("recipe.deleted", "one"),
    ]
    assert {(entry.by, entry.via, entry.address) for entry in found} == {(LEA.id, "api", "127.0.0.1")}
    assert found[0].details == {"owner": "ana", "scopes": ["submit"], "person": "ana", "roles": list(ANA.roles)}
    assert ANA.roles
    assert found[2].digest == rules["digest"]
    assert found[4].after == AuditState(version=2)
    assert made["key"] not in json.dumps([entry.model_dump(mode="json") for entry in found])
    assert check(api.trail)[SETTINGS].ok


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/rules", {"text": "default: perhaps\n"}),
        ("PUT", "/v1/rules", {"text": "default: allow\n", "expect_version": 7}),
        ("PUT", "/v1/rules?dry_run=true", {"text": "default: allow\n"}),
        ("PUT", "/v1/recipes/one", {"source": "nothing"}),
        ("PUT", "/v1/recipes/one", {"source": "async function run() {\n  return 1;\n}\n", "expect_version": 7}),
        ("DELETE", "/v1/recipes/none", None),
        ("DELETE", "/v1/keys/none", None),
        ("POST", "/v1/keys", {"scopes": []}),
    ],
)
def test_what_is_refused_leaves_nothing_in_the_chain_of_settings(
    api: ApiWorld, http: httpx.Client, method: str, path: str, body: Any
) -> None:
    before = actions(api.trail, SETTINGS)
    http.request(method, path, json=body)
    assert actions(api.trail, SETTINGS) == before


def test_rules_that_are_applied_at_the_start_say_so(api: ApiWorld) -> None:
    api.operations.rules.apply("default: block\n", by="VARDY_RULES")
    entry = entries(api.trail, SETTINGS)[-1]
    assert (entry.action, entry.by, entry.via, entry.key_id) == ("rules.applied", "VARDY_RULES", "api", "")


def test_a_key_made_in_the_store_itself_says_so(api: ApiWorld) -> None:
    api.token()
    entry = entries(api.trail, SETTINGS)[-1]
    assert (entry.action, entry.by, entry.via) == ("key.created", "bootstrap", "cli")


# --- the routes -------------------------------------------------------------------------------


def test_the_trail_is_for_administrators_and_operators(api: ApiWorld) -> None:
    for path in ("/v1/audit", "/v1/audit/verify", "/v1/audit/export"):
        for scope in Scope:
            expected = 200 if scope in {Scope.ADMIN, Scope.OPERATE} else 403
            assert api.http(api.token(scope)).get(path).status_code == expected


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in answer.text.splitlines()]


def noted(api: ApiWorld, number: int = 1, **fields: Any) -> JobRecord:
    """A job with so many entries."""
    job = api.job(Status.PENDING_APPROVAL)
    for _ in range(number):
        made = note(at_ms=api.clock.now_ms(), **fields)
        api.store.change(Change(job.id, frozenset(Status), audit=[made]))
    return job


def test_a_listing_is_filtered_and_paged(api: ApiWorld, http: httpx.Client) -> None:
    job = noted(api, 3)
    api.clock.forward(60)
    noted(api, by="leo", action=Action.DECISION_DENY)
    first = http.get("/v1/audit", params={"job": job.id, "limit": 2}).json()
    assert [item["n"] for item in first["items"]] == [3, 2]
    rest = http.get("/v1/audit", params={"chain": job.id, "limit": 2, "cursor": first["next"]}).json()
    assert ([item["n"] for item in rest["items"]], rest["next"]) == ([1], None)

    def number(**params: str) -> int:
        return len(http.get("/v1/audit", params=params).json()["items"])

    assert number(by="leo") == number(action="decision.deny") == 1
    assert number(action="key.created") == number(chain=SETTINGS) == 1
    assert number(after="2023-11-14T22:13:30Z") == 1
    assert number(before="2023-11-14T22:13:30", by="lea") == 3
    assert number(job="job_none") == 0


@pytest.mark.parametrize(
    "params", [{"action": "job.eaten"}, {"limit": "0"}, {"cursor": "x"}, {"job": "a", "chain": "b"}, {"after": "noon"}]
)
def test_a_wrong_filter_is_refused(http: httpx.Client, params: dict[str, str]) -> None:
    assert http.get("/v1/audit", params=params).status_code == 422


def test_an_export_has_every_entry_and_goes_on_after_any_line(api: ApiWorld, http: httpx.Client) -> None:
    jobs = [noted(api, 2), noted(api, 1)]
    whole = lines(http.get("/v1/audit/export"))
    assert [(entry["chain"], entry["n"]) for entry in whole] == [
        (SETTINGS, 1),
        (jobs[0].id, 1),
        (jobs[0].id, 2),
        (jobs[1].id, 1),
    ]
    assert lines(http.get("/v1/audit/export", params={"after": whole[1]["place"]})) == whole[2:]
    assert lines(http.get("/v1/audit/export", params={"limit": 3})) == whole[:3]
    assert lines(http.get("/v1/audit/export", params={"after": whole[-1]["place"]})) == []
    assert http.get("/v1/audit/export", params={"after": "x"}).json()["code"] == "cursor.invalid"
    for chain in (jobs[0].id, jobs[1].id, SETTINGS):
        checked = ChainCheck(chain)
        for entry in whole:
            if entry["chain"] == chain:
                assert checked.add(entry) is None


def test_the_hash_of_the_documentation_is_the_one_in_the_trail(api: ApiWorld, http: httpx.Client) -> None:
    noted(api, 2, reason="Because.")
    block = re.search(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(block[1], names)  # noqa: S102 - the documentation's own code
    found = lines(http.get("/v1/audit/export"))
    assert [names["entry_hash"](entry) for entry in found] == [entry["hash"] for entry in found]


def test_every_action_is_documented(http: httpx.Client) -> None:
    rows = re.findall(r"^\| (`[a-z_.]+`(?:, `[a-z_.]+`)*) \|", DOCUMENT, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z_.]+)`", row)} == {action.value for action in Action}
    described = http.get("/openapi.json").json()["components"]["schemas"]["Action"]["enum"]
    assert described == [action.value for action in Action]


def test_a_check_names_the_first_entry_that_does_not_hold(api: ApiWorld, http: httpx.Client) -> None:
    good, bad = noted(api, 2), noted(api, 3)
    stored = api.trail._chains[bad.id]
    stored[1] = stored[1].replace(b'"lea"', b'"leo"')
    page = http.get("/v1/audit/verify").json()
    found = {item["chain"]: item for item in page["items"]}
    assert (found[good.id]["ok"], found[good.id]["first"], found[good.id]["last"]) == (True, 1, 2)
    assert found[bad.id]["broken"]["n"] == 2
    assert "changed" in found[bad.id]["broken"]["message"]
    assert (page["chains"], page["trimmed_before"], page["next"]) == (3, None, None)
    one = http.get("/v1/audit/verify", params={"chain": good.id}).json()
    assert [item["chain"] for item in one["items"]] == [good.id]


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        make_cursor(0, "[]"),
        make_cursor(0, "{"),
        make_cursor(0, "[1]"),
        make_cursor(2**52, '["", "settings", "", null, 0]'),
        make_cursor(-1, '["", "settings", "", null, 0]'),
        make_cursor(1, '["", "settings", "", "first", 0]'),
    ],
)
def test_a_check_goes_on_only_from_a_cursor_of_its_own(http: httpx.Client, cursor: str) -> None:
    answer = http.get("/v1/audit/verify", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "cursor.invalid")


def test_an_export_is_cut_off_when_its_key_is_revoked(api: ApiWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_operations, "EXPORT_BATCH", 1)
    for _ in range(3):
        api.job()
    token = api.token(Scope.OPERATE)
    key_id = api.operations.authentication.authenticate(token).key.id
    admin = api.operations.authentication.authenticate(api.token(Scope.ADMIN))
    log, read = api.trail.log, list[str]()

    def revoked_after_two(*, after: str, limit: int) -> LogPart:
        read.append(after)
        if len(read) == 3:
            api.operations.keys.revoke(admin, key_id)
        return log(after=after, limit=limit)

    monkeypatch.setattr(api.trail, "log", revoked_after_two)
    with api.http(token) as http, pytest.raises(RuntimeError) as cut:
        http.get("/v1/audit/export")
    assert isinstance(cut.value.__cause__, RequestError)
    assert cut.value.__cause__.code == "auth.invalid"
    assert len(read) == 3


def test_an_entry_that_is_no_json_any_more_is_exported_as_it_is(api: ApiWorld, http: httpx.Client) -> None:
    job = noted(api, 2)
    api.trail._chains[job.id][0] = b'{"chain": "x",\n'
    whole = lines(http.get("/v1/audit/export"))
    assert whole[1]["unreadable"] == '{"chain": "x",\n'
    assert whole[2]["n"] == 2
    assert [item["n"] for item in http.get("/v1/audit", params={"job": job.id}).json()["items"]] == [2]
    assert http.get("/v1/audit/verify", params={"chain": job.id}).json()["items"][0]["broken"]["n"] == 1


def test_times_of_entries_are_those_of_the_change(api: ApiWorld, http: httpx.Client) -> None:
    job = http.post("/v1/run", json=run_body()).json()
    assert entries(api.trail, job["id"])[0].at_ms == NOW_MS


def test_the_client_reads_checks_and_exports_the_trail(api: ApiWorld) -> None:
    job = noted(api, 3)
    with api.vardy() as vardy:
        first = vardy.audit(job=job.id, limit=2)
        rest = vardy.audit(job=job.id, cursor=first.next)
        assert [entry.n for page in (first, rest) for entry in page.items] == [3, 2, 1]
        assert len(vardy.audit(by="lea", action=Action.DECISION_APPROVE).items) == 3
        assert [item.ok for page in vardy.verify_audit(job.id) for item in page.items] == [True]
        exported = [json.loads(line) for line in vardy.export_audit()]
        after = list(vardy.export_audit(after=exported[1]["place"]))
        assert [json.loads(line) for line in after] == exported[2:]
