"""`vardy commits`: the operator's verbs, one by one and in bulk."""

from __future__ import annotations

import re
import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.support.api import REFUND
from tests.support.factories import effect
from vardy_api.cli import progress, tables
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.journal import EffectRecord, EffectState, JournalEntry
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import journal_entry_view
from vardy_worker.documents import publish_catalogue
from vardy_worker.ports import Change, Changed

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli, Worker
    from vardy_worker.contracts.job import JobRecord

OPERATOR = ("--user", "olga")
FAILED = ErrorInfo(code="commit.failed", message="Effect 1 failed.")
REPEATABLE = REFUND.model_copy(update={"name": "repeatable", "idempotent": True})
SHORT_LIVED = REPEATABLE.model_copy(update={"name": "short_lived", "key_valid_seconds": 60.0})


def record(seq: int, state: EffectState) -> EffectRecord:
    return EffectRecord(seq=seq, state=state, attempts=1)


def stopped(world: ApiWorld, state: EffectState = EffectState.FAILED, **fields: Any) -> JobRecord:
    records = (record(0, EffectState.SUCCEEDED), record(1, state))
    return world.job(Status.PARTIAL, **{"records": records, "error": FAILED, **fields})


def test_only_commits_that_need_somebody_are_listed(cli: Cli, world: ApiWorld) -> None:
    assert cli("commits", "list").out == "No commit was found that needs anybody.\n"
    partial, committing = stopped(world), world.job(Status.COMMITTING)
    failed = world.job(Status.FUNCTION_ERROR, error=ErrorInfo(code="function.failed", message="No."))
    for status in (Status.SUCCESS, Status.PENDING_APPROVAL, Status.PLANNED):
        world.job(status)
    stopped(world, error=ErrorInfo(code="commit.discarded", message="Given up."))
    ids = {item["id"] for item in cli("commits", "list", "--json").json["items"]}
    assert ids == {partial.id, committing.id, failed.id}
    assert "commit.failed" in cli("commits", "list", "--status", "partial").out
    only = cli("commits", "list", "--error", "function.failed", "--json").json["items"]
    assert [item["id"] for item in only] == [failed.id]
    assert len(cli("commits", "list", "--error", "commit.discarded", "--json").json["items"]) == 1
    assert len(cli("commits", "list", "--limit", "1", "--json").json["items"]) == 1


def test_one_requeue_is_waited_for_and_shown(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    worker.commits_to(Status.SUCCESS)
    job = stopped(world)
    tried = cli("commits", "requeue", job.id, "--dry-run")
    assert "1 effect would run, from 1" in tried.out
    ran = cli("commits", "requeue", job.id, *OPERATOR, "--json")
    assert (ran.code, ran.json["status"]) == (ExitCode.OK, "SUCCESS")


def test_what_cannot_be_requeued_is_a_conflict(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.SUCCESS)
    ran = cli("commits", "requeue", job.id, *OPERATOR, "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.CONFLICT, "job.conflict")
    assert cli("commits", "requeue", job.id, "--dry-run").code == ExitCode.CONFLICT
    missing = cli("commits", "requeue", "job_00000000000000000000000000", *OPERATOR)
    assert missing.code == ExitCode.NOT_FOUND


def test_an_unknown_outcome_must_be_resolved_before_the_requeue(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    job = stopped(world, EffectState.UNKNOWN)
    shown = cli("commits", "show", job.id).out
    assert f"vardy commits resolve {job.id} 1 --done" in shown
    ran = cli("commits", "requeue", job.id, *OPERATOR, "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.CONFLICT, "commit.unresolved")
    words = ("commits", "resolve", job.id, "1", "--not-done", "--reason", "Not in the log.", *OPERATOR)
    tried = cli(*words, "--dry-run")
    assert "would be RESOLVED_NOT_DONE" in tried.out
    resolved = cli(*words, "--json")
    assert resolved.json["status"] == "PARTIAL"
    assert resolved.json["effects"][1]["state"] == "RESOLVED_NOT_DONE"
    assert "2 effects: 1 succeeded, 1 resolved" in cli("commits", "show", job.id).out
    again = cli(*words, "--json")
    assert (again.code, again.problem["code"]) == (ExitCode.CONFLICT, "effect.not_unknown")
    assert cli(*words, "--dry-run").code == ExitCode.CONFLICT
    worker.commits_to(Status.SUCCESS)
    assert cli("commits", "requeue", job.id, *OPERATOR).code == ExitCode.OK


def test_resolving_as_done_takes_the_result_that_a_later_effect_needs(cli: Cli, world: ApiWorld) -> None:
    effects = (effect(), effect(1, args={}, refs=(Ref(at="/payment_id", effect=0, path="/id"),)))
    job = world.job(Status.PARTIAL, effects=effects, records=(record(0, EffectState.UNKNOWN),), error=FAILED)
    words = ("commits", "resolve", job.id, "0", "--done", "--reason", "It exists.", *OPERATOR, "--json")
    assert f"vardy commits resolve {job.id} 0 --done --result JSON" in cli("commits", "show", job.id).out
    without = cli(*words)
    assert (without.code, without.problem["code"]) == (ExitCode.ERROR, "effect.result")
    assert "the result is needed" in without.problem["detail"]
    assert "--result JSON" in cli(*words[:-1]).err
    ran = cli(*words, "--result", '{"id": 7}')
    assert ran.json["effects"][0]["result"] == {"id": 7}


def test_resolving_must_say_what_and_how(cli: Cli, world: ApiWorld) -> None:
    job = stopped(world, EffectState.UNKNOWN)
    assert "--done or --not-done" in cli("commits", "resolve", job.id, "1", "--reason", "x").err
    both = cli("commits", "resolve", job.id, "1", "--done", "--not-done", "--reason", "x")
    assert both.code == ExitCode.USAGE
    assert "either --done or --not-done" in both.err
    assert "--reason" in cli("commits", "resolve", job.id, "1", "--done").err
    with_result = cli("commits", "resolve", job.id, "1", "--not-done", "--reason", "x", "--result", "1")
    assert with_result.code == ExitCode.USAGE
    missing = cli("commits", "resolve", job.id, "9", "--done", "--reason", "x", *OPERATOR)
    assert missing.code == ExitCode.NOT_FOUND
    assert cli("commits", "resolve", job.id, "9", "--done", "--reason", "x", "--dry-run").code == ExitCode.NOT_FOUND


def test_discarding_asks_because_it_is_for_good(cli: Cli, world: ApiWorld) -> None:
    job = stopped(world)
    assert cli("commits", "discard", job.id, *OPERATOR, "--yes").code == ExitCode.USAGE
    words = ("commits", "discard", job.id, "--reason", "Done by hand.", *OPERATOR)
    assert cli(*words).code == ExitCode.CONFIRMATION_NEEDED
    assert cli(*words, "--dry-run").code == ExitCode.OK
    ran = cli(*words, "--yes", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (ExitCode.OK, "commit.discarded")
    assert cli(*words, "--dry-run").code == ExitCode.CONFLICT
    assert "Next:" not in cli("jobs", "show", job.id).out


def test_all_stopped_commits_are_requeued_after_a_confirmation(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    worker.commits_to(Status.SUCCESS)
    jobs = [stopped(world).id for _ in range(3)]
    asked = cli("commits", "requeue", "--all", *OPERATOR)
    assert asked.code == ExitCode.CONFIRMATION_NEEDED
    assert "3 jobs" in asked.err
    tried = cli("commits", "requeue", "--all", "--dry-run", "--json")
    assert {item["target"] for item in tried.json["items"]} == set(jobs)
    ran = cli("commits", "requeue", "--all", "--yes", *OPERATOR, "--json")
    assert ran.code == ExitCode.OK
    assert {item["job"]: item["status"] for item in ran.json["items"]} == dict.fromkeys(jobs, "SUCCESS")
    none = cli("commits", "requeue", "--all", "--yes", *OPERATOR, "--json")
    assert (none.code, none.json["total"]) == (ExitCode.OK, 0)


def test_filters_choose_what_is_requeued(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    worker.commits_to(Status.SUCCESS)
    mine = stopped(world)
    other = stopped(world, error=ErrorInfo(code="commit.unknown", message="Who knows."))
    ran = cli("commits", "requeue", "--error", "commit.failed", "--of-user", "ana", "--yes", *OPERATOR, "--json")
    assert [item["job"] for item in ran.json["items"]] == [mine.id]
    assert cli("jobs", "show", other.id, "--json").json["status"] == "PARTIAL"
    nobody = cli("commits", "requeue", "--all", "--of-user", "nobody", "--yes", *OPERATOR)
    assert (nobody.code, nobody.err) == (ExitCode.OK, "No job matches.\n")


def test_ids_and_filters_do_not_mix(cli: Cli, world: ApiWorld) -> None:
    job = stopped(world)
    assert cli("commits", "requeue").code == ExitCode.USAGE
    assert cli("commits", "requeue", job.id, "--all").code == ExitCode.USAGE


def test_one_failure_stops_no_other_and_is_told(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    good, blocked, again = stopped(world).id, stopped(world, EffectState.UNKNOWN).id, stopped(world).id

    def commit(job_id: str) -> None:
        status = Status.PARTIAL if job_id == again else Status.SUCCESS
        world.move(job_id, Status.COMMITTING, status)

    worker.commit = commit
    ran = cli("commits", "requeue", good, blocked, again, "--yes", *OPERATOR)
    assert ran.code == ExitCode.BULK_FAILED
    rows = {line.split()[0]: line.split()[1:3] for line in ran.out.splitlines() if line.startswith("job_")}
    assert rows == {good: ["ok", "SUCCESS"], blocked: ["failed", "-"], again: ["failed", "PARTIAL"]}
    assert "2 of 3 jobs failed" in ran.err


def test_a_bulk_requeue_that_is_not_waited_for_says_what_began(cli: Cli, world: ApiWorld) -> None:
    jobs = [stopped(world).id, stopped(world).id]
    ran = cli("commits", "requeue", *jobs, "--yes", "--no-wait", *OPERATOR, "--json")
    assert [item["status"] for item in ran.json["items"]] == ["COMMITTING", "COMMITTING"]
    assert ran.code == ExitCode.OK


def test_a_bulk_requeue_that_takes_too_long_says_for_which_jobs(cli: Cli, world: ApiWorld) -> None:
    jobs = [stopped(world).id, stopped(world).id]
    ran = cli("commits", "requeue", *jobs, "--yes", "--timeout", "0.1", *OPERATOR, "--json")
    assert ran.code == ExitCode.BULK_FAILED
    assert {item["error"]["code"] for item in ran.json["items"]} == {"client.wait_timeout"}


def test_a_key_that_may_not_operate_stops_the_bulk_at_once(cli: Cli, world: ApiWorld) -> None:
    jobs = [stopped(world).id, stopped(world).id]
    ran = cli("commits", "requeue", *jobs, "--yes", *OPERATOR, "--api-key", "vk_wrong", "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.ERROR, "auth.invalid")
    assert ran.out == ""


# --- the story of a commit -----------------------------------------------------------------------------------------


def line(seq: int, state: EffectState, at_ms: int, **fields: Any) -> JournalEntry:
    given = {"attempt": 1, "fence": 1, "worker": "worker-7f2c.example.internal:1:3"}
    key = {"idempotency_key": f"vdy_{seq}", "args_sha256": "a" * 64}
    return JournalEntry(**{**given, **key, "seq": seq, "state": state, "at_ms": at_ms, **fields})


NOON_MS = 1_700_049_600_000  # 2023-11-15 12:00 UTC
STORY = (
    line(0, EffectState.STARTED, NOON_MS),
    line(0, EffectState.SUCCEEDED, NOON_MS + 120),
    line(1, EffectState.STARTED, NOON_MS + 130),
    line(1, EffectState.PENDING, NOON_MS + 250, code="function.failed", due_at_ms=NOON_MS + 12_250),
    line(1, EffectState.STARTED, NOON_MS + 12_300, attempt=2, fence=2, worker="other:9:1"),
    line(1, EffectState.UNKNOWN, NOON_MS + 17_000, attempt=2, fence=2, worker="other:9:1", code="function.timeout"),
    line(
        1,
        EffectState.RESOLVED_NOT_DONE,
        NOON_MS + 86_400_000,
        attempt=2,
        fence=2,
        worker="",
        by="olga",
        reason="Neither the ledger nor the bank has it, and the customer says so too.",
    ),
)


def told(world: ApiWorld) -> JobRecord:
    """A job whose journal has everything that one can have."""
    job = stopped(world, EffectState.RESOLVED_NOT_DONE)
    assert isinstance(world.store.change(Change(job.id, frozenset({Status.PARTIAL}), journal=STORY)), Changed)
    return job


def test_a_commit_is_told_as_a_timeline_at_80_columns(
    cli: Cli, world: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = told(world)
    monkeypatch.setenv("COLUMNS", "80")
    out = cli("commits", "show", job.id).out
    timeline = out[out.index("Timeline") :].split("\n\n", maxsplit=1)[0].splitlines()
    assert max(map(len, timeline)) <= 80
    assert timeline[0] == "Timeline  UTC, from 2023-11-15"
    rows = [each.split(maxsplit=4) for each in timeline[2:] if re.match(r"  \d", each)]
    assert [row[:4] for row in rows] == [
        ["12:00:00.000", "0", "STARTED", "1"],
        ["12:00:00.120", "0", "SUCCEEDED", "1"],
        ["12:00:00.130", "1", "STARTED", "1"],
        ["12:00:00.250", "1", "PENDING", "1"],
        ["12:00:12.300", "1", "STARTED", "2"],
        ["12:00:17.000", "1", "UNKNOWN", "2"],
        ["11-16", "12:00:00", "1", "RESOLVED_NOT_DONE"],
    ]
    whole = " ".join(" ".join(timeline).split())
    assert "function.failed; again at 12:00:12, after 12 s" in whole
    assert "other:9:1, fence 2" in whole
    assert "function.timeout" in whole
    assert "Neither the ledger nor the bank has it" in whole


def test_a_timeline_in_a_pipe_keeps_each_entry_on_its_line(cli: Cli, world: ApiWorld) -> None:
    out = cli("commits", "show", told(world).id).out
    assert "worker-7f2c.example.internal:1:3, fence 1\n" in out
    assert "olga: Neither the ledger nor the bank has it, and the customer says so too.\n" in out


def test_the_json_of_a_commit_is_the_job_with_its_whole_journal(cli: Cli, world: ApiWorld) -> None:
    job = told(world)
    shown = cli("commits", "show", job.id, "--json").json
    assert shown.pop("journal") == [journal_entry_view(entry).model_dump(mode="json") for entry in STORY]
    assert shown == cli("jobs", "show", job.id, "--json").json


def test_a_commit_without_a_journal_has_no_timeline(cli: Cli, world: ApiWorld) -> None:
    assert "Timeline" not in cli("commits", "show", stopped(world).id).out


def test_a_commit_that_waits_says_when_it_tries_again(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.COMMITTING)
    due_ms = int(datetime.now(UTC).timestamp() * 1000) + 3_600_000
    world.store.change(Change(job.id, frozenset({Status.COMMITTING}), set={"not_before_ms": due_ms}, release=True))
    assert re.search(r"^next +try in (1 h|60 min)$", cli("jobs", "show", job.id).out, re.MULTILINE)


def test_the_counts_of_effects_are_all_shown(cli: Cli, world: ApiWorld) -> None:
    states = (EffectState.SUCCEEDED, EffectState.FAILED, EffectState.STARTED, EffectState.SKIPPED)
    records = tuple(record(seq, state) for seq, state in enumerate(states))
    job = world.job(Status.PARTIAL, effects=tuple(map(effect, range(5))), records=records, error=FAILED)
    assert "5 effects: 1 succeeded, 1 failed, 2 pending, 1 skipped" in cli("commits", "show", job.id).out


# --- repairs that can be tried, repeated and interrupted --------------------------------------------------------------


def test_a_dry_requeue_knows_which_unknown_effects_stand_against_it(cli: Cli, world: ApiWorld) -> None:
    publish_catalogue(world.documents, Catalogue(functions=(REFUND, REPEATABLE, SHORT_LIVED)))
    unknown = record(0, EffectState.UNKNOWN)
    old = unknown.model_copy(update={"first_started_at_ms": world.clock.now_ms() - 61_000})
    young = old.model_copy(update={"first_started_at_ms": world.clock.now_ms() - 59_000})

    def job(function: str, first: EffectRecord) -> str:
        effects = (effect(0, function), effect(1, function))
        return world.job(Status.PARTIAL, effects=effects, records=(first,), error=FAILED).id

    notes = {
        job("refund_payment", unknown): "resolve effect 0 first: outcome unknown, and not safe to repeat",
        job("repeatable", old): "2 effects would run, from 0; effect 0 again with the same key",
        job("short_lived", young): "2 effects would run, from 0; effect 0 again with the same key",
        job("short_lived", old): "resolve effect 0 first: outcome unknown, and not safe to repeat",
    }
    ran = cli("commits", "requeue", "--all", "--dry-run", "--json")
    assert {item["target"]: item["note"] for item in ran.json["items"]} == notes
    assert [item["allowed"] for item in ran.json["items"]] == [note.startswith("2") for note in notes.values()]


def test_jobs_that_run_or_have_ended_are_skipped_by_a_repeated_requeue(
    cli: Cli, world: ApiWorld, worker: Worker
) -> None:
    jobs = [stopped(world).id for _ in range(3)]
    words = ("commits", "requeue", *jobs, "--yes", "--no-wait", *OPERATOR)
    assert cli("commits", "requeue", jobs[0], "--no-wait", *OPERATOR).code == ExitCode.OK
    worker.commits_to(Status.SUCCESS)
    assert cli("commits", "requeue", jobs[1], *OPERATOR).code == ExitCode.OK
    ran = cli(*words, "--json")
    assert (ran.code, ran.json["succeeded"], ran.json["skipped"], ran.json["failed"]) == (ExitCode.OK, 1, 2, 0)
    assert [(item["job"], item["skipped"], item["note"]) for item in ran.json["items"]] == [
        (jobs[0], True, "it is COMMITTING already"),
        (jobs[1], True, "it is SUCCESS already"),
        (jobs[2], False, ""),
    ]
    again = cli(*words)
    assert again.code == ExitCode.OK
    assert "requeue: 0 of 3 jobs ok; 3 skipped." in again.out


def test_a_bulk_discard_takes_filters_and_can_be_repeated(cli: Cli, world: ApiWorld) -> None:
    jobs = [stopped(world).id for _ in range(2)]
    other = stopped(world, error=ErrorInfo(code="commit.unknown", message="Who knows."))
    failed = world.job(Status.FUNCTION_ERROR, error=FAILED)
    words = ("commits", "discard", "--error", "commit.failed", "--reason", "The campaign is over.", *OPERATOR)
    assert cli(*words).code == ExitCode.CONFIRMATION_NEEDED
    assert cli("commits", "discard", jobs[0], "--all", "--reason", "r", "--yes").code == ExitCode.USAGE
    tried = cli(*words, "--dry-run", "--json")
    assert {item["target"] for item in tried.json["items"]} == set(jobs)
    ran = cli(*words, "--yes", "--json")
    assert (ran.code, {item["job"] for item in ran.json["items"]}) == (ExitCode.OK, set(jobs))
    assert cli("jobs", "show", other.id, "--json").json["error"]["code"] == "commit.unknown"
    assert cli("jobs", "show", failed.id, "--json").json["status"] == "FUNCTION_ERROR"
    assert cli(*words, "--yes", "--json").json["total"] == 0
    named = cli("commits", "discard", *jobs, other.id, "--reason", "r", "--yes", *OPERATOR, "--json")
    assert (named.code, named.json["succeeded"], named.json["skipped"]) == (ExitCode.OK, 1, 2)


def test_several_effects_of_one_job_are_resolved_alike(cli: Cli, world: ApiWorld) -> None:
    records = tuple(record(seq, EffectState.UNKNOWN) for seq in range(3))
    job = world.job(Status.PARTIAL, effects=tuple(map(effect, range(3))), records=records, error=FAILED)
    words = ("commits", "resolve", job.id, "0", "2", "--reason", "Seen in the ledger.", *OPERATOR)
    assert "effect 0 (refund_payment) would be RESOLVED_DONE; effect 2" in cli(*words, "--done", "--dry-run").out
    assert cli(*words, "--done", "--result", "1").code == ExitCode.USAGE
    ran = cli(*words, "--done", "--json")
    states = [shown["state"] for shown in ran.json["effects"]]
    assert (ran.code, states) == (ExitCode.OK, ["RESOLVED_DONE", "UNKNOWN", "RESOLVED_DONE"])
    later = cli("commits", "resolve", job.id, "1", "0", "--not-done", "--reason", "r", *OPERATOR)
    assert later.code == ExitCode.CONFLICT
    assert f"Resolved before that: effect 1 of {job.id}." in later.err


def test_without_a_terminal_a_line_now_and_then_says_how_far_it_is(
    cli: Cli, world: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    jobs = [stopped(world).id for _ in range(3)]
    ran = cli("commits", "requeue", *jobs, "--yes", "--no-wait", *OPERATOR)
    assert ran.err == "requeue: 1 of 3\nrequeue: 2 of 3\n"
    assert cli("commits", "requeue", *jobs, "--yes", "--no-wait", *OPERATOR, "--json").err == ""


def test_of_very_many_only_those_that_failed_are_drawn(
    cli: Cli, world: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROWS_MAX", 2)
    good, blocked = [stopped(world).id for _ in range(2)], stopped(world, EffectState.UNKNOWN).id
    ran = cli("commits", "requeue", *good, blocked, "--yes", "--no-wait", *OPERATOR)
    assert [each.split()[0] for each in ran.out.splitlines() if each.startswith("job_")] == [blocked]
    assert "requeue: 2 of 3 jobs ok." in ran.out


def test_an_interruption_ends_between_two_jobs_and_tells_what_was_begun(
    cli: Cli, world: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [stopped(world).id for _ in range(3)]

    monkeypatch.setattr(world.transport, "handle_request", _interrupting(world.transport.handle_request))
    ran = cli("commits", "requeue", *jobs, "--yes", "--no-wait", *OPERATOR, "--json")
    assert ran.code == ExitCode.INTERRUPTED
    assert [(item["job"], item["status"]) for item in ran.json["items"]] == [(jobs[0], "COMMITTING")]
    assert (ran.json["total"], ran.json["succeeded"]) == (3, 1)
    assert "begun for 1 of 3 jobs" in ran.problem["detail"]
    assert [world.store.version(job) for job in jobs[1:]] == [(4, Status.PARTIAL)] * 2


def _interrupting(handle: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Handles requests, and presses Ctrl-C while the first change is under way."""
    pressed: list[bool] = []

    def handled(request: Any) -> Any:
        if request.url.path.endswith("/requeue") and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return handle(request)

    return handled
