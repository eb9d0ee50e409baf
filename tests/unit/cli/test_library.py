"""`vardy recipes`, `functions`, `rules` and `prompts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.api import CATALOGUE
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Status
from vardy_worker.prompts.explore import explore_prompt

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli

PROGRAM = "async function run(params) {\n  return await list_payments();\n}\n"
SCHEMA = '{"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}'
RULES = "default: block\nrules:\n  - name: refunds\n    on: [refund_payment]\n    then: allow\n"
BROKEN = "default: approve\nrules:\n  - name: refunds\n    on: [refund_payment]\n    then: alow\n"


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.js"
    path.write_text(PROGRAM)
    return str(path)


def test_a_recipe_is_saved_shown_and_listed(cli: Cli, program: str) -> None:
    assert "There is no recipe yet" in cli("recipes", "list").out
    words = ("recipes", "save", "payments", "--file", program, "--params-schema", SCHEMA, "--reviewed-by", "lea")
    saved = cli(*words, "--description", "All payments.")
    assert saved.code == ExitCode.OK
    assert "Saved payments as version 1." in saved.out
    assert "vardy recipes run payments" in saved.out
    shown = cli("recipes", "show", "payments").out
    for part in ("version 1", "All payments.", "list_payments", "lea", "days", "integer", "needed", "async function"):
        assert part in shown
    assert cli("recipes", "show", "payments", "--json").json["source"] == PROGRAM
    listed = cli("recipes", "list").out.splitlines()
    assert listed[1].split()[:4] == ["payments", "1", "ok", "-"]
    assert [item["name"] for item in cli("recipes", "list", "--json").json["items"]] == ["payments"]


def test_a_recipe_keeps_its_versions(cli: Cli, program: str) -> None:
    save = ("recipes", "save", "payments", "--reviewed-by", "lea", "--json")
    assert cli(*save, "--file", program, "--expect-version", "0").json["version"] == 1
    assert cli(*save, "--file", "-", "--description", "New.", stdin=PROGRAM).json["version"] == 2
    late = cli(*save, "--file", program, "--expect-version", "1")
    assert (late.code, late.problem["code"]) == (ExitCode.CONFLICT, "recipe.conflict")
    versions = cli("recipes", "show", "payments", "--versions", "--json").json["items"]
    assert [view["version"] for view in versions] == [1, 2]
    assert cli("recipes", "show", "payments", "--version", "1", "--json").json["description"] == ""
    assert cli("recipes", "show", "payments", "--version", "3").code == ExitCode.NOT_FOUND
    assert cli("recipes", "show", "payments", "--version", "1", "--versions").code == ExitCode.USAGE


def test_a_program_that_does_not_validate_is_refused_with_its_place(cli: Cli) -> None:
    source = "async function run() {\n  await list_paymentz();\n  return fetch('x');\n}\n"
    ran = cli("recipes", "save", "payments", "--file", "-", "--reviewed-by", "lea", stdin=source)
    assert ran.code == ExitCode.ERROR
    assert "line 2" in ran.err
    assert "list_payments" in ran.err
    assert "line 3" in ran.err


def test_a_job_becomes_a_recipe(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.SUCCESS, program=Program(source=PROGRAM, sha256="0" * 64))
    saved = cli("recipes", "save", "payments", "--from-job", job.id, "--reviewed-by", "lea", "--json")
    assert (saved.json["source"], saved.json["from_job"]) == (PROGRAM, job.id)


def test_a_recipe_comes_from_one_place(cli: Cli, program: str) -> None:
    assert cli("recipes", "save", "payments").code == ExitCode.USAGE
    both = cli("recipes", "save", "payments", "--from-job", "job_1", "--file", program)
    assert both.code == ExitCode.USAGE


def test_deleting_a_recipe_asks_first(cli: Cli, program: str) -> None:
    cli("recipes", "save", "payments", "--file", program, "--reviewed-by", "lea")
    assert cli("recipes", "delete", "payments").code == ExitCode.CONFIRMATION_NEEDED
    assert "versions 1 to 1" in cli("recipes", "delete", "payments", "--dry-run").out
    gone = cli("recipes", "delete", "payments", "--yes", "--json")
    assert (gone.code, gone.json) == (ExitCode.OK, {"action": "Deleted", "target": "recipe payments"})
    assert cli("recipes", "show", "payments").code == ExitCode.NOT_FOUND
    assert cli("recipes", "delete", "payments", "--yes").code == ExitCode.NOT_FOUND


def test_functions_are_listed_and_shown(cli: Cli) -> None:
    rows = {line.split()[0]: line.split()[1:3] for line in cli("functions", "list").out.splitlines()}
    assert rows["list_salaries"] == ["read", "hr"]
    assert rows["refund_payment"] == ["write", "everybody"]
    writes = cli("functions", "list", "--kind", "write", "--json").json["functions"]
    assert [spec["name"] for spec in writes] == ["refund_payment"]
    shown = cli("functions", "show", "refund_payment").out
    for part in ("declare function refund_payment", "Give money back", "idempotent", "30 s"):
        assert part in shown
    assert cli("functions", "show", "refund_payment", "--json").json["version"] == "v1"


def test_a_mistyped_function_gets_a_suggestion(cli: Cli) -> None:
    ran = cli("functions", "show", "refund_paymnt")
    assert ran.code == ExitCode.NOT_FOUND
    assert "did you mean refund_payment?" in ran.err


def test_rules_are_checked_applied_and_shown(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    assert "built-in" in cli("rules", "show").out
    assert cli("rules", "check", str(file)).out == "The rules are valid; nothing was applied.\n"
    assert cli("rules", "apply", str(file), "--user", "lea", "--dry-run", "--json").json["dry_run"] is True
    assert cli("rules", "show", "--json").json["version"] == 0
    assert "version 1 is active" in cli("rules", "apply", str(file), "--user", "lea", "--expect-version", "0").out
    again = cli("rules", "apply", str(file), "--user", "lea")
    assert "already" in again.out
    shown = cli("rules", "show")
    assert shown.out.endswith(RULES)
    assert "applied by lea" in shown.out.splitlines()[0]
    assert cli("rules", "apply", "-", "--user", "lea", stdin=shown.out).code == ExitCode.OK
    late = cli("rules", "apply", "-", "--user", "lea", "--expect-version", "0", "--json", stdin="default: allow\n")
    assert (late.code, late.problem["code"]) == (ExitCode.CONFLICT, "rules.conflict")


def test_a_bad_rules_file_is_refused_with_the_line(cli: Cli) -> None:
    for words in (("rules", "check", "-"), ("rules", "apply", "-", "--user", "lea")):
        ran = cli(*words, stdin=BROKEN)
        assert ran.code == ExitCode.ERROR
        assert "line 5" in ran.err.lower()
        assert "did you mean `allow`?" in ran.err
    assert cli("rules", "show", "--json").json["version"] == 0


def test_the_prompt_is_shown_exactly(cli: Cli, world: ApiWorld) -> None:
    words = ("prompts", "show", "refund 7", "--user", "ana", "--params", '{"days": 30}', "--function", "list_payments")
    messages = cli(*words, "--json").json["messages"]
    drawn = cli(*words)
    assert [message["role"] for message in messages] == ["system", "user"]
    for message in messages:
        assert message["content"].rstrip("\n") in drawn.out
    assert "list_payments" in messages[0]["content"]
    assert "refund_payment" not in messages[0]["content"]
    assert world.queue.depth("run") == 0


def test_the_prompt_of_a_question_is_that_of_an_explore(cli: Cli, world: ApiWorld) -> None:
    words = ("prompts", "show", "who pays late?", "--user", "ana", "--explore", "--judge", "--json")
    catalogue = CATALOGUE.for_user((), reads_only=True)
    limits = world.settings.limits
    expected = explore_prompt(catalogue=catalogue, question="who pays late?", params={}, limits=limits, judge=True)
    assert cli(*words).json["messages"] == [message.model_dump(mode="json") for message in expected]
