"""The real processes of the Procfile, on an embedded server and a scripted model."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.waiting import eventually
from vardy_api.client import Vardy
from vardy_api.embedded import EmbeddedServer
from vardy_worker.demo.scripted import ScriptedModel
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_presence import RedisPresence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_worker.ports import WorkerSeen

ROOT = Path(__file__).parents[2]
KEY = "vk_acceptance_key_of_the_tests"
START_SECONDS = 60


def procfile() -> dict[str, list[str]]:
    """The commands of the Procfile, with `vardy` as the one of this environment."""
    commands = {}
    for line in (ROOT / "Procfile").read_text(encoding="utf-8").splitlines():
        name, _, command = line.partition(":")
        program, *arguments = shlex.split(command)
        assert program == "vardy"
        commands[name] = [str(Path(sys.executable).parent / "vardy"), *arguments]
    return commands


@dataclass
class Deployment:
    """A running Vardy. `log()` is everything its processes wrote."""

    redis: EmbeddedServer
    model: ScriptedModel
    folder: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VARDY_", "OPENAI_"))}
        return {
            **kept,
            **self.model.environment(),
            "VARDY_REDIS_URL": self.redis.url,
            "VARDY_SECRET_KEY": "a secret of the acceptance tests, long enough",
            "VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions",
            "VARDY_RULES": str(ROOT / "vardy_worker" / "demo" / "rules.yaml"),
            "VARDY_DEMO_DIR": str(self.folder / "shop"),
            "VARDY_API_PORT": str(self.port),
            "VARDY_LOG_FORMAT": "json",
            "VARDY_URL": self.url,
            "VARDY_API_KEY": KEY,
            **self.extra,
        }

    def start(self, name: str, **environment: str) -> subprocess.Popen[bytes]:
        """Starts one process of the Procfile and waits until it serves."""
        before = {seen.worker for seen in self.workers()}
        with self.log_path(name).open("ab") as log:
            process = subprocess.Popen(
                procfile()[name],
                env={**self.environment, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        self.processes[name] = process
        is_ready = self._api_ready if name == "api" else lambda: {s.worker for s in self.workers()} - before
        ready = eventually(lambda: process.poll() is not None or bool(is_ready()), seconds=START_SECONDS)
        assert ready, self.log(name)[-2000:]
        assert process.poll() is None, self.log(name)[-2000:]
        return process

    def stop(self, name: str, *, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends a process and returns its exit code."""
        process = self.processes.pop(name)
        process.send_signal(how)
        return process.wait(30)

    def stop_all(self) -> None:
        for name in list(self.processes):
            if self.processes[name].poll() is None:
                self.stop(name)

    def workers(self) -> list[WorkerSeen]:
        client = connect(self.redis.url)
        try:
            return list(RedisPresence(client, "vardy").seen())
        finally:
            client.close()

    def log_path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def log(self, *names: str) -> str:
        """What the processes wrote."""
        return "\n".join(
            self.log_path(name).read_text(encoding="utf-8")
            for name in names or ("api", "worker")
            if self.log_path(name).exists()
        )

    def cli(self, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs one `vardy` command to its end."""
        command = [procfile()["api"][0], *arguments]
        done = subprocess.run(
            command,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert not check or done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def _api_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def install_key(redis_url: str, token: str = KEY) -> None:
    """A key with every scope that may name any user, as an operator makes the first one."""
    from vardy_api.operations.keys import KeyOperations  # noqa: PLC0415 - only some deployments need it
    from vardy_api.shapes import KeyCreate  # noqa: PLC0415 - the same
    from vardy_worker.clock import SystemClock  # noqa: PLC0415 - the same
    from vardy_worker.contracts.user import Scope  # noqa: PLC0415 - the same
    from vardy_worker.store.redis_documents import RedisDocuments  # noqa: PLC0415 - the same

    client = connect(redis_url)
    keys = KeyOperations(RedisDocuments(client, "vardy"), SystemClock())
    keys.install(token, KeyCreate(name="acceptance", scopes=tuple(Scope)))
    client.close()


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """API and worker as the Procfile starts them, for all acceptance tests of a run."""
    folder = tmp_path_factory.mktemp("deployment")
    with EmbeddedServer(folder / "redis") as redis, ScriptedModel() as model:
        made = Deployment(redis=redis, model=model, folder=folder, port=free_port())
        install_key(redis.url)
        try:
            made.start("worker")
            made.start("api")
            yield made
        finally:
            made.stop_all()


@pytest.fixture
def vardy(deployment: Deployment) -> Iterator[Vardy]:
    with Vardy(deployment.url, api_key=KEY) as client:
        yield client
