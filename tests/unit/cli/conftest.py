"""The whole command line, in this process, against the real application over memory stores."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import ApiWorld, LoopThread
from tests.support.logs import configure_test_logs
from vardy_api.cli.main import main
from vardy_api.cli.session import Environment
from vardy_api.client import Vardy
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Ran:
    """How one command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def problem(self) -> Any:
        return json.loads(self.err)


class Cli:
    """Runs command lines. Each is a process of its own as far as it can tell."""

    def __init__(self, world: ApiWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.token = world.token()
        self.connect: Callable[[str | None, str | None], Vardy] = self._connect
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def _connect(self, _url: str | None, api_key: str | None) -> Vardy:
        return Vardy("http://vardy", api_key=api_key or self.token, via="cli", transport=self.world.transport)

    def __call__(self, *arguments: str, stdin: str = "") -> Ran:
        self._capsys.readouterr()
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main(arguments, environment=Environment(connect=self.connect))
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)


class Worker:
    """Stands where a worker process does: leads a job on as soon as its message is published."""

    def __init__(self, world: ApiWorld) -> None:
        self._world = world
        self.run: Callable[[str], None] = lambda _job_id: None
        self.commit: Callable[[str], None] = lambda _job_id: None

    def publish(self, queue: str, job_id: str) -> None:
        {"run": self.run, "commit": self.commit}[queue](job_id)

    def runs_to(self, status: Status, **fields: Any) -> None:
        """From now on every submitted job ends like this."""

        def run(job_id: str) -> None:
            record = self._world.store.get(job_id)
            assert record is not None
            self._world.move(job_id, Status.QUEUED, Status.RUNNING)
            if status in {Status.SUCCESS, Status.EXECUTION_ERROR, Status.GENERATION_ERROR}:
                self._world.move(job_id, Status.RUNNING, status, dict(fields))
            else:
                self._world._lead(record, status, dict(fields))

        self.run = run

    def commits_to(self, status: Status, **fields: Any) -> None:
        """From now on every commit ends like this."""
        self.commit = lambda job_id: self._world.move(job_id, Status.COMMITTING, status, dict(fields))


@pytest.fixture
def worker(world: ApiWorld, monkeypatch: pytest.MonkeyPatch) -> Worker:
    worker = Worker(world)
    monkeypatch.setattr(world.queue, "publish", worker.publish)
    return worker


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    configure_test_logs("error")


@pytest.fixture(scope="session")
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture
def world(loop_thread: LoopThread) -> ApiWorld:
    return ApiWorld(loop_thread)


@pytest.fixture
def cli(world: ApiWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("VARDY_URL", "VARDY_API_KEY", "VARDY_REDIS_URL", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Cli(world, capsys, monkeypatch)
