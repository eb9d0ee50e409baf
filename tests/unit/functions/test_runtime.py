from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from pydantic import BaseModel, field_validator

from vardy_worker import CallContext, FunctionError, Functions
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.user import User
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import BadArguments, CallFailed, CallOk, CallUnknown, FunctionCall

if TYPE_CHECKING:
    from vardy_worker.ports import CallOutcome, FunctionHost

    Run = Callable[..., Any]
    CallOf = Callable[..., FunctionCall]

SECRET = "postgres://user:SECRET@host"


def host_of(functions: Functions) -> FunctionHost:
    return FunctionRuntime(functions)


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.002)
    return True


def test_the_runtime_is_a_function_host_with_the_catalogue() -> None:
    functions = Functions()

    @functions.read
    def ping() -> str:
        return "pong"

    assert [spec.name for spec in host_of(functions).catalogue().functions] == ["ping"]


def test_sync_and_async_functions_are_called_with_python_values(run: Run) -> None:
    class Line(BaseModel):
        sku: str
        count: int

    functions = Functions()

    @functions.read
    def total(lines: list[Line], factor: int = 2) -> int:
        return factor * sum(line.count for line in lines)

    @functions.read
    async def total_async(lines: list[Line], factor: int = 2) -> int:
        await asyncio.sleep(0)
        return factor * sum(line.count for line in lines)

    host = run(functions)
    lines = [{"sku": "a", "count": 1}, {"sku": "b", "count": 2}]
    assert host.call("total", lines=lines) == CallOk(6)
    assert host.call("total_async", lines=lines, factor=3) == CallOk(9)


def test_a_bound_method_and_a_callable_object_are_called_as_they_are(run: Run) -> None:
    class Shop:
        def __init__(self, stock: int) -> None:
            self.stock = stock

        async def left(self, taken: int) -> int:
            return self.stock - taken

        async def __call__(self, more: int) -> int:
            return self.stock + more

    functions = Functions()
    shop = Shop(10)
    functions.read(shop.left)
    functions.read(name="restocked")(shop)
    host = run(functions)
    assert host.call("left", taken=3) == CallOk(7)
    assert host.call("restocked", more=3) == CallOk(13)


def test_the_context_says_who_what_and_until_when(run: Run) -> None:
    seen: list[CallContext] = []
    functions = Functions()

    @functions.write(timeout_seconds=7)
    def act(context: CallContext, number: int) -> None:
        seen.append(context)
        context.logger.info("acted", number=number)

    host = run(functions)
    call = FunctionCall(
        function="act",
        args={"number": 1},
        job_id="job_7",
        user=User(id="ana", roles=("support",)),
        idempotency_key="vdy_1",
        attempt=3,
        approved_by=(User(id="bo"),),
    )
    with structlog.testing.capture_logs() as logs:
        assert host.call_many([call]) == [CallOk(None)]
    context = seen[0]
    assert (context.job_id, context.user.id, context.attempt) == ("job_7", "ana", 3)
    assert (context.idempotency_key, [user.id for user in context.approved_by]) == ("vdy_1", ["bo"])
    assert 5 < context.seconds_left() <= 7
    assert {key: value for key, value in logs[0].items() if key != "log_level"} == {
        "event": "acted",
        "number": 1,
        "job_id": "job_7",
        "function": "act",
        "attempt": 3,
    }


def test_seconds_left_never_go_below_zero() -> None:
    context = CallContext(job_id="job_1", user=User(id="ana"), deadline=time.monotonic() - 5)
    assert context.seconds_left() == 0
    assert CallContext(job_id="job_1", user=User(id="ana")).seconds_left() == float("inf")


def test_context_variables_of_the_caller_are_seen(run: Run) -> None:
    tenant = contextvars.ContextVar("tenant", default="nobody")
    functions = Functions()

    @functions.read
    def mine() -> str:
        return tenant.get()

    @functions.read
    async def mine_async() -> str:
        return tenant.get()

    host = run(functions)
    token = tenant.set("acme")
    try:
        outcomes = [host.call("mine"), host.call("mine_async")]
    finally:
        tenant.reset(token)
    assert outcomes == [CallOk("acme"), CallOk("acme")]


def test_a_function_error_is_a_definite_failure_with_its_message(run: Run) -> None:
    functions = Functions()

    @functions.write
    def busy() -> None:
        raise FunctionError("The bank is closed.", retryable=True, retry_after_seconds=60)

    @functions.write
    async def gone() -> None:
        raise FunctionError("There is no such payment.")

    host = run(functions)
    assert host.call("busy") == CallFailed("The bank is closed.", retryable=True, retry_after_seconds=60)
    assert host.call("gone") == CallFailed("There is no such payment.", retryable=False)


def test_a_long_message_is_cut(run: Run) -> None:
    functions = Functions()

    @functions.read
    def chatty() -> None:
        raise FunctionError("x" * 100_000)

    assert len(run(functions).call("chatty").message) == 2000


@pytest.mark.parametrize("raised", [RuntimeError(SECRET), SystemExit(SECRET), KeyboardInterrupt(SECRET)])
def test_any_other_exception_is_an_unknown_outcome_and_only_the_log_has_it(run: Run, raised: BaseException) -> None:
    functions = Functions()

    @functions.read
    def crash() -> None:
        raise raised

    @functions.read
    async def crash_async() -> None:
        raise RuntimeError(SECRET)

    host = run(functions)
    for name in ("crash", "crash_async"):
        with structlog.testing.capture_logs() as logs:
            outcome = host.call(name)
        assert isinstance(outcome, CallUnknown)
        assert outcome.code == "function.crashed"
        assert "SECRET" not in repr(outcome)
        logged = next(line for line in logs if line["event"] == "function.crashed")
        assert logged["correlation_id"] == outcome.correlation_id
        assert logged["job_id"] == "job_1"
        assert "SECRET" in str(logged["exc_info"])
        assert outcome.correlation_id in outcome.message


def test_an_async_function_that_cancels_itself_has_crashed(run: Run) -> None:
    functions = Functions()

    @functions.read
    async def cancels() -> None:
        raise asyncio.CancelledError

    assert run(functions).call("cancels").code == "function.crashed"


def test_arguments_that_do_not_fit_are_a_failure_before_the_call(run: Run) -> None:
    called: list[int] = []
    functions = Functions()

    @functions.write
    def act(number: int) -> None:
        called.append(number)

    outcome = run(functions).call("act", number="SECRET")
    assert outcome == CallFailed(
        "The arguments of act do not fit: number must be an integer, not a string of 6 characters."
    )
    assert called == []


def test_a_function_that_is_gone_is_a_failure(run: Run) -> None:
    functions = Functions()

    @functions.read
    def ping() -> None: ...

    assert run(functions).call("pong") == CallFailed("There is no function 'pong' here.")


def test_big_integers_arrive_as_integers_and_return_as_integers(run: Run) -> None:
    functions = Functions()

    @functions.read
    def next_id(last: int) -> int:
        return last + 1

    assert run(functions).call("next_id", last=str(2**63)) == CallOk(2**63 + 1)


def test_a_result_of_another_type_is_an_unknown_outcome_that_says_where(run: Run) -> None:
    functions = Functions()

    @functions.read
    def rows() -> list[int]:
        return [1, "SECRET"]  # type: ignore[list-item] # the point of the test

    @functions.read
    def not_a_number() -> float:
        return float("nan")

    host = run(functions)
    outcome = host.call("rows")
    assert (outcome.code, outcome.message) == (
        "function.bad_result",
        "The result of rows at /1 does not fit the declared type (int_parsing).",
    )
    assert host.call("not_a_number").code == "function.bad_result"


class Fragile(BaseModel):
    """A model whose own check crashes."""

    text: str

    @field_validator("text")
    @classmethod
    def _look_up(cls, text: str) -> str:
        return {"known": "known"}[text]


def test_a_check_of_the_company_that_crashes_is_no_crash_of_vardy(run: Run) -> None:
    functions = Functions()

    @functions.read
    def take(fragile: Fragile) -> str:
        return fragile.text

    @functions.write
    def give() -> Fragile:
        return {"text": "SECRET"}  # type: ignore[return-value] # a mapping will do for a model

    host = run(functions)
    with structlog.testing.capture_logs() as logs:
        checked = host.runtime.check("take", {"fragile": {"text": "SECRET"}}, ())
        called = host.call("take", fragile={"text": "SECRET"})
        given = host.call("give")
    assert isinstance(checked, BadArguments)
    assert isinstance(called, CallFailed)
    assert given.code == "function.bad_result"
    assert "SECRET" not in repr((checked, called, given))
    assert [line["event"] for line in logs] == [
        "function.check_crashed",
        "function.check_crashed",
        "function.bad_result",
    ]
    assert all(line["exc_info"] for line in logs)


def test_a_coroutine_as_a_result_is_a_bad_result(run: Run) -> None:
    async def inner() -> int:
        return 1

    functions = Functions()

    @functions.read
    def forgot() -> int:
        return inner()  # type: ignore[return-value] # the point of the test

    outcome = run(functions).call("forgot")
    assert outcome.code == "function.bad_result"
    assert "async def" in outcome.message


def test_a_result_beyond_the_limit_is_refused_with_both_sizes(run: Run) -> None:
    functions = Functions()

    @functions.read
    def big() -> str:
        return "x" * 2000

    outcome = run(functions).call("big", result_bytes_max=1000)
    assert outcome.code == "function.result_too_large"
    assert "2,002 bytes" in outcome.message
    assert "1,000" in outcome.message
    assert "VARDY_CALL_RESULT_BYTES_MAX" in outcome.message


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


def test_the_common_deadline_ends_every_call(run: Run, call_of: CallOf) -> None:
    release = threading.Event()
    functions = Functions()

    @functions.read
    def hangs() -> None:
        release.wait(10)

    outcomes = run(functions).call_many([call_of("hangs")] * 3, seconds=0.05, in_flight_max=2)
    release.set()
    assert [getattr(outcome, "code", "never began") for outcome in outcomes] == [
        "function.timeout",
        "function.timeout",
        "never began",
    ]
    assert isinstance(outcomes[2], CallFailed)
    assert outcomes[2].retryable


def test_a_deadline_that_has_passed_means_nothing_is_called(run: Run, call_of: CallOf) -> None:
    called: list[int] = []
    functions = Functions()

    @functions.write
    def act() -> None:
        called.append(1)

    outcomes = run(functions).call_many([call_of("act")] * 2, seconds=-1)
    assert [type(outcome) for outcome in outcomes] == [CallFailed, CallFailed]
    assert called == []


def test_a_call_that_waits_for_a_thread_until_the_deadline_is_never_made(run: Run, call_of: CallOf) -> None:
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
    assert within(5, lambda: host.runtime._threads._threads == 1)
    outcome = host.call_many([call_of("act")], seconds=0.05)[0]
    release.set()
    occupied.join(10)
    assert isinstance(outcome, CallFailed)
    assert outcome.retryable
    assert host.call("act") == CallOk(None)
    assert called == [1]


def test_the_timeout_of_a_call_begins_when_a_thread_takes_it_up(run: Run, call_of: CallOf) -> None:
    functions = Functions()

    @functions.read(timeout_seconds=0.5)
    def quarter() -> int:
        threading.Event().wait(0.2)
        return 1

    # One after the other they take longer than the timeout of one.
    assert run(functions, threads=1).call_many([call_of("quarter")] * 4) == [CallOk(1)] * 4


def test_a_late_result_is_ignored_and_logged_and_counted_until_it_ends(run: Run) -> None:
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
        assert within(5, lambda: host.runtime.abandoned == 0)
    late = next(line for line in logs if line["event"] == "function.late")
    assert late["correlation_id"] == outcome.correlation_id
    assert late["outcome"] == "CallOk"


def test_an_abandoned_coroutine_is_cancelled_and_counts_until_it_has_ended(run: Run) -> None:
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
    assert within(5, lambda: host.runtime.abandoned == 0)


def test_stuck_threads_are_replaced_up_to_a_limit_beyond_which_the_runtime_is_exhausted(
    run: Run, call_of: CallOf
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
    assert within(5, lambda: host.runtime.abandoned == 0)
    assert not host.runtime.exhausted
    assert host.call("ping") == CallOk("pong")
    assert within(5, lambda: host.runtime._threads._threads <= 2)


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


def test_stopping_waits_for_calls_under_way(run: Run) -> None:
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
    assert within(5, lambda: not host.runtime._open)
    assert not closed.is_set()
    release.set()
    caller.join(10)
    stopper.join(10)
    assert outcomes == [CallOk("done")]
    assert closed.is_set()


def test_stopping_gives_up_waiting_in_time() -> None:
    began, release = threading.Event(), threading.Event()
    functions = Functions()

    @functions.read
    def hangs() -> None:
        began.set()
        release.wait(10)

    host = FunctionRuntime(functions, stop_seconds_max=0.05)
    host.start()
    call = FunctionCall("hangs", {}, "job_1", User(id="ana"))
    options: dict[str, Any] = {"deadline": time.monotonic() + 10, "in_flight_max": 1, "result_bytes_max": 100}
    caller = threading.Thread(target=lambda: host.call_many([call], **options))
    caller.start()
    assert began.wait(5)
    before = time.monotonic()
    host.stop()
    assert time.monotonic() - before < 5
    release.set()
    caller.join(10)
