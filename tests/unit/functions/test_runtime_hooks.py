from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from vardy_worker import Functions
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.user import User
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import CallFailed, CallOk, FunctionCall

if TYPE_CHECKING:
    from vardy_worker.ports import CallOutcome

    Run = Callable[..., Any]
    CallOf = Callable[..., FunctionCall]
    Until = Callable[..., bool]

SECRET = "postgres://user:SECRET@host"


def test_hooks_open_before_the_first_call_and_close_in_reverse_after_the_last() -> None:
    order: list[str] = []
    functions = Functions()

    @functions.on_start
    def open_pool() -> None:
        order.append("open pool")

    @functions.on_start
    async def open_client() -> None:
        await asyncio.sleep(0)
        order.append("open client")

    @functions.on_stop
    def close_pool() -> None:
        order.append("close pool")

    @functions.on_stop
    async def close_client() -> None:
        order.append("close client")

    @functions.read
    async def ping() -> None:
        order.append("call")

    host = FunctionRuntime(functions)
    host.start()
    host.call_many(
        [FunctionCall("ping", {}, "job_1", User(id="ana"))],
        deadline=time.monotonic() + 10,
        in_flight_max=1,
        result_bytes_max=100,
    )
    host.stop()
    host.stop()
    assert order == ["open pool", "open client", "call", "close client", "close pool"]


def test_async_hooks_and_functions_share_the_loop(run: Run) -> None:
    lock: list[asyncio.Lock] = []
    functions = Functions()

    @functions.on_start
    async def make() -> None:
        lock.append(asyncio.Lock())
        await lock[0].acquire()
        asyncio.get_running_loop().call_soon(lock[0].release)

    @functions.read
    async def enter() -> str:
        async with lock[0]:
            return "in"

    assert run(functions).call("enter") == CallOk("in")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_failing_start_hook_stops_the_start_with_its_name_and_without_its_words(kind: str) -> None:
    functions = Functions()

    @functions.read
    def ping() -> None: ...

    def open_pool() -> None:
        raise ConnectionError(SECRET)

    async def open_client() -> None:
        raise ConnectionError(SECRET)

    functions.on_start(open_pool if kind == "sync" else open_client)
    host = FunctionRuntime(functions)
    with structlog.testing.capture_logs() as logs, pytest.raises(SettingsError) as failed:
        host.start()
    name = "open_pool" if kind == "sync" else "open_client"
    assert f"The hook {name} of VARDY_FUNCTIONS failed with ConnectionError" in failed.value.message
    assert "SECRET" not in failed.value.message
    assert logs[0]["correlation_id"] == failed.value.details["correlation_id"]
    assert isinstance(failed.value.__cause__, ConnectionError)


def test_a_start_hook_that_hangs_stops_the_start_in_time() -> None:
    release = threading.Event()
    functions = Functions()

    @functions.on_start
    def hangs() -> None:
        release.wait(10)

    with pytest.raises(SettingsError, match="hook hangs of VARDY_FUNCTIONS failed with TimeoutError"):
        FunctionRuntime(functions, hook_seconds_max=0.05).start()
    release.set()


def test_a_failing_stop_hook_keeps_no_other_from_running() -> None:
    closed: list[str] = []
    functions = Functions()

    @functions.on_stop
    def last() -> None:
        closed.append("last")

    @functions.on_stop
    def fails() -> None:
        raise ConnectionError(SECRET)

    host = FunctionRuntime(functions)
    host.start()
    host.stop()
    assert closed == ["last"]


def test_a_runtime_that_does_not_run_calls_nothing(call_of: CallOf) -> None:
    functions = Functions()

    @functions.read
    def ping() -> None: ...

    host = FunctionRuntime(functions)
    arguments: dict[str, Any] = {"deadline": time.monotonic() + 5, "in_flight_max": 1, "result_bytes_max": 100}
    before = host.call_many([call_of("ping")], **arguments)
    host.start()
    host.stop()
    after = host.call_many([call_of("ping")], **arguments)
    for outcome in (*before, *after):
        assert isinstance(outcome, CallFailed)
        assert outcome.retryable


def test_stopping_waits_for_calls_under_way(until: Until, run: Run) -> None:
    began, release, closed = threading.Event(), threading.Event(), threading.Event()
    functions = Functions()

    @functions.read
    def slow() -> str:
        began.set()
        release.wait(10)
        return "done"

    functions.on_stop(closed.set)
    host = run(functions)
    outcomes: list[CallOutcome] = []
    caller = threading.Thread(target=lambda: outcomes.append(host.call("slow")))
    caller.start()
    assert began.wait(5)
    stopper = threading.Thread(target=host.runtime.stop)
    stopper.start()
    assert until(lambda: not host.runtime._open)
    assert not closed.is_set()
    release.set()
    caller.join(10)
    stopper.join(10)
    assert outcomes == [CallOk("done")]
    assert closed.is_set()


def test_stopping_gives_up_waiting_in_time(run: Run) -> None:
    began, release = threading.Event(), threading.Event()
    functions = Functions()

    @functions.read
    def hangs() -> None:
        began.set()
        release.wait(10)

    host = run(functions, stop_seconds_max=0.05)
    caller = threading.Thread(target=lambda: host.call("hangs"))
    caller.start()
    assert began.wait(5)
    before = time.monotonic()
    host.runtime.stop()
    assert time.monotonic() - before < 5
    release.set()
    caller.join(10)
