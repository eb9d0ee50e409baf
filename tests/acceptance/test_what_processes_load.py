"""What is not loaded cannot be reached: the modules and connections of the real processes."""

from __future__ import annotations

import ast
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.deployment import ROOT, Deployment, running
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vardy_api.client import Vardy
    from vardy_api.embedded import EmbeddedServer

ANA = User(id="ana", roles=("support",))
LEA = User(id="lea", roles=("support_lead",))
SECONDS = 60.0
MODEL_LIBRARIES = {"litellm", "openai", "tiktoken"}
SANDBOX = {"wasmtime", "vardy_worker.sandbox", "vardy_worker.adapters"}
PROGRAMS = {"tree_sitter", "tree_sitter_javascript", "vardy_worker.programs", "vardy_worker.prompts"}
COMPANY = "vardy_worker.demo.shop"
TICKET = """\
async function run(params) {
  return await create_ticket({customer_id: 1, subject: "Call back."});
}
"""


@dataclass(frozen=True)
class Spied:
    """A deployment whose processes report on themselves: API, a worker for runs, one for commits."""

    deployment: Deployment
    folder: Path

    @property
    def redis(self) -> object:
        """The address of the server."""
        return "127.0.0.1", int(self.deployment.redis.url.rpartition(":")[2].partition("/")[0])

    def modules(self, name: str) -> set[str]:
        """What the process has loaded by now."""
        pid = self.deployment.processes[name].pid
        report = self.folder / f"{pid}.modules"
        report.unlink(missing_ok=True)
        os.kill(pid, signal.SIGUSR2)
        assert eventually(report.exists, seconds=SECONDS)
        return set(report.read_text(encoding="utf-8").splitlines())

    def loaded(self, name: str, packages: set[str]) -> set[str]:
        """Which of these packages, or of their parts, the process has loaded."""
        return {
            module
            for module in self.modules(name)
            if any(module == package or module.startswith(f"{package}.") for package in packages)
        }

    def connections(self, name: str) -> set[object]:
        """Every address that the process connected to."""
        report = self.folder / f"{self.deployment.processes[name].pid}.connections"
        return {ast.literal_eval(line) for line in report.read_text(encoding="utf-8").splitlines()}


@pytest.fixture(scope="module")
def spied(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spied]:
    folder = tmp_path_factory.mktemp("spied")
    reports = folder / "reports"
    reports.mkdir()
    settings = {
        "VARDY_FUNCTIONS": f"{COMPANY}:functions",
        "VARDY_RULES": str(ROOT / "vardy_worker" / "demo" / "rules.yaml"),
        "VARDY_DEMO_DIR": str(folder / "shop"),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "support" / "spy"), str(ROOT)]),
        "SPY_DIR": str(reports),
    }
    with ScriptedModel() as model:
        made = Deployment(acceptance_server, model, folder, namespace="spied", settings=settings)
        with running(made, "api"):
            made.launch("worker-runs", VARDY_WORKER_QUEUES="run")
            made.launch("worker-commits", VARDY_WORKER_QUEUES="commit")
            made.wait_ready("worker-runs")
            made.wait_ready("worker-commits")
            yield Spied(made, reports)


@pytest.fixture(scope="module")
def at_start(spied: Spied) -> dict[str, set[str]]:
    """The modules of each process before the first request."""
    return {name: spied.modules(name) for name in spied.deployment.processes}


@pytest.fixture(scope="module")
def after_recipe(spied: Spied, at_start: dict[str, set[str]]) -> tuple[set[str], set[object]]:
    """What the worker for runs has loaded of a model's libraries, and connected to, after a recipe with a commit."""
    assert at_start
    envelope = {"functions": {"create_ticket": {"effects_max": 1}}}
    with spied.deployment.client() as vardy:
        vardy.save_recipe("ticket", source=TICKET, envelope=envelope, reviewed_by="rita")
        job = vardy.run(recipe="ticket", user=ANA, timeout_seconds=SECONDS)
    assert (job.status, job.effects[0].state) == (Status.SUCCESS, "SUCCEEDED")
    return spied.loaded("worker-runs", MODEL_LIBRARIES), spied.connections("worker-runs")


@pytest.fixture(scope="module")
def busy(spied: Spied, after_recipe: tuple[set[str], set[object]]) -> Spied:
    """The same after requests of every kind, a generated program and real commits."""
    assert after_recipe
    with spied.deployment.client() as vardy:
        _use(vardy)
    return spied


def _use(vardy: Vardy) -> None:
    vardy.prompt("Cancel order 17", user=ANA)
    vardy.check_rules("default: block\n")
    assert vardy.check_program(text="```ts\nasync function run(params: object) { return 1; }\n```", user=ANA).ok
    job = vardy.run("Which customers have overdue invoices?", user=ANA, timeout_seconds=SECONDS)
    assert job.status is Status.SUCCESS
    vardy.save_recipe("overdue", from_job=job.id, reviewed_by="rita")
    assert vardy.run(recipe="overdue", user=ANA, timeout_seconds=SECONDS).status is Status.SUCCESS
    assert vardy.run("Refund 5.00 of payment 7", user=ANA, timeout_seconds=SECONDS).status is Status.SUCCESS
    asked = vardy.run("Refund 60.00 of payment 1", user=ANA, timeout_seconds=SECONDS)
    assert vardy.approve(asked, user=LEA, timeout_seconds=SECONDS).status is Status.SUCCESS
    vardy.functions()
    vardy.queues()


def test_no_process_loads_a_model_library_at_its_start(at_start: dict[str, set[str]]) -> None:
    assert set(at_start) == {"api", "worker-runs", "worker-commits"}
    for name, modules in at_start.items():
        assert modules & MODEL_LIBRARIES == set(), name


def test_the_api_never_loads_a_model_library_the_sandbox_or_the_functions(busy: Spied) -> None:
    assert busy.loaded("api", MODEL_LIBRARIES | SANDBOX | {COMPANY}) == set()


def test_a_worker_for_commits_never_loads_a_model_library_the_sandbox_or_program_code(busy: Spied) -> None:
    forbidden = MODEL_LIBRARIES | SANDBOX | PROGRAMS | {"vardy_worker.pipeline.run", "vardy_worker.stages.execute"}
    assert busy.loaded("worker-commits", forbidden) == set()


def test_a_worker_for_commits_connects_to_redis_alone(busy: Spied) -> None:
    assert busy.connections("worker-commits") == {busy.redis}


def test_a_recipe_makes_a_worker_load_no_model_library_and_connect_to_redis_alone(
    spied: Spied, after_recipe: tuple[set[str], set[object]]
) -> None:
    assert after_recipe == (set(), {spied.redis})


def test_the_same_spies_see_what_a_worker_for_runs_loads_and_connects_to(busy: Spied) -> None:
    assert {"litellm", "vardy_worker.adapters.sandbox"} <= busy.loaded("worker-runs", MODEL_LIBRARIES | SANDBOX)
    assert busy.loaded("worker-runs", PROGRAMS)
    assert COMPANY in busy.modules("worker-runs")
    assert COMPANY in busy.modules("worker-commits")
    assert len(busy.connections("worker-runs")) == 2, "Redis and the model"


def test_only_the_sandbox_children_load_the_engine(busy: Spied) -> None:
    assert "wasmtime" not in busy.modules("worker-runs")
