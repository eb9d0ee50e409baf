"""The floors: what the parts alone would cost, without Vardy around them."""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vardy_api.bench.functions import PROGRAM
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.queue import make_celery
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vardy_worker.contracts.base import JsonObject

ROWS = [{"id": number, "name": f"row {number}", "amount": number * 3} for number in range(20)]
NOOP_TASK = "bench.noop"
NOOP_QUEUE = "bench"
DONE_SECONDS_MAX = 60


class QuickjsRs:
    """Fresh `quickjs-rs` runs of a program with one registered async function, in process.

    The program returns how many rows it was given; `rows` is what that must be.
    """

    def __init__(self, source: str = PROGRAM, params: JsonObject | None = None, *, rows: int = len(ROWS)) -> None:
        try:
            import quickjs_rs  # noqa: PLC0415 - the floor is no part of the product
        except ImportError as error:
            msg = "This benchmark needs its floor: install quickjs-rs (it is in requirements-dev.lock)."
            raise SettingsError(msg) from error
        self._library: Any = quickjs_rs
        self._script = f"{source}\nawait run({json.dumps(params or {'count': len(ROWS)})})"
        self._rows = rows
        self._loop = asyncio.new_event_loop()

    def run(self) -> None:
        """One program: fresh runtime and context, its calls, the result back."""
        output = self._loop.run_until_complete(self._run())
        if output["rows"] != self._rows:
            raise RuntimeError("the floor did not do its work")

    def close(self) -> None:
        """Ends the event loop."""
        self._loop.close()

    async def _run(self) -> Any:
        runtime = self._library.Runtime(memory_limit=64 * 1024 * 1024)
        context = runtime.new_context(timeout=30)

        async def list_rows(_args: object) -> object:
            return ROWS

        context.register("list_rows", list_rows, is_async=True)
        output = await context.eval_async(self._script)
        context.close()
        runtime.close()
        return output


class NoopTasks:
    """Celery no-op tasks on the same broker and settings, served by a worker process of their own."""

    def __init__(self, redis_url: str, namespace: str) -> None:
        self._celery = make_celery(load_settings(redis_url=redis_url, namespace=namespace))
        self._client = connect(redis_url)
        self._done = f"{namespace}:bench:done"

    def one(self) -> None:
        """Enqueues one task and waits until it is done."""
        token = secrets.token_hex(8)
        self._send(token)
        self._wait(token)

    def many(self, count: int) -> None:
        """Enqueues many and waits until the last is done."""
        for _ in range(count - 1):
            self._send("")
        token = secrets.token_hex(8)
        self._send(token)
        self._wait(token)

    def close(self) -> None:
        """Closes the connections."""
        self._celery.close()
        self._client.close()

    def _send(self, token: str) -> None:
        self._celery.send_task(NOOP_TASK, args=[token], queue=NOOP_QUEUE)

    def _wait(self, token: str) -> None:
        popped = self._client.blpop([f"{self._done}:{token}"], timeout=DONE_SECONDS_MAX)
        if popped is None:
            raise RuntimeError("the no-op worker did not answer")


@contextmanager
def noop_worker(redis_url: str, namespace: str, *, concurrency: int) -> Iterator[NoopTasks]:
    """A worker process for no-ops with the very settings of Vardy's own."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", "vardy_api.bench.noop", json.dumps([redis_url, namespace, concurrency])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    tasks = NoopTasks(redis_url, namespace)
    try:
        tasks.one()
        yield tasks
    finally:
        tasks.close()
        process.terminate()
        process.wait()


@contextmanager
def noop_api() -> Iterator[str]:
    """A FastAPI application with one route that does nothing, on uvicorn; gives its address."""
    import uvicorn  # noqa: PLC0415 - a server, for one benchmark
    from fastapi import FastAPI  # noqa: PLC0415 - the same

    application = FastAPI()

    @application.post("/noop")
    async def noop(body: dict[str, Any]) -> dict[str, Any]:
        return {"ok": bool(body)}

    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until_true(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/noop"
    finally:
        server.should_exit = True
        thread.join()


def until_true(condition: Callable[[], bool], *, seconds: float = DONE_SECONDS_MAX) -> None:
    """Looks until the condition holds. Raises `TimeoutError` after the time."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    raise TimeoutError("the condition did not come true")
