"""A real deployment: the processes of the Procfile, over a server and a model of the test's own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from tests.support.secrecy import Leak, contents_in, leaks_in, rows_in
from tests.support.waiting import eventually
from vardy_api.client import Vardy
from vardy_api.embedded import free_port
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.user import Scope
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore
from vardy_worker.store.redis_presence import RedisPresence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vardy_api.embedded import EmbeddedServer
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.demo.scripted import ScriptedModel
    from vardy_worker.ports import WorkerSeen

ROOT = Path(__file__).parents[2]
VARDY = str(Path(sys.executable).parent / "vardy")
KEY = "vk_key_of_the_tests_with_every_scope"
PROVIDER_KEY = "sk-key-of-the-tests-for-the-provider"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
LEAKS_SHOWN_MAX = 20


def procfile() -> dict[str, list[str]]:
    """The commands of the Procfile, with `vardy` as the one of this environment."""
    commands = {}
    for line in (ROOT / "Procfile").read_text(encoding="utf-8").splitlines():
        name, _, command = line.partition(":")
        program, *arguments = shlex.split(command)
        assert program == "vardy"
        commands[name] = [VARDY, *arguments]
    return commands


def clean_environment(**added: str) -> dict[str, str]:
    """This process's environment without any setting of Vardy's or of a model, and with `added`."""
    foreign = ("VARDY_", "OPENAI_", "ANTHROPIC_", "GEMINI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {"PYTHONPATH": str(ROOT)} | added


@dataclass
class Deployment:
    """A running Vardy. `settings` go to all its processes; `log()` is everything they wrote."""

    redis: EmbeddedServer
    model: ScriptedModel
    folder: Path
    namespace: str = "vardy"
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def store_url(self) -> str:
        """Where the processes find Redis: the server itself, unless the settings name another way to it."""
        return self.settings.get("VARDY_REDIS_URL", self.redis.url)

    @property
    def environment(self) -> dict[str, str]:
        return clean_environment(
            **{
                **self.model.environment(),
                "OPENAI_API_KEY": PROVIDER_KEY,
                "VARDY_REDIS_URL": self.redis.url,
                "VARDY_NAMESPACE": self.namespace,
                "VARDY_API_PORT": str(self.port),
                "VARDY_LOG_FORMAT": "json",
                "VARDY_LOG_LEVEL": "debug",
                "VARDY_URL": self.url,
                "VARDY_API_KEY": KEY,
                **self.settings,
            },
        )

    def launch(self, name: str, **environment: str) -> subprocess.Popen[bytes]:
        """Starts a process of the Procfile (`worker-2` is a worker, too), and does not wait for it."""
        with self.log_path(name).open("ab") as log:
            process = subprocess.Popen(
                procfile()[name.partition("-")[0]],
                env={**self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        self.processes[name] = process
        return process

    def start(self, name: str, **environment: str) -> subprocess.Popen[bytes]:
        """Starts a process and waits until it serves."""
        process = self.launch(name, **environment)
        self.wait_ready(name)
        return process

    def wait_ready(self, name: str) -> None:
        """Waits until a process serves. Fails with what it wrote when it ends instead."""
        process = self.processes[name]
        is_ready = self.api_is_ready if name.startswith("api") else lambda: process.pid in self.worker_pids()
        assert eventually(lambda: process.poll() is not None or is_ready(), seconds=START_SECONDS), self.log(name)
        assert process.poll() is None, self.log(name)[-2000:]

    def stop(self, name: str, *, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends a process and returns its exit code; kills it when it does not end, which fails the test."""
        process = self.processes.pop(name)
        process.send_signal(how)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def stop_all(self) -> None:
        with ExitStack() as every:
            for name, process in self.processes.items():
                # The signals first, so that nobody waits for the next.
                process.terminate()
                every.callback(self.stop, name)

    def api_is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def workers(self) -> list[WorkerSeen]:
        client = connect(self.store_url)
        try:
            return list(RedisPresence(client, self.namespace).seen())
        finally:
            client.close()

    def worker_pids(self) -> set[int]:
        """Process ids of the workers that said they live."""
        return {pid_of(seen.worker) for seen in self.workers()}

    def job(self, job_id: str) -> JobRecord:
        """A job as it is stored, past API and client."""
        client = connect(self.store_url)
        try:
            found = RedisJobStore(client, self.namespace).get(job_id)
        finally:
            client.close()
        assert found is not None
        return found

    def client(self) -> Vardy:
        return Vardy(self.url, api_key=KEY)

    def log_path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def log(self, *names: str) -> str:
        """What the named processes wrote; without a name, all of them."""
        paths = [self.log_path(name) for name in names] or sorted(self.folder.glob("*.log"))
        return "\n".join(path.read_text(encoding="utf-8") for path in paths if path.exists())

    @property
    def secrets(self) -> set[str]:
        """What lets somebody into this deployment, the store or the model's provider."""
        password = urlsplit(self.store_url).password
        return {KEY, PROVIDER_KEY, *([password] if password else [])}

    def leaks(self, *, with_store: bool = True) -> list[Leak]:
        """Where a secret, the contents of a job, or a row of the demo shop stands in what the processes wrote."""
        contents = contents_in(self.store_url, self.namespace) if with_store else set()
        if folder := self.settings.get("VARDY_DEMO_DIR"):
            contents |= rows_in(Path(folder) / "shop.sqlite3")
        return leaks_in(sorted(self.folder.glob("*.log")), secrets=self.secrets, contents=contents)

    def cli(self, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs one `vardy` command to its end, without a terminal."""
        done = subprocess.run(
            [VARDY, *arguments],
            env={**self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert not any(secret in done.stderr for secret in self.secrets), "a secret in an error message"
        assert not check or done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


@contextmanager
def running(
    deployment: Deployment, *names: str, with_key: bool = True, with_store: bool = True
) -> Iterator[Deployment]:
    """The deployment with these processes, all started at once, and stopped at the end.

    What they wrote is searched then, and the block fails when a secret or the contents of a job is
    in it; for secrets alone where the store may be gone by then.
    """
    try:
        if with_key:
            install_key(deployment)
        for name in names:
            deployment.launch(name)
        for name in names:
            deployment.wait_ready(name)
        yield deployment
    finally:
        deployment.stop_all()
    leaks = deployment.leaks(with_store=with_store)
    assert not leaks, "\n".join(map(str, leaks[:LEAKS_SHOWN_MAX]))


def install_key(deployment: Deployment, token: str = KEY) -> None:
    """A key with every scope that may name any user."""
    client = connect(deployment.store_url)
    keys = KeyOperations(RedisDocuments(client, deployment.namespace), SystemClock())
    keys.install(token, KeyCreate(name="tests", scopes=tuple(Scope)))
    client.close()


def pid_of(worker: str) -> int:
    """The process id in a worker's name."""
    return int(worker.split(":")[1])
