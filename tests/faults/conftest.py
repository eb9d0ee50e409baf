"""A deployment with several workers that tests may kill, and the target whose effects they count.

Leases are short, so that a lost worker is noticed soon; everything else is as in production.
Most jobs are recipes: a worker that just started would spend seconds on importing its model
client, which only the tests about models need.
"""

from __future__ import annotations

import signal
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.deployment import Deployment, pid_of, running
from tests.support.ledger import FOLDER, Ledger
from tests.support.relay import Relay
from tests.support.replication import port_of
from tests.support.scripts import Script, program, source
from tests.support.waiting import eventually
from vardy_api.embedded import EmbeddedServer
from vardy_worker.contracts.user import User
from vardy_worker.demo.scripted import ScriptedModel
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vardy_api.client import Vardy
    from vardy_worker.contracts.status import Status
    from vardy_worker.contracts.view import JobView

ANA = User(id="ana")
SECONDS = 60.0
HANDS = 4
TIMEOUT_SECONDS = 2
"""How long `troubled` waits for Redis."""

RULES = """
default: allow
rules:
  - name: asked
    on: ["*"]
    when: has(args.name) && args.name.startsWith("ask-")
    then: approve
  - name: two-lines-a-day
    on: [add_line]
    when: user.id.startsWith("limited-") && user_window.counts.add_line + plan.counts.add_line > 2
    then: block
"""

SHORT_LEASES = {
    "VARDY_EXECUTE_LEASE_SECONDS": "2",
    "VARDY_GENERATE_LEASE_SECONDS": "6",
    "VARDY_RECONCILE_SECONDS": "0.2",
    "VARDY_SANDBOX_CHILDREN": "1",
}


@dataclass
class Cluster:
    """A deployment of several workers. Jobs are asked for by name: one request, one program."""

    deployment: Deployment
    script: Script
    ledger: Ledger
    queue: CeleryQueue
    """The queue as the API has it, for messages that the test adds or loses."""
    started: int = 0

    def submit(self, vardy: Vardy, recipe: str, body: str, *, user: User = ANA) -> JobView:
        """Saves a program of this body as a recipe, and submits it; does not wait. No model takes part."""
        vardy.save_recipe(recipe, source=source(body), reviewed_by="rita")
        return vardy.run(recipe=recipe, user=user, wait=False)

    def ask(self, vardy: Vardy, request: str, body: str) -> JobView:
        """Submits a request that the model answers with a program of this body; does not wait."""
        self.script.teach(request, program(body))
        return vardy.run(request, user=ANA, wait=False)

    def add_worker(self) -> None:
        """Starts one more worker, and does not wait for it."""
        self.started += 1
        self.deployment.launch(f"worker-{self.started}")

    def worker_names(self) -> list[str]:
        return [name for name in self.deployment.processes if name.startswith("worker")]

    def wait_workers(self) -> None:
        for name in self.worker_names():
            self.deployment.wait_ready(name)

    def kill(self, pid: int, *, replace: bool = True) -> None:
        """Ends the worker as `kill -9` does."""
        name = self.name_of(pid)
        self.deployment.processes[name].kill()
        self._buried(name, replace=replace)

    def name_of(self, pid: int) -> str:
        (name,) = (name for name, process in self.deployment.processes.items() if process.pid == pid)
        return name

    def kill_all(self) -> None:
        for name in self.worker_names():
            self.deployment.processes[name].kill()
            self._buried(name, replace=False)

    def _buried(self, name: str, *, replace: bool) -> None:
        process = self.deployment.processes.pop(name)
        process.wait()
        if replace:
            self.add_worker()

    @contextmanager
    def replacing_the_dead(self) -> Iterator[list[int]]:
        """While the block runs, a worker that dies is replaced; gives the ids of the dead."""
        done = threading.Event()
        dead: list[int] = []

        def watch() -> None:
            while not done.wait(0.05):
                for name in self.worker_names():
                    process = self.deployment.processes[name]
                    if process.poll() is not None:
                        assert process.returncode == -signal.SIGKILL, self.deployment.log(name)[-2000:]
                        dead.append(process.pid)
                        self._buried(name, replace=True)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield dead
        finally:
            done.set()
            watcher.join()

    def worker_of(self, job_id: str) -> int:
        """The process that has the job in hand."""
        return pid_of(self.deployment.job(job_id).worker)

    def wait_for_call(self, name: str, *, calls: int = 1) -> int:
        """Waits until the function was called so often under this name; returns the last caller's process id."""
        assert eventually(lambda: len(self.ledger.calls(name)) >= calls, seconds=SECONDS), self.deployment.log()[-3000:]
        pid: int = self.ledger.calls(name)[-1]["pid"]
        return pid

    def settled(self, vardy: Vardy, job: JobView, *expected: Status) -> JobView:
        found = vardy.wait(job.id, timeout_seconds=SECONDS)
        assert found.status in expected, (found.status, found.error, self.deployment.log()[-3000:])
        return found


@contextmanager
def cluster_in(
    folder: Path, *, workers: int, redis: EmbeddedServer, settings: dict[str, str] | None = None
) -> Iterator[Cluster]:
    """A running cluster whose files are in the folder."""
    (folder / "ledger").mkdir()
    rules = folder / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    script = Script()
    with ScriptedModel(answer=script) as model:
        deployment = Deployment(
            redis=redis,
            model=model,
            folder=folder,
            settings={
                "VARDY_FUNCTIONS": "tests.support.ledger:functions",
                "VARDY_RULES": str(rules),
                FOLDER: str(folder / "ledger"),
                **SHORT_LEASES,
                **(settings or {}),
            },
        )
        given = load_settings(redis_url=redis.url, namespace=deployment.namespace)
        queue = CeleryQueue(make_celery(given), given)
        cluster = Cluster(deployment, script, Ledger(folder / "ledger"), queue)
        with closing(queue), running(deployment, "api", with_store=False):
            for _ in range(workers):
                cluster.add_worker()
            cluster.wait_workers()
            yield cluster


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with EmbeddedServer(folder / "redis") as redis, cluster_in(folder, workers=2, redis=redis) as made:
        yield made


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """The shared cluster with both its workers alive, before the test and after."""
    shared_cluster.wait_workers()
    yield shared_cluster
    while len(shared_cluster.worker_names()) < 2:
        shared_cluster.add_worker()


@pytest.fixture
def vardy(cluster: Cluster) -> Iterator[Vardy]:
    with cluster.deployment.client() as client:
        yield client


@pytest.fixture(scope="session")
def troubled_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The server of `troubled`."""
    with EmbeddedServer(tmp_path_factory.mktemp("troubled-server")) as server:
        yield server


@pytest.fixture(scope="session")
def relay(troubled_server: EmbeddedServer) -> Iterator[Relay]:
    """The network of `troubled`."""
    with Relay(port_of(troubled_server)) as found:
        yield found


@pytest.fixture(scope="session")
def troubled(
    tmp_path_factory: pytest.TempPathFactory, troubled_server: EmbeddedServer, relay: Relay
) -> Iterator[Cluster]:
    """API and one worker with few hands, which see their server through the relay alone."""
    folder = tmp_path_factory.mktemp("troubled")
    settings = {
        "VARDY_REDIS_URL": troubled_server.url.replace(f":{port_of(troubled_server)}/", f":{relay.port}/"),
        "VARDY_REDIS_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
        "VARDY_WORKER_CONCURRENCY": str(HANDS),
    }
    with cluster_in(folder, workers=1, redis=troubled_server, settings=settings) as made:
        yield made
        relay.restore()
