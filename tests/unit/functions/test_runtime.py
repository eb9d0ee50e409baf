from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from pydantic import BaseModel, field_validator

from vardy_worker import CallContext, FunctionError, Functions
from vardy_worker.contracts.user import User
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import BadArguments, CallFailed, CallOk, CallUnknown, FunctionCall

if TYPE_CHECKING:
    from vardy_worker.ports import FunctionHost

    Run = Callable[..., Any]
    CallOf = Callable[..., FunctionCall]
    Until = Callable[..., bool]

SECRET = "postgres://user:SECRET@host"


def host_of(functions: Functions) -> FunctionHost:
    return FunctionRuntime(functions)


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

    @functions.write(timeout_seconds=70)
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
    assert 0 < context.seconds_left() <= 70
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


class OutOfStockError(FunctionError):
    """As people write them: the base class knows nothing of the failure."""

    def __init__(self, sku: str) -> None:
        self.sku = sku


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (FunctionError("no file \udcff"), CallFailed("no file \ufffd", retryable=False)),
        (OutOfStockError("A-1"), CallFailed("A-1", retryable=False)),
        *(
            (FunctionError("later", retryable=True, retry_after_seconds=seconds), CallFailed("later", retryable=True))
            for seconds in (float("inf"), float("nan"), -1, 10**400)
        ),
        (
            FunctionError("later", retryable=True, retry_after_seconds="120"),  # type: ignore[arg-type] # a header's text
            CallFailed("later", retryable=True, retry_after_seconds=120),
        ),
    ],
    ids=str,
)
def test_a_definite_failure_is_one_however_it_is_said(run: Run, error: FunctionError, outcome: CallFailed) -> None:
    functions = Functions()

    @functions.write
    def fails() -> None:
        raise error

    assert run(functions).call("fails") == outcome


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


def test_a_set_comes_back_in_order(run: Run) -> None:
    functions = Functions()

    @functions.read
    def letters() -> dict[str, set[str]]:
        return {"all": set("the quick brown fox")}

    assert run(functions).call("letters") == CallOk({"all": sorted(set("the quick brown fox"))})


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
