"""`vardy run`: what is sent, what is shown, and the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.factories import ANA, effect
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli, Worker
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.job import JobRecord


def stored(world: ApiWorld, job_id: str) -> JobRecord:
    record = world.store.get(job_id)
    assert record is not None
    return record


def test_a_job_that_ends_well_is_shown_with_its_output(cli: Cli, worker: Worker) -> None:
    worker.runs_to(Status.SUCCESS, output={"open": 3, "names": ["Ana"]})
    ran = cli("run", "how many are open?", "--user", "ana")
    assert ran.code == ExitCode.OK
    assert "SUCCESS" in ran.out
    assert "how many are open?" in ran.out
    assert '"open": 3' in ran.out
    assert ran.err == ""


def test_json_is_the_job_as_the_api_shows_it(cli: Cli, worker: Worker, world: ApiWorld) -> None:
    worker.runs_to(Status.SUCCESS, output=[1, 2])
    ran = cli("run", "count", "--user", "ana", "--json")
    with world.http() as http:
        assert ran.json == http.get(f"/v1/jobs/{ran.json['id']}").json()
    assert ran.code == ExitCode.OK


def test_everything_that_can_be_asked_for_reaches_the_service(cli: Cli, world: ApiWorld) -> None:
    ran = cli(
        "run",
        "refund it",
        *("--user", '{"id": "ana", "roles": ["support"], "attributes": {"team": 7}}'),
        *("--role", "night"),
        *("--params", '{"days": 30, "big": 9007199254740993}'),
        *("--mode", "plan"),
        *("--function", "list_payments", "--function", "refund_payment"),
        *("--execution-repairs", "2"),
        *("--metadata", "ticket=17=b", "--metadata", "source=cli"),
        *("--limit", "calls_max=5"),
        "--no-wait",
        "--json",
    )
    assert ran.code == ExitCode.OK
    submission = stored(world, ran.json["id"]).submission
    assert submission.request == "refund it"
    assert submission.user.roles == ("support", "night")
    assert submission.user.attributes == {"team": 7}
    assert submission.params == {"days": 30, "big": 9007199254740993}
    assert submission.mode is Mode.PLAN
    assert submission.functions == ("list_payments", "refund_payment")
    assert submission.execution_repairs == 2
    assert submission.metadata == {"ticket": "17=b", "source": "cli"}
    assert submission.limits == {"calls_max": 5}


def test_text_and_params_can_come_from_elsewhere(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    params = tmp_path / "params.json"
    params.write_text('{"ids": [1, 2]}')
    ran = cli("run", "-", "--params", f"@{params}", "--user", "ana", "--no-wait", "--json", stdin="refund these\n")
    submission = stored(world, ran.json["id"]).submission
    assert (submission.request, submission.params) == ("refund these", {"ids": [1, 2]})


def test_without_waiting_the_next_command_is_named(cli: Cli) -> None:
    ran = cli("run", "refund it", "--user", "ana", "--no-wait")
    assert "QUEUED" in ran.out
    assert "vardy jobs wait job_" in ran.out


def test_the_same_idempotency_key_gives_the_same_job(cli: Cli) -> None:
    words = ("run", "refund it", "--user", "ana", "--no-wait", "--json", "--idempotency-key", "order-17")
    assert cli(*words).json["id"] == cli(*words).json["id"]
    other = cli("run", "refund all", *words[2:])
    assert other.code == ExitCode.ERROR
    assert other.problem["code"] == "idempotency.mismatch"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.PLANNED, ExitCode.OK),
        (Status.PENDING_APPROVAL, ExitCode.OK),
        (Status.PARTIAL, ExitCode.ERROR),
        (Status.FUNCTION_ERROR, ExitCode.ERROR),
        (Status.POLICY_BLOCKED, ExitCode.ERROR),
        (Status.EXECUTION_ERROR, ExitCode.ERROR),
        (Status.GENERATION_ERROR, ExitCode.ERROR),
    ],
)
def test_the_exit_code_says_whether_the_job_ended_well(
    cli: Cli, worker: Worker, status: Status, code: ExitCode
) -> None:
    worker.runs_to(status, error=ErrorInfo(code="some.code", message="What to do about it."))
    ran = cli("run", "refund it", "--user", "ana")
    assert ran.code == code
    assert status.value in ran.out
    assert "some.code" in ran.out
    assert "What to do about it." in ran.out


def test_who_left_the_judge_out_is_told_how_to_ask_with_it(cli: Cli, worker: Worker) -> None:
    details: JsonObject = {"findings": [{"code": "program.judge_off", "message": "`classify` is not available."}]}
    worker.runs_to(
        Status.VALIDATION_BLOCKED, error=ErrorInfo(code="validation.program", message="No.", details=details)
    )
    assert cli("run", "refund it", "--user", "ana").out.endswith('Next:\n  vardy run "…" --judge\n')


def test_a_job_that_takes_too_long_is_named_and_goes_on(cli: Cli) -> None:
    ran = cli("run", "refund it", "--user", "ana", "--timeout", "0.2s", "--json")
    assert ran.code == ExitCode.WAIT_TIMED_OUT
    assert ran.json["status"] == "QUEUED"
    assert ran.problem["code"] == "client.wait_timeout"
    assert ran.problem["details"]["job"] == ran.json["id"]
    assert "after 0.2 s" in ran.problem["detail"]


def test_a_recipe_runs_by_its_name(cli: Cli, world: ApiWorld, worker: Worker, tmp_path: Path) -> None:
    source = tmp_path / "program.js"
    source.write_text("async function run(params) { return await list_payments(); }")
    assert cli("recipes", "save", "payments", "--file", str(source), "--reviewed-by", "lea").code == ExitCode.OK
    worker.runs_to(Status.SUCCESS, output=[])
    by_run = cli("run", "--recipe", "payments", "--params", '{"a": 1}', "--user", "ana", "--json")
    by_recipes = cli("recipes", "run", "payments", "--params", '{"a": 1}', "--user", "ana", "--json")
    assert (by_run.code, by_recipes.code) == (ExitCode.OK, ExitCode.OK)
    for ran in (by_run, by_recipes):
        assert stored(world, ran.json["id"]).submission.recipe == "payments"
        assert (ran.json["recipe"], ran.json["recipe_version"], ran.json["params"]) == ("payments", 1, {"a": 1})
    assert "recipe payments" in cli("jobs", "list").out
    assert cli("recipes", "save", "payments", "--file", str(source), "--description", "New.").code == ExitCode.OK
    newer = cli("run", "--recipe", "payments", "--user", "ana", "--json").json
    assert newer["recipe_version"] == 2
    assert "recipe payments, version 2" in cli("jobs", "show", newer["id"]).out
    assert "recipe payments, version 1" in cli("jobs", "show", by_run.json["id"]).out


def test_an_unknown_recipe_is_not_found(cli: Cli) -> None:
    ran = cli("run", "--recipe", "nothing", "--user", "ana")
    assert ran.code == ExitCode.NOT_FOUND
    assert "nothing" in ran.err


def test_a_key_bound_to_a_person_needs_no_user(cli: Cli, world: ApiWorld) -> None:
    cli.token = world.token(person=ANA)
    ran = cli("run", "refund it", "--no-wait", "--json")
    assert ran.json["user"]["id"] == "ana"
    other = cli("run", "refund it", "--user", "leo", "--json")
    assert (other.code, other.problem["code"]) == (ExitCode.ERROR, "auth.person")


def test_a_key_that_may_name_anyone_must_name_somebody(cli: Cli) -> None:
    ran = cli("run", "refund it")
    assert ran.code == ExitCode.ERROR
    assert "--user" in ran.err


def test_a_plan_is_shown_as_a_table_with_verdicts_and_what_to_type_next(cli: Cli, worker: Worker) -> None:
    worker.runs_to(
        Status.PENDING_APPROVAL, effects=(effect(), effect(1, args={"note": "a long text", "payment_id": 1}))
    )
    ran = cli("run", "refund both", "--user", "ana")
    head, *rows = [line.split() for line in ran.out.splitlines() if "refund_payment" in line or "FUNCTION" in line]
    assert head == ["SEQ", "FUNCTION", "ARGUMENTS", "VERDICT", "RULES", "STATE"]
    assert [row[0] for row in rows] == ["0", "1"]
    assert all(row[-3:] == ["approve", "a-rule", "PENDING"] for row in rows)
    assert '{"payment_id": 1, "note": "a long text"}' in ran.out
    job_id = cli("jobs", "list", "--json").json["items"][0]["id"]
    assert f"vardy approvals approve {job_id} --digest " in ran.out
    assert "vardy approvals deny" in ran.out
