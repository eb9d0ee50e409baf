"""A program has its whole time for its calls too, however long it waited for a child."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.support.factories import ANA, NOW_MS
from vardy_worker import Functions
from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.program import Program
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.sandbox.pool import Image
from vardy_worker.stages.execute import Executed, ExecuteInput, NotExecuted, execute

SECONDS = 0.5
entered = threading.Event()
functions = Functions()


@functions.read
def hold() -> str:
    """Takes twice the time that a program has."""
    entered.set()
    threading.Event().wait(2 * SECONDS)
    return "held"


@functions.read
def ask() -> str:
    """Answers at once."""
    return "answered"


@pytest.fixture
def host() -> Iterator[FunctionRuntime]:
    runtime = FunctionRuntime(functions, threads=2)
    runtime.start()
    yield runtime
    runtime.stop()


def test_waiting_for_a_child_takes_no_time_from_the_calls_of_a_program(image: Image, host: FunctionRuntime) -> None:
    sandbox = ChildSandbox(warm=1, children_max=1, image=image)
    assert sandbox.wait_warm(60)

    def executed(function: str, seconds: float) -> Executed | NotExecuted:
        source = f"async function run(params) {{ return await {function}(); }}"
        given = ExecuteInput(
            job_id="job_01HZZZZZZZZZZZZZZZZZZZZZZZ",
            program=Program(source=source, sha256=sha256_text(source)),
            catalogue=host.catalogue(),
            params={},
            user=ANA,
            limits=Limits(execute_seconds_max=seconds),
            now_ms=NOW_MS,
        )
        return execute(given, sandbox=sandbox, host=host, clock=SystemClock())

    first = threading.Thread(target=executed, args=("hold", 10))
    first.start()
    assert entered.wait(20)
    second = executed("ask", SECONDS)
    first.join(20)
    sandbox.close()
    assert isinstance(second, Executed), second
    assert second.output == "answered"
