"""`vardy commits`: the operator's verbs, one by one and in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.factories import effect
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli, Worker
    from vardy_worker.contracts.job import JobRecord

OPERATOR = ("--user", "olga")
FAILED = ErrorInfo(code="commit.failed", message="Effect 1 failed.")


def record(seq: int, state: EffectState) -> EffectRecord:
    return EffectRecord(seq=seq, state=state, attempts=1)


def stopped(world: ApiWorld, state: EffectState = EffectState.FAILED, **fields: Any) -> JobRecord:
    records = (record(0, EffectState.SUCCEEDED), record(1, state))
    return world.job(Status.PARTIAL, **{"records": records, "error": FAILED, **fields})


def test_only_commits_that_need_somebody_are_listed(cli: Cli, world: ApiWorld) -> None:
    assert cli("commits", "list").out == "No commit needs anybody.\n"
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
