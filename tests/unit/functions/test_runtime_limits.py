from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from vardy_worker import CallContext, Functions
from vardy_worker.ports import CallFailed, CallOk, FunctionCall

if TYPE_CHECKING:
    from vardy_worker.ports import CallOutcome

    Run = Callable[..., Any]
    CallOf = Callable[..., FunctionCall]
    Until = Callable[..., bool]


def test_outcomes_come_in_the_order_of_the_calls_whatever_ends_first(run: Run, call_of: CallOf) -> None:
    first_may_end = threading.Event()
    functions = Functions()

    @functions.read
    def slow() -> str:
        assert first_may_end.wait(10)
        return "slow"

    @functions.read
    def quick() -> str:
        first_may_end.set()
        return "quick"

    outcomes = run(functions).call_many([call_of("slow"), call_of("quick")])
    assert outcomes == [CallOk("slow"), CallOk("quick")]


def test_no_call_at_all_has_no_outcome(run: Run) -> None:
    functions = Functions()

    @functions.read
    def ping() -> None: ...

    assert run(functions).call_many([]) == []


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_never_more_than_in_flight_max_run_at_once_and_never_fewer(run: Run, call_of: CallOf, kind: str) -> None:
    lock = threading.Lock()
    now, most = 0, 0
    three_at_once = threading.Barrier(3)
    functions = Functions()

    def enter() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)

    def leave() -> None:
        nonlocal now
        with lock:
            now -= 1

    @functions.read
    def sync() -> None:
        enter()
        three_at_once.wait(10)
        leave()

    @functions.read(name="async_one")
    async def _async_one() -> None:
        enter()
        await asyncio.to_thread(three_at_once.wait, 10)
        leave()

    name = "sync" if kind == "sync" else "async_one"
    outcomes = run(functions).call_many([call_of(name) for _ in range(9)], in_flight_max=3)
    assert outcomes == [CallOk(None)] * 9
    assert most == 3


def test_a_call_past_its_own_timeout_is_an_unknown_outcome_and_the_others_are_not_held_up(
    run: Run, call_of: CallOf
) -> None:
    release = threading.Event()
    functions = Functions()

    @functions.write(timeout_seconds=0.05)
    def hangs() -> None:
        release.wait(10)

    @functions.write(timeout_seconds=0.05)
    async def hangs_async() -> None:
        await asyncio.sleep(10)

    @functions.read
    def quick() -> int:
        return 1

    host = run(functions)
    began = time.monotonic()
    hung, hung_async, ok = host.call_many([call_of("hangs"), call_of("hangs_async"), call_of("quick")])
    assert time.monotonic() - began < 5
    release.set()
    assert (hung.code, hung_async.code, ok) == ("function.timeout", "function.timeout", CallOk(1))
    assert "may still do so" in hung.message


def test_a_deadline_that_has_passed_means_nothing_is_called(run: Run, call_of: CallOf) -> None:
    called: list[int] = []
    functions = Functions()

    @functions.write
    def act() -> None:
        called.append(1)

    outcomes = run(functions).call_many([call_of("act")] * 2, seconds=-1)
    assert [type(outcome) for outcome in outcomes] == [CallFailed, CallFailed]
    assert called == []


def test_a_call_that_waits_for_a_thread_until_the_deadline_is_never_made(
    until: Until, run: Run, call_of: CallOf
) -> None:
    release = threading.Event()
    called: list[int] = []
    functions = Functions()

    @functions.read
    def hangs() -> None:
        release.wait(10)

    @functions.write
    def act() -> None:
        called.append(1)

    host = run(functions, threads=1, abandoned_max=0)
    occupied = threading.Thread(target=lambda: host.call("hangs"))
    occupied.start()
    assert until(lambda: host.runtime._threads._threads == 1)
    outcome = host.call_many([call_of("act")], seconds=0.05)[0]
    release.set()
    occupied.join(10)
    assert isinstance(outcome, CallFailed)
    assert outcome.retryable
    assert host.call("act") == CallOk(None)
    assert called == [1]


class HandClock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds


def test_the_common_deadline_ends_every_call(run: Run, call_of: CallOf) -> None:
    clock = HandClock()
    both_hang, release = threading.Barrier(3), threading.Event()
    functions = Functions()

    @functions.read
    def hangs() -> None:
        both_hang.wait(10)
        release.wait(10)

    @functions.read
    def passes_the_deadline() -> None:
        both_hang.wait(10)
        clock.seconds = 100

    host = run(functions, clock=clock)
    calls = [call_of("hangs"), call_of("hangs"), call_of("passes_the_deadline"), call_of("hangs")]
    first, second, _, last = host.runtime.call_many(calls, deadline=20, in_flight_max=3, result_bytes_max=100)
    release.set()
    assert (first.code, second.code) == ("function.timeout", "function.timeout")
    assert isinstance(last, CallFailed)
    assert last.retryable


def test_the_timeout_of_a_call_begins_when_a_thread_takes_it_up(run: Run, call_of: CallOf) -> None:
    clock = HandClock()
    functions = Functions()

    @functions.read(timeout_seconds=100)
    def first() -> float:
        clock.seconds += 60
        return clock.seconds

    @functions.read(timeout_seconds=10)
    def second(context: CallContext) -> float:
        return context.deadline

    host = run(functions, threads=1, clock=clock)
    outcomes = host.runtime.call_many(
        [call_of("first"), call_of("second")], deadline=1000, in_flight_max=2, result_bytes_max=100
    )
    assert outcomes == [CallOk(60.0), CallOk(70.0)]


def test_a_call_that_cannot_be_launched_is_known_not_to_have_begun(run: Run) -> None:
    functions = Functions()

    @functions.write
    async def act() -> None:
        raise AssertionError

    host = run(functions)
    host.runtime._loop.close(5)
    outcome = host.call("act")
    assert isinstance(outcome, CallFailed)
    assert outcome.retryable


def test_a_late_result_is_ignored_and_logged_and_counted_until_it_ends(until: Until, run: Run) -> None:
    release = threading.Event()
    functions = Functions()

    @functions.write(timeout_seconds=0.05)
    def hangs() -> int:
        release.wait(10)
        return 1

    host = run(functions)
    with structlog.testing.capture_logs() as logs:
        outcome = host.call("hangs")
        assert host.runtime.abandoned == 1
        assert not host.runtime.exhausted
        release.set()
        assert until(lambda: host.runtime.abandoned == 0)
    late = next(line for line in logs if line["event"] == "function.late")
    assert late["correlation_id"] == outcome.correlation_id
    assert late["outcome"] == "CallOk"


def test_an_abandoned_coroutine_is_cancelled_and_counts_until_it_has_ended(until: Until, run: Run) -> None:
    release = threading.Event()
    cancelled = threading.Event()
    functions = Functions()

    @functions.write(timeout_seconds=0.05)
    async def stubborn() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.to_thread(release.wait, 10)

    host = run(functions)
    assert host.call("stubborn").code == "function.timeout"
    assert cancelled.wait(5)
    assert host.runtime.abandoned == 1
    release.set()
    assert until(lambda: host.runtime.abandoned == 0)


def test_stuck_threads_are_replaced_up_to_a_limit_beyond_which_the_runtime_is_exhausted(
    until: Until, run: Run, call_of: CallOf
) -> None:
    release = threading.Event()
    functions = Functions()

    @functions.write(timeout_seconds=0.05)
    def hangs() -> None:
        release.wait(10)

    @functions.read
    def ping() -> str:
        return "pong"

    host = run(functions, threads=2, abandoned_max=2)
    host.call_many([call_of("hangs")] * 2)
    assert host.runtime.abandoned == 2
    assert not host.runtime.exhausted
    assert host.call("ping") == CallOk("pong")

    host.call_many([call_of("hangs")] * 2)
    assert host.runtime.abandoned == 4
    assert host.runtime.exhausted
    assert isinstance(host.call_many([call_of("ping")], seconds=0.05)[0], CallFailed)

    release.set()
    assert until(lambda: host.runtime.abandoned == 0)
    assert not host.runtime.exhausted
    assert host.call("ping") == CallOk("pong")
    assert until(lambda: host.runtime._threads._threads <= 2)


def test_many_threads_may_call_at_once(run: Run, call_of: CallOf) -> None:
    functions = Functions()

    @functions.read
    def double(number: int) -> int:
        return 2 * number

    @functions.read
    async def triple(number: int) -> int:
        await asyncio.sleep(0)
        return 3 * number

    host = run(functions, threads=3)
    found: dict[int, Sequence[CallOutcome]] = {}

    def work(seed: int) -> None:
        calls = [call_of(name, number=seed * 100 + n) for n in range(20) for name in ("double", "triple")]
        found[seed] = host.call_many(calls, in_flight_max=4)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for seed in range(12):
        expected = [CallOk(factor * (seed * 100 + n)) for n in range(20) for factor in (2, 3)]
        assert found[seed] == expected


def test_async_functions_share_one_loop_on_one_thread(run: Run, call_of: CallOf) -> None:
    functions = Functions()

    @functions.read
    async def where() -> tuple[int, int]:
        return threading.get_ident(), id(asyncio.get_running_loop())

    host = run(functions)
    places = {tuple(outcome.value) for outcome in host.call_many([call_of("where")] * 8)}
    places |= {tuple(host.call("where").value)}
    assert len(places) == 1
