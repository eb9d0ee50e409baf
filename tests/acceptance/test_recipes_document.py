"""What `docs/recipes.md` shows is done as it stands there, by commands and programs, over the real processes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support.deployment import ROOT, Deployment, running
from vardy_worker.demo.scripted import ScriptedModel
from vardy_worker.documents import publish_catalogue, read_catalogue
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.embedded import EmbeddedServer

TEXT = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^```\w+\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def deployment(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The demo shop, and the files that the document shows in the folder where commands run."""
    folder = tmp_path_factory.mktemp("document")
    files = dict(NAMED.findall(TEXT))
    files |= {"debt.json": block("json"), "overdue-reminder.recipe.js": block("javascript")}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    settings = {
        "VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions",
        "VARDY_RULES": str(ROOT / "vardy_worker" / "demo" / "rules.yaml"),
        "VARDY_DEMO_DIR": str(folder / "shop"),
    }
    with ScriptedModel() as model:
        made = Deployment(acceptance_server, model, folder, namespace="document", settings=settings)
        with running(made, "api", "worker"):
            yield made


def change_a_function(deployment: Deployment) -> None:
    """What a worker of the company's next release does when it starts."""
    client = connect(deployment.store_url)
    documents = RedisDocuments(client, deployment.namespace)
    catalogue = read_catalogue(documents)
    changed = [
        spec.model_copy(update={"version": "0" * 64, "retries": 5}) if spec.name == "send_email" else spec
        for spec in catalogue.functions
    ]
    publish_catalogue(documents, catalogue.model_copy(update={"functions": tuple(changed)}))
    client.close()


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_commands_do_what_is_shown(deployment: Deployment) -> None:
    job = ""
    for section in re.split(r"^## ", TEXT, flags=re.MULTILINE):
        if section.startswith("When a function changes"):
            change_a_function(deployment)
        for shown in CONSOLE.findall(section):
            for part in shown.removeprefix("$ ").split("\n$ "):
                command, *expected = part.strip().splitlines()
                program, *arguments = shlex.split(command.replace(" JOB", f" {job}"))
                assert program == "vardy"
                done = deployment.cli(*arguments, check=False)
                printed = words(done.stdout)
                assert done.returncode == int("VALIDATION_BLOCKED" in printed), f"{command}\n{done.stdout}{done.stderr}"
                assert [line for line in expected if words(line) not in printed] == [], f"{command}\n{done.stdout}"
                if found := re.search(r"job_\w+", printed):
                    job = found[0]
    python = subprocess.run(
        [sys.executable, "remind.py"],
        env=deployment.environment,
        cwd=deployment.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert python.stdout.splitlines() == ["2 lea False", "PLANNED 0", "True 3"], python.stderr


def test_the_test_that_is_shown_passes(deployment: Deployment) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VARDY_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "test_recipes.py"]
    done = subprocess.run(
        command,
        env=environment | {"PYTHONPATH": str(ROOT)},
        cwd=deployment.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_workflow_runs_commands_that_exist() -> None:
    workflow = yaml.safe_load(dict(NAMED.findall(TEXT))[".github/workflows/recipes.yaml"])
    steps = [step["run"] for step in workflow["jobs"]["recipes"]["steps"] if "run" in step]
    assert [step for step in steps if step.startswith("vardy")] == [
        "vardy recipes import recipes --dry-run",
        "vardy recipes import recipes --yes",
    ]


def test_every_key_of_a_file_and_every_bound_is_told() -> None:
    tables = re.findall(r"^\| (?:key|bound) \| what \|\n\|---\|---\|\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    firsts = ([row.split("|")[1] for row in table.splitlines()] for table in tables)
    keys, bounds = (set(re.findall(r"`(\w+)`", " ".join(cells))) for cells in firsts)
    assert keys == {
        "name",
        "version",
        "description",
        "params_schema",
        "judge",
        "envelope",
        "functions",
        "reviewed_by",
        "reviewed_at",
    }
    assert bounds == {"functions", "effects_max", "arguments"}
    assert json.loads(block("json"))["type"] == "object"
