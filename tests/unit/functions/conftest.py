"""Running runtimes, and calls for them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from vardy_worker.contracts.user import User
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import FunctionCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vardy_worker import Functions
    from vardy_worker.ports import CallOutcome


class Running:
    """A started runtime with shorter ways to call it."""

    def __init__(self, runtime: FunctionRuntime) -> None:
        self.runtime = runtime

    def call(self, function: str, result_bytes_max: int = 100_000, **args: Any) -> CallOutcome:
        """The outcome of one call."""
        return self.call_many([call_of(function, **args)], result_bytes_max=result_bytes_max)[0]

    def call_many(
        self,
        calls: Sequence[FunctionCall],
        *,
        seconds: float = 30,
        in_flight_max: int = 16,
        result_bytes_max: int = 100_000,
    ) -> Sequence[CallOutcome]:
        """The outcomes of several, with a deadline so many seconds away."""
        return self.runtime.call_many(
            calls,
            deadline=time.monotonic() + seconds,
            in_flight_max=in_flight_max,
            result_bytes_max=result_bytes_max,
        )


def until(holds: Callable[[], bool], *, seconds: float = 5) -> bool:
    """Whether something comes to hold in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.002)
    return True


def call_of(function: str, **args: Any) -> FunctionCall:
    return FunctionCall(function=function, args=args, job_id="job_1", user=User(id="ana", roles=("support",)))


@pytest.fixture(name="call_of")
def call_of_fixture() -> Callable[..., FunctionCall]:
    return call_of


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keeps the log lines of provoked failures off the terminal."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., bool]:
    return until


@pytest.fixture
def run() -> Iterator[Callable[..., Running]]:
    """Starts runtimes of the given functions, and stops them after the test."""
    started: list[FunctionRuntime] = []

    def start(functions: Functions, **options: Any) -> Running:
        runtime = FunctionRuntime(functions, **{"threads": 8, "stop_seconds_max": 5.0, **options})
        runtime.start()
        started.append(runtime)
        return Running(runtime)

    yield start
    for runtime in started:
        runtime.stop()
    # Calls that a test left hanging end inside it, with what they log.
    assert until(lambda: not any(runtime.abandoned for runtime in started))
