"""Recipes as files, by commands alone over the real processes: export, edit, import, run, review."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.deployment import ROOT, VARDY, Deployment, running
from tests.support.terminal import Terminal
from vardy_api.cli.exits import ExitCode
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vardy_api.embedded import EmbeddedServer

DEMO = ROOT / "vardy_worker" / "demo"
ANA = ("--user", "ana", "--role", "support")
LEA = ("--user", "lea", "--role", "support_lead")


@pytest.fixture(scope="module")
def deployment(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment without recipes."""
    folder = tmp_path_factory.mktemp("recipes")
    settings = {
        "VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions",
        "VARDY_RULES": str(DEMO / "rules.yaml"),
        "VARDY_DEMO_DIR": str(folder / "shop"),
    }
    with ScriptedModel() as model:
        made = Deployment(acceptance_server, model, folder, namespace="recipes", settings=settings)
        with running(made, "api", "worker"):
            yield made


def shown(deployment: Deployment, *words: str, code: ExitCode = ExitCode.OK) -> dict[str, Any]:
    done = deployment.cli(*words, "--json", check=False)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def test_a_jobs_program_becomes_a_file_is_edited_imported_and_run(deployment: Deployment, tmp_path: Path) -> None:
    job = shown(deployment, "run", "Refund 25.00 of payment 5", *ANA)
    shown(deployment, "recipes", "save", "refund", "--from-job", job["id"], "--reviewed-by", "lea")
    shown(deployment, "recipes", "export", "--all", "--to", str(tmp_path))
    path = tmp_path / "refund.recipe.js"
    text = path.read_text()
    schema = "params_schema: {type: object, properties: {cents: {type: integer}}, required: [cents]}\n"
    bounds = "envelope: {functions: {refund_payment: {effects_max: 1, arguments: {amount_cents: {max: 6000}}}}}\n"
    edited = text.replace("params_schema:\n  type: object\n", schema + bounds).replace(
        "amount_cents, reason", "amount_cents: params.cents, reason"
    )
    assert edited.count("params.cents") == 1
    path.write_text(edited)
    dry = shown(deployment, "recipes", "import", str(tmp_path), "--dry-run")
    assert [item["state"] for item in dry["items"]] == ["changed"]
    assert shown(deployment, "recipes", "show", "refund")["version"] == 1
    assert shown(deployment, "recipes", "import", str(tmp_path))["items"][0]["version"] == 2
    asked = len(deployment.model.requests)
    done = shown(deployment, "recipes", "run", "refund", "--params", '{"cents": 1234}', *ANA)
    assert (done["status"], done["effects"][0]["args"]["amount_cents"]) == ("SUCCESS", 1234)
    wrong = shown(deployment, "recipes", "run", "refund", "--params", '{"cents": "x"}', *ANA, code=ExitCode.ERROR)
    assert (wrong["status"], wrong["error"]["code"]) == ("VALIDATION_BLOCKED", "validation.params")
    assert len(deployment.model.requests) == asked


def test_the_demos_recipes_are_imported_and_the_rules_know_their_bounds(deployment: Deployment) -> None:
    shown(deployment, "recipes", "import", str(DEMO / "recipes"), "--yes")
    listed = {item["name"]: item["needs_review"] for item in shown(deployment, "recipes", "list")["items"]}
    assert listed.items() >= {"customer-balance": False, "damaged-goods": False}.items()
    run = ("recipes", "run", "damaged-goods", *ANA, "--params")
    assert shown(deployment, *run, '{"payment_id": 3, "amount_cents": 4600}')["status"] == "SUCCESS"
    assert shown(deployment, *run, '{"payment_id": 5, "amount_cents": 8000}')["status"] == "SUCCESS"
    over = shown(deployment, *run, '{"payment_id": 5, "amount_cents": 8001}')
    assert over["status"] == "PENDING_APPROVAL"
    digest = over["plan"]["digest"]
    approved = shown(deployment, "approvals", "approve", over["id"], "--digest", digest, *LEA)
    assert approved["status"] == "SUCCESS"
    planned = shown(deployment, *run, '{"payment_id": 5, "amount_cents": 100}', "--mode", "plan")
    assert planned["status"] == "PLANNED"


def test_at_a_terminal_the_difference_is_shown_before_anything_is_saved(deployment: Deployment, tmp_path: Path) -> None:
    for name in ("one", "two"):
        header = f"/*---\nname: {name}\nreviewed_by: lea\n---*/\n"
        (tmp_path / f"{name}.recipe.js").write_text(header + "async function run() {\n  return 1;\n}\n")
    shown(deployment, "recipes", "import", str(tmp_path), "--yes")
    for path in tmp_path.iterdir():
        path.write_text(path.read_text().replace("return 1", "return 2"))
    command = [VARDY, "recipes", "import", str(tmp_path)]
    with Terminal(command, deployment.environment) as terminal:
        terminal.wait_for("Save 2 recipes?")
        assert "-  return 1;" in terminal.plain
        assert "+  return 2;" in terminal.plain
        assert shown(deployment, "recipes", "show", "one")["version"] == 1
        terminal.type("y")
        terminal.wait_for("Saved 2 recipes of 2 files (2 changed).")
    assert shown(deployment, "recipes", "show", "one")["version"] == 2
    difference = shown(deployment, "recipes", "show", "one", "--diff", "1")
    assert "+  return 2;" in difference["source"]
