"""What is stored of a job beside itself: the journal of its commit, and the model's refused answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.factories import NOW_MS
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.job import Attempt
from vardy_worker.contracts.journal import EffectRecord, EffectState, JournalEntry
from vardy_worker.contracts.program import Finding, Program
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.contracts.view import journal_entry_view
from vardy_worker.ports import Change, Changed

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld

REFUSED = Attempt(
    text="Sure! eval(1)",
    error=ErrorInfo(code="validation.program", message="No eval."),
    findings=(Finding(code="program.eval", message="No eval.", line=1, column=7),),
)


def entry(state: EffectState, **fields: Any) -> JournalEntry:
    given = {"at_ms": NOW_MS, "seq": 0, "attempt": 1, "fence": 1, "worker": "w1"}
    return JournalEntry(**{**given, "idempotency_key": "vdy_0", "args_sha256": "a" * 64, "state": state, **fields})


def journalled(api: ApiWorld, *entries: JournalEntry, status: Status = Status.PARTIAL, **fields: Any) -> str:
    job = api.job(status, **fields)
    assert isinstance(api.store.change(Change(job.id, frozenset({status}), journal=entries)), Changed)
    return job.id


def test_the_journal_is_shown_as_it_is_stored_oldest_first(api: ApiWorld, http: httpx.Client) -> None:
    entries = (
        entry(EffectState.STARTED),
        entry(EffectState.PENDING, code="function.failed", due_at_ms=NOW_MS + 2000),
        entry(EffectState.UNKNOWN, attempt=2, fence=2, worker="w2", code="function.timeout"),
    )
    job_id = journalled(api, *entries)
    shown = http.get(f"/v1/jobs/{job_id}/journal").json()["items"]
    stored = [one.model_dump(mode="json", exclude={"at_ms", "due_at_ms"}) for one in entries]
    assert [{name: value for name, value in one.items() if name not in {"at", "due_at"}} for one in shown] == stored
    assert [(one["at"], one["due_at"]) for one in shown] == [
        ("2023-11-14T22:13:20Z", None),
        ("2023-11-14T22:13:20Z", "2023-11-14T22:13:22Z"),
        ("2023-11-14T22:13:20Z", None),
    ]
    with api.vardy() as vardy:
        assert vardy.journal(job_id).items == tuple(map(journal_entry_view, entries))


def test_a_job_that_did_not_commit_has_an_empty_journal(api: ApiWorld, http: httpx.Client) -> None:
    assert http.get(f"/v1/jobs/{api.job().id}/journal").json() == {"items": []}


def test_a_journal_has_neither_arguments_nor_results(api: ApiWorld, http: httpx.Client) -> None:
    records = (EffectRecord(seq=0, state=EffectState.SUCCEEDED, result={"iban": "DE00-SECRET"}),)
    job_id = journalled(api, entry(EffectState.SUCCEEDED), records=records)
    assert "SECRET" in http.get(f"/v1/jobs/{job_id}").text
    text = http.get(f"/v1/jobs/{job_id}/journal").text
    assert "SECRET" not in text
    assert "payment_id" not in text


def test_a_journal_is_visible_as_its_job_is(api: ApiWorld) -> None:
    job_id = journalled(api, entry(EffectState.STARTED))
    seen = {
        (scope, owner): api.http(api.token(scope, owner=owner)).get(f"/v1/jobs/{job_id}/journal").status_code
        for scope in Scope
        for owner in ("shop", "other")
    }
    sees_all = {Scope.READ, Scope.DECIDE, Scope.OPERATE}
    assert seen == {(scope, owner): 200 if owner == "shop" or scope in sees_all else 404 for scope, owner in seen}


def test_an_operators_words_stand_in_the_journal(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.PARTIAL, records=(EffectRecord(seq=0, state=EffectState.UNKNOWN, attempts=1),))
    body = {"done": False, "reason": "Not in the log.", "user": {"id": "olga"}}
    assert http.post(f"/v1/jobs/{job.id}/effects/0/resolve", json=body).status_code == 200
    [settled] = http.get(f"/v1/jobs/{job.id}/journal").json()["items"]
    assert (settled["state"], settled["by"], settled["reason"]) == ("RESOLVED_NOT_DONE", "olga", "Not in the log.")


def test_a_commit_that_waits_says_when_it_tries_again(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.COMMITTING)
    url = f"/v1/jobs/{job.id}"
    assert http.get(url).json()["next_try_at"] is None
    later = Change(job.id, frozenset({Status.COMMITTING}), set={"not_before_ms": NOW_MS + 90_000}, release=True)
    api.store.change(later)
    assert http.get(url).json()["next_try_at"] == "2023-11-14T22:14:50Z"
    api.clock.forward(90)
    expect = frozenset({Status.COMMITTING})
    api.store.claim(job.id, expect=expect, to=Status.COMMITTING, worker="w", lease_ms=1000)
    assert http.get(url).json()["next_try_at"] is None


def test_answers_that_were_refused_are_for_operators(api: ApiWorld, http: httpx.Client) -> None:
    program = Program(source="async function run() {}", sha256="0" * 64, attempts=2, prompt="program-1+repair-1")
    job = api.job(Status.SUCCESS, program=program, attempts=(REFUSED,))
    url = f"/v1/jobs/{job.id}/attempts"
    shown = http.get(url).json()
    assert shown == {"prompt": "program-1+repair-1", "items": [REFUSED.model_dump(mode="json")]}
    for scope in set(Scope) - {Scope.OPERATE}:
        assert api.http(api.token(scope)).get(url).status_code == 403, scope
    assert http.get(f"/v1/jobs/{api.job().id}/attempts").json() == {"prompt": "", "items": []}
    assert http.get("/v1/jobs/job_1/attempts").status_code == 404


def test_a_dry_requeue_changes_nothing_and_refuses_as_the_real_one_would(api: ApiWorld, http: httpx.Client) -> None:
    failed = (EffectRecord(seq=0, state=EffectState.SUCCEEDED), EffectRecord(seq=1, state=EffectState.FAILED))
    unknown = (EffectRecord(seq=0, state=EffectState.UNKNOWN),)
    ready, unclear = api.job(Status.PARTIAL, records=failed), api.job(Status.PARTIAL, records=unknown)
    tried = http.post(f"/v1/jobs/{ready.id}/requeue?dry_run=true")
    assert (tried.status_code, tried.json()["status"]) == (200, "PARTIAL")
    refused = http.post(f"/v1/jobs/{unclear.id}/requeue?dry_run=true")
    assert (refused.status_code, refused.json()["code"]) == (409, "commit.unresolved")
    assert refused.json()["details"]["effects"] == [0]
    assert [api.store.get(job.id) for job in (ready, unclear)] == [ready, unclear]
    assert api.queue.take("commit") is None
    assert http.post(f"/v1/jobs/{api.job(Status.SUCCESS).id}/requeue?dry_run=true").status_code == 409
