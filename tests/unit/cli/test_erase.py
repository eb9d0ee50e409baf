"""`vardy jobs erase` and `vardy jobs attempts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.factories import ANA
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.job import Attempt
from vardy_worker.contracts.program import Finding, Program
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli

DISCARDED = ErrorInfo(code="commit.discarded", message="Given up.")


def erased(world: ApiWorld, job_id: str) -> bool:
    record = world.store.get(job_id)
    assert record is not None
    return record.is_erased


def test_one_job_is_erased_after_a_question_and_shown_as_it_is_then(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.SUCCESS, output={"name": "Ana"})
    asked = cli("jobs", "erase", job.id)
    assert (asked.code, erased(world, job.id)) == (ExitCode.CONFIRMATION_NEEDED, False)
    tried = cli("jobs", "erase", job.id, "--dry-run", "--json")
    assert (tried.json["items"][0]["allowed"], erased(world, job.id)) == (True, False)
    ran = cli("jobs", "erase", job.id, "--yes")
    assert ran.code == ExitCode.OK
    assert "[erased]" in ran.out
    assert "2 effects: 2 pending" in ran.out
    assert "Ana" not in ran.out
    assert "Next:" not in ran.out
    assert erased(world, job.id)
    assert cli("jobs", "erase", job.id, "--yes").code == ExitCode.OK
    assert cli("jobs", "erase", job.id, "--dry-run").code == ExitCode.CONFLICT
    for words in (("jobs", "show", job.id, "--full"), ("approvals", "show", job.id), ("commits", "show", job.id)):
        assert cli(*words).code == ExitCode.OK


def test_a_job_that_is_not_over_is_a_conflict(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    ran = cli("jobs", "erase", job.id, "--yes", "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.CONFLICT, "job.conflict")
    assert cli("jobs", "erase", job.id, "--dry-run").code == ExitCode.CONFLICT


def test_filters_choose_what_is_erased_and_what_is_not_over_is_skipped_and_named(cli: Cli, world: ApiWorld) -> None:
    over = [world.job(Status.SUCCESS).id, world.job(Status.CANCELLED).id, world.job(Status.PARTIAL, error=DISCARDED).id]
    live, partial = world.job(Status.PENDING_APPROVAL).id, world.job(Status.PARTIAL).id
    words = ("jobs", "erase", "--all")
    assert "3 jobs" in cli(*words).err
    tried = cli(*words, "--dry-run", "--json")
    assert {item["target"]: item["allowed"] for item in tried.json["items"]} == {
        **dict.fromkeys(over, True),
        live: False,
        partial: False,
    }
    ran = cli(*words, "--yes", "--json")
    assert (ran.code, ran.json["succeeded"], ran.json["skipped"]) == (ExitCode.OK, 3, 2)
    notes = {item["job"]: item["note"] for item in ran.json["items"] if item["skipped"]}
    assert notes == {live: "it is not over yet", partial: "discard its rest first"}
    assert [erased(world, job) for job in (*over, live, partial)] == [True, True, True, False, False]
    again = cli(*words, "--yes", "--json")
    assert (again.code, again.json["succeeded"], again.json["skipped"]) == (ExitCode.OK, 0, 2)
    only = cli("jobs", "erase", "--status", "SUCCESS", "--yes")
    assert (only.code, only.err) == (ExitCode.OK, "No job matches.\n")


def test_an_erased_commit_needs_nobody_any_more(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.FUNCTION_ERROR, error=ErrorInfo(code="function.failed", message="No."))
    assert job.id in cli("commits", "list").out
    assert cli("jobs", "erase", job.id, "--yes").code == ExitCode.OK
    assert cli("commits", "list").out == "No commit was found that needs anybody.\n"
    requeued = cli("commits", "requeue", "--all", "--yes", "--user", "olga", "--json")
    assert (requeued.code, requeued.json["total"]) == (ExitCode.OK, 0)


def totals(world: ApiWorld) -> dict[str, int]:
    return world.store.user_totals(ANA.id, window_hours=24).counts


def test_erasing_a_person_forgets_what_their_plans_added_up_to(cli: Cli, world: ApiWorld) -> None:
    job, committing = world.job(Status.SUCCESS), world.job(Status.COMMITTING)
    world.store.count_plan(committing, fence=0, totals=EffectTotals(counts={"refund_payment": 2}), window_hours=0)
    assert cli("jobs", "erase", "--user", "ana", "--status", "SUCCESS", "--dry-run").code == ExitCode.OK
    tried = cli("jobs", "erase", "--user", "ana", "--dry-run")
    assert (tried.code, "ana added up to would be erased too" in tried.err) == (ExitCode.OK, True)
    assert cli("jobs", "erase", "--user", "ana").code == ExitCode.CONFIRMATION_NEEDED
    assert totals(world) == {"refund_payment": 2}
    assert cli("jobs", "erase", "--user", "ana", "--status", "SUCCESS", "--yes").code == ExitCode.OK
    assert (erased(world, job.id), totals(world)) == (True, {"refund_payment": 2})
    assert cli("jobs", "erase", "--user", "ana").code == ExitCode.CONFIRMATION_NEEDED
    ran = cli("jobs", "erase", "--user", "ana", "--yes")
    assert (ran.code, "ana added up to was erased too" in ran.err) == (ExitCode.OK, True)
    assert totals(world) == {}
    assert cli("jobs", "list", "--user", "ana", "--json").json["items"][0]["id"] == committing.id


def test_ids_and_filters_do_not_mix(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.SUCCESS)
    assert cli("jobs", "erase").code == ExitCode.USAGE
    assert cli("jobs", "erase", job.id, "--user", "ana", "--yes").code == ExitCode.USAGE
    assert not erased(world, job.id)


def test_one_failure_stops_no_other(cli: Cli, world: ApiWorld) -> None:
    good, live = world.job(Status.SUCCESS).id, world.job(Status.RUNNING).id
    ran = cli("jobs", "erase", live, good, "--yes", "--json")
    assert (ran.code, erased(world, good)) == (ExitCode.BULK_FAILED, True)
    assert ran.json["items"][0]["error"]["code"] == "job.conflict"


def test_refused_answers_of_the_model_are_shown_to_operators(cli: Cli, world: ApiWorld) -> None:
    finding = Finding(code="program.eval", message="No eval.", line=3, column=7)
    refused = Attempt(
        text="```js\neval(1)\n```",
        error=ErrorInfo(code="validation.program", message="It uses eval."),
        findings=(finding,),
    )
    program = Program(source="async function run() {}", sha256="0" * 64, prompt="program-1+repair-1")
    job = world.job(Status.SUCCESS, attempts=(refused,), program=program)
    out = cli("jobs", "attempts", job.id).out
    assert "program-1+repair-1" in out
    assert "Answer 1  validation.program" in out
    assert "line 3, column 7: No eval." in out
    assert "eval(1)" in out
    assert cli("jobs", "attempts", job.id, "--json").json["items"] == [refused.model_dump(mode="json")]
    assert "No answer of a model was refused." in cli("jobs", "attempts", world.job().id).out
    reader = world.token(Scope.READ)
    assert cli("jobs", "attempts", job.id, "--api-key", reader).code == ExitCode.ERROR
