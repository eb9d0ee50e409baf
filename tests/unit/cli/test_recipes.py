"""`vardy recipes`: saving with an envelope, reviews, differences."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import effect
from vardy_api.cli.exits import ExitCode
from vardy_api.client import Vardy
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli
    from vardy_api.recipe_shapes import RecipeView

READS = "async function run(params) {\n  return await list_payments();\n}\n"
WRITES = "async function run(params) {\n  await refund_payment({payment_id: params.id});\n  return 1;\n}\n"
ENVELOPE = {"functions": {"refund_payment": {"effects_max": 1, "arguments": {"payment_id": {"min": 1, "max": 9}}}}}
SAVE = ("recipes", "save", "refund", "--file", "-", "--reviewed-by", "lea")


def test_a_recipe_is_saved_with_an_envelope_and_shown_with_it(cli: Cli) -> None:
    saved = cli(*SAVE, "--envelope", json.dumps(ENVELOPE), stdin=WRITES)
    assert saved.code == ExitCode.OK
    assert cli("recipes", "show", "refund", "--json").json["envelope"]["functions"] == {
        "refund_payment": {
            "effects_max": 1,
            "arguments": {"payment_id": {"min": 1, "max": 9, "sum_max": None}},
        }
    }
    shown = cli("recipes", "show", "refund").out
    assert "refund_payment: 1 effect; payment_id at least 1, at most 9" in shown


def test_what_is_wrong_in_an_envelope_is_named_by_its_place(cli: Cli) -> None:
    ran = cli(*SAVE, "--envelope", '{"functions": {"refund_payment": {"effect_max": 1}}}', stdin=WRITES)
    assert ran.code == ExitCode.USAGE
    assert "envelope.functions.refund_payment.effects_max: is missing" in ran.err
    assert "envelope.functions.refund_payment.effect_max: is not known here." in ran.err
    other = cli(*SAVE, "--envelope", '{"functions": {"refund_paymentt": {"effects_max": 1}}}', stdin=WRITES)
    assert other.err == "Error: The program does not call `refund_paymentt`; did you mean `refund_payment`?\n"


def test_json_that_says_two_things_under_one_key_is_refused(cli: Cli) -> None:
    bounds = '{"refund_payment": {"effects_max": 1, "effects_max": 100}}'
    ran = cli(*SAVE, "--envelope", f'{{"functions": {bounds}}}', stdin=WRITES)
    assert (ran.code, ran.err) == (ExitCode.USAGE, "Error: --envelope is not JSON: an object has the same key twice.\n")


def test_an_envelope_is_taken_from_what_a_job_did(cli: Cli, world: ApiWorld) -> None:
    program = Program(source=WRITES, sha256=sha256_text(WRITES))
    job = world.job(Status.SUCCESS, program=program, effects=(effect(), effect(1)))
    saved = cli(*SAVE[:3], "--from-job", job.id, "--envelope-from-job", job.id, "--reviewed-by", "lea", "--json")
    assert saved.code == ExitCode.OK
    envelope = saved.json["envelope"]
    assert (envelope["effects_max"], envelope["functions"]["refund_payment"]["effects_max"]) == (2, 2)


def test_a_dry_run_of_a_save_says_what_it_would_come_to(cli: Cli) -> None:
    ran = cli(*SAVE, "--dry-run", stdin=READS)
    assert (ran.code, ran.out) == (0, "Dry run: nothing was changed. refund is valid and would become version 1.\n")
    assert cli("recipes", "show", "refund").code == ExitCode.NOT_FOUND
    bad = cli(*SAVE, "--dry-run", stdin="async function run() { return await list_paymentz(); }")
    assert bad.code == ExitCode.ERROR
    assert "list_payments" in bad.err


@pytest.mark.parametrize(
    ("required", "command"),
    [
        (None, "vardy recipes run refund\n"),
        (["days", "to"], """vardy recipes run refund --params '{"days": …, "to": …}'\n"""),
        (["it's"], """vardy recipes run refund --params '{"it'"'"'s": …}'\n"""),
    ],
)
def test_a_saved_recipe_says_how_it_is_run(cli: Cli, required: list[str] | None, command: str) -> None:
    schema = {"type": "object"} | ({} if required is None else {"required": required})
    saved = cli(*SAVE, "--params-schema", json.dumps(schema), stdin=READS)
    assert saved.out == f"Saved refund as version 1.\n\nNext:\n  {command}"


def test_a_version_that_has_less_than_the_one_before_it_says_how_to_see_that(cli: Cli) -> None:
    cli(*SAVE, "--params-schema", '{"type": "object", "required": ["days"]}', stdin=READS)
    saved = cli(*SAVE, stdin=READS)
    assert saved.out.endswith("Next:\n  vardy recipes run refund\n  vardy recipes show refund --diff 1\n")
    assert "days" in cli("recipes", "show", "refund", "--diff", "1").out


def test_saving_the_same_again_makes_no_version_and_names_who_reviewed_it(cli: Cli) -> None:
    cli(*SAVE, stdin=READS)
    again = cli(*SAVE[:-1], "leo", stdin=READS)
    assert "Nothing to do: version 1 of refund, which lea reviewed, is the same already." in again.out
    assert cli("recipes", "show", "refund", "--json").json["version"] == 1


def test_the_file_of_a_recipe_is_not_taken_for_a_program(cli: Cli) -> None:
    ran = cli(*SAVE, stdin="/*---\nname: refund\n---*/\n" + READS)
    assert ran.code == ExitCode.USAGE
    assert "vardy recipes import" in ran.err


def test_versions_are_compared(cli: Cli) -> None:
    cli(*SAVE, "--description", "One.", stdin=READS)
    cli(*SAVE, "--description", "Two.", stdin=READS.replace("return", "const all ="))
    shown = cli("recipes", "show", "refund", "--diff", "1").out
    for part in ("version 1 → 2", '- "One."', '+ "Two."', "-  return await", "+  const all = await"):
        assert part in shown
    assert cli("recipes", "show", "refund", "--diff", "2:1", "--json").json["before"] == 2
    assert "the same" in cli("recipes", "show", "refund", "--diff", "2:2").out
    assert cli("recipes", "show", "refund", "--diff", "1:9").code == ExitCode.NOT_FOUND
    for words in (("--diff", "0"), ("--diff", "1-2"), ("--diff", "1", "--versions")):
        assert cli("recipes", "show", "refund", *words).code == ExitCode.USAGE


def test_a_changed_function_asks_for_a_review_which_says_what_changed(cli: Cli, world: ApiWorld) -> None:
    cli(*SAVE, "--description", "Gives it back.", "--envelope", json.dumps(ENVELOPE), stdin=WRITES)
    world.change_function("refund_payment", idempotent=True)
    assert cli("recipes", "list").out.splitlines()[1].split()[:3] == ["refund", "1", "needed"]
    shown = cli("recipes", "show", "refund").out
    assert "Needs a review" in shown
    assert "refund_payment" in shown.split("Needs a review")[1]
    review = ("recipes", "review", "refund", "--reviewed-by", "mia")
    assert cli(*review).code == ExitCode.CONFIRMATION_NEEDED
    tried = cli(*review, "--dry-run").out
    assert "  refund_payment: Its option `idempotent` is true now" in tried
    assert tried.endswith("refund is valid and would become version 2.\n")
    assert cli(*review, "--dry-run", "--json").json["version"] == 2
    assert cli("recipes", "show", "refund", "--json").json["version"] == 1
    assert "Reviewed refund as version 2." in cli(*review, "--yes").out
    view = cli("recipes", "show", "refund", "--json").json
    assert (view["needs_review"], view["reviewed_by"], view["description"]) == (False, "mia", "Gives it back.")
    assert view["envelope"] is not None


def test_a_review_signs_only_what_was_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli(*SAVE, stdin=READS)
    shown = Vardy.recipe

    def replaced_afterwards(client: Vardy, name: str, **values: Any) -> RecipeView:
        view = shown(client, name, **values)
        client.delete_recipe(name)
        client.save_recipe(name, source=WRITES, reviewed_by="lea")
        return view

    monkeypatch.setattr(Vardy, "recipe", replaced_afterwards)
    assert cli("recipes", "review", "refund", "--reviewed-by", "mia", "--yes").code == ExitCode.CONFLICT
    monkeypatch.undo()
    view = cli("recipes", "show", "refund", "--json").json
    assert (view["version"], view["reviewed_by"]) == (1, "lea")


def test_a_review_may_change_or_remove_the_envelope(cli: Cli) -> None:
    cli(*SAVE, "--envelope", json.dumps(ENVELOPE), stdin=WRITES)
    review = ("recipes", "review", "refund", "--reviewed-by", "mia", "--yes", "--json")
    wider = {"functions": {"refund_payment": {"effects_max": 5}}}
    widened = cli(*review, "--envelope", json.dumps(wider)).json["envelope"]["functions"]
    assert widened["refund_payment"]["effects_max"] == 5
    assert cli(*review, "--description", "New.").json["envelope"] is not None
    assert cli(*review, "--envelope", "null").json["envelope"] is None
    assert cli("recipes", "show", "refund", "--json").json["description"] == "New."
    assert cli(*review, "--envelope", "[]").code == ExitCode.USAGE
