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
from vardy_api.cli.main import main
from vardy_api.cli.session import Environment
from vardy_worker.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.client import Vardy


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

    def __init__(
        self, world: ApiWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.world = world
        self.connect: Callable[[str | None, str | None], Vardy] = lambda _url, key: world.vardy(key or self.token)
        self.token = world.token()
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: str = "") -> Ran:
        self._capsys.readouterr()
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main(arguments, environment=Environment(connect=lambda url, key: self.connect(url, key)))
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    configure_logs("json", "error")


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
