"""The whole of Vardy on one machine: embedded server, worker, API, and a model by script.

    embedded server ─ scripted model (for the demo shop, when no VARDY_MODEL is set) ─ worker ─ API
    started in this order, each only when the one before serves; stopped in reverse

`vardy dev` keeps one running; `vardy demo` starts one for its own use.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import httpx

from vardy_api.client import Vardy
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_api.operations.keys import TOKEN_CHARACTERS_MIN, KeyOperations
from vardy_api.processes import Child, start_child
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.user import Scope
from vardy_worker.demo.scripted import ScriptedModel
from vardy_worker.recipe_files import read_recipe_file
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_presence import RedisPresence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    from vardy_worker.ports import WorkerSeen

START_SECONDS_MAX = 60.0
POLL_SECONDS = 0.05
DEMO_FUNCTIONS = "vardy_worker.demo.shop:functions"


class Stack:
    """A running Vardy; a context manager. `url` and `api_key` are there once it has started.

    Settings of the process's environment, or of `environment`, win; what is not set gets the
    demo's functions, and with those the demo's rules and model. `show(name, line)` gets what the processes write.
    """

    def __init__(
        self,
        *,
        data_dir: Path,
        port: int = 0,
        redis_url: str = "",
        show: Callable[[str, str], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.api_key = ""
        self.scripted: ScriptedModel | None = None
        self.children: list[Child] = []
        self._redis_url = redis_url
        self._show = show
        self._given = {**os.environ, **(environment or {})}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def uses_demo_shop(self) -> bool:
        """Whether the functions are the demo's."""
        return not self._given.get("VARDY_FUNCTIONS")

    @property
    def has_model(self) -> bool:
        """Whether a request in plain words is answered; recipes run in any case."""
        return self.scripted is not None or bool(self._given.get("VARDY_MODEL"))

    def stop(self) -> None:
        """Stops everything in reverse order. Idempotent."""
        self._open.close()

    def ended_child(self) -> Child | None:
        """A process that ended by itself, if any did."""
        return next((child for child in self.children if not child.is_running), None)

    @property
    def redis_url(self) -> str:
        """The server's address, password included."""
        return self._redis_url

    def pid(self, name: str) -> int:
        """The process id of the `worker` or the `api` as it runs now."""
        return next(child.process.pid for child in self.children if child.name == name)

    def restart_worker(self) -> float:
        """Stops the worker and starts it anew; returns the seconds the start took."""
        return self._restart("worker", self._start_worker)

    def restart_api(self) -> float:
        """Stops the API and starts it anew; returns the seconds the start took."""
        return self._restart("api", self._start_api)

    def _restart(self, name: str, start: Callable[[], None]) -> float:
        child = next(child for child in self.children if child.name == name)
        child.stop()
        self.children.remove(child)
        began = time.monotonic()
        start()
        return time.monotonic() - began

    def _start(self) -> None:
        # Known at once rather than after the server and the worker have started.
        _refuse_taken(self.port)
        self._refuse_half_scripted()
        self._refuse_short_key()
        _make_folder(self.data_dir)
        if not self._redis_url:
            server = self._open.enter_context(EmbeddedServer(self.data_dir / "redis"))
            self._redis_url = server.url
        self.environment = self._environment()
        self.api_key = self._install_key()
        self._start_worker()
        self._start_api()
        if self.uses_demo_shop:
            self._save_demo_recipes()

    def _refuse_short_key(self) -> None:
        given = self._given.get("VARDY_DEV_API_KEY")
        if given and len(given) < TOKEN_CHARACTERS_MIN:
            raise SettingsError(
                f"VARDY_DEV_API_KEY has fewer than {TOKEN_CHARACTERS_MIN} characters; choose a longer one."
            )

    def _refuse_half_scripted(self) -> None:
        """The scripted model takes the place of a provider, so that another judge might not be reached."""
        if self.uses_demo_shop and self._given.get("VARDY_JUDGE_MODEL") and not self._given.get("VARDY_MODEL"):
            msg = "VARDY_JUDGE_MODEL is set, and VARDY_MODEL is not: set both, or neither to have both scripted."
            raise SettingsError(msg, details={"setting": "VARDY_MODEL"})

    def _environment(self) -> dict[str, str]:
        environment = dict(self._given)
        environment["VARDY_REDIS_URL"] = self._redis_url
        if self.uses_demo_shop:
            environment["VARDY_FUNCTIONS"] = DEMO_FUNCTIONS
            environment["VARDY_DEMO_DIR"] = environment.get("VARDY_DEMO_DIR") or str(self.data_dir / "shop")
            rules = resources.files("vardy_worker.demo").joinpath("rules.yaml")
            environment["VARDY_RULES"] = environment.get("VARDY_RULES") or str(rules)
        # Of other functions it would know nothing, and judge every text as `unknown`.
        if self.uses_demo_shop and not environment.get("VARDY_MODEL"):
            self.scripted = self._open.enter_context(ScriptedModel())
            environment |= self.scripted.environment()
        return environment

    def _save_demo_recipes(self) -> None:
        """Saves the demo's recipes that are not there; what somebody made of one stays."""
        with Vardy(self.url, api_key=self.api_key) as client:
            there = {recipe.name for recipe in client.recipes()}
            for path in sorted(
                resources.files("vardy_worker.demo").joinpath("recipes").iterdir(), key=lambda file: file.name
            ):
                recipe = read_recipe_file(path.read_text(encoding="utf-8"), file_name=path.name).recipe
                if recipe.name in there:
                    continue
                client.save_recipe(
                    recipe.name,
                    source=recipe.source,
                    description=recipe.description,
                    params_schema=recipe.params_schema,
                    judge=recipe.judge,
                    envelope=recipe.envelope,
                    reviewed_by=recipe.reviewed_by,
                    expect_version=0,
                )

    def _start_worker(self) -> None:
        before = {seen.worker for seen in self._workers()}
        child = self._start_child("worker", ["worker"])
        self._wait_for(child, lambda: any(seen.worker not in before for seen in self._workers()))

    def _start_api(self) -> None:
        child = self._start_child("api", ["api", "--host", "127.0.0.1", "--port", str(self.port)])
        self._wait_for(child, self._api_ready)

    def _start_child(self, name: str, arguments: list[str]) -> Child:
        child = start_child(name, arguments, environment=self.environment, show=self._show)
        self.children.append(child)
        self._open.callback(child.stop)
        return child

    def _workers(self) -> list[WorkerSeen]:
        client = connect(self._redis_url)
        try:
            return list(RedisPresence(client, self._namespace).seen())
        finally:
            client.close()

    @property
    def _namespace(self) -> str:
        return self._given.get("VARDY_NAMESPACE") or load_settings().namespace

    def _api_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def _wait_for(self, child: Child, ready: Callable[[], bool]) -> None:
        pause = threading.Event()
        until = time.monotonic() + START_SECONDS_MAX
        while not ready():
            if not child.is_running:
                last = "\n".join(child.tail[-5:])
                raise SettingsError(f"The {child.name} did not start:\n{last}", details={"process": child.name})
            if time.monotonic() > until:
                raise SettingsError(f"The {child.name} was not ready within {START_SECONDS_MAX:.0f} s.")
            pause.wait(POLL_SECONDS)

    def _install_key(self) -> str:
        """The key with every scope that may name any user, the same at every start."""
        token = self._given.get("VARDY_DEV_API_KEY") or self._kept_secret("api-key")
        client = connect(self._redis_url)
        try:
            keys = KeyOperations(RedisDocuments(client, self._namespace), SystemClock())
            keys.install(token, KeyCreate(name="dev", scopes=tuple(Scope)))
        finally:
            client.close()
        return token

    def _kept_secret(self, name: str) -> str:
        path = self.data_dir / name
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32))
        return path.read_text(encoding="ascii").strip()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Made and removed: asking for the rights alone says nothing of a file system that is read-only.
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = f"No data can be kept in {folder} ({error.strerror}); choose another folder with --data-dir."
        raise SettingsError(msg, details={"folder": str(folder)}) from error


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        # As the API itself will: connections of an earlier run that are still closing do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            msg = f"Port {port} cannot be used ({error.strerror}); choose another one with --port."
            raise SettingsError(msg, details={"port": port}) from error
