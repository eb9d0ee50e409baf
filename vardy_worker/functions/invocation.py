"""One call of one function, from its arguments to its outcome."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.base import well_formed
from vardy_worker.contracts.ids import new_id
from vardy_worker.functions.context import CallContext, FunctionError
from vardy_worker.functions.results import BadResult, OversizeResult, Result, serialise
from vardy_worker.logs import get_logger
from vardy_worker.ports import CallFailed, CallOk, CallUnknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.functions.batch import Flight
    from vardy_worker.functions.registry import Registered
    from vardy_worker.ports import CallOutcome, FunctionCall

MESSAGE_CHARACTERS_MAX = 2000
"""Of a `FunctionError`'s message; the rest is cut."""

FUNCTION_CRASHED = "function.crashed"
FUNCTION_TIMEOUT = "function.timeout"
FUNCTION_BAD_RESULT = "function.bad_result"
FUNCTION_RESULT_TOO_LARGE = "function.result_too_large"
FUNCTION_LATE = "function.late"


class Invocation:
    """Runs the function once. Whatever it raises ends here: nothing of it but `FunctionError` shows outside the log."""

    def __init__(
        self, function: Registered, call: FunctionCall, values: Mapping[str, Any], *, result_bytes_max: int
    ) -> None:
        self._function = function
        self._call = call
        self._values = values
        self._result_bytes_max = result_bytes_max
        self._correlation_id = new_id("err")
        self._logger = get_logger(__name__).bind(job_id=call.job_id, function=function.name)

    def run(self, flight: Flight) -> bool:
        """Calls a function that is not async; False when the outcome came too late."""
        if not flight.begin():
            return True
        try:
            returned = self._function.call(*self._context(flight), **self._values)
        except FunctionError as error:
            outcome: CallOutcome = _failed(error)
        except BaseException as error:  # noqa: BLE001 - the company's code may raise anything, and its outcome is unknown
            outcome = self._crashed(error)
        else:
            outcome = self._returned(returned)
        return self._end(flight, outcome)

    async def run_async(self, flight: Flight) -> bool:
        """The same for an async function, on the event loop."""
        if not flight.begin():
            return True
        try:
            returned = await self._function.call(*self._context(flight), **self._values)
        except FunctionError as error:
            outcome: CallOutcome = _failed(error)
        except BaseException as error:  # noqa: BLE001 - as in `run`; a cancelled call is one that was given up
            outcome = self._crashed(error, expected=not flight.is_awaited())
        else:
            outcome = self._returned(returned)
        return self._end(flight, outcome)

    def overdue(self, seconds: float) -> CallOutcome:
        """The outcome when it began and is not awaited any longer."""
        self._logger.error(FUNCTION_TIMEOUT, correlation_id=self._correlation_id, seconds=round(seconds, 3))
        return self._unknown(
            FUNCTION_TIMEOUT, f"{self._function.name} did not answer within {seconds:.3g} s; it may still do so."
        )

    def _context(self, flight: Flight) -> tuple[CallContext, ...]:
        if not self._function.types.takes_context:
            return ()
        call = self._call
        context = CallContext(
            job_id=call.job_id,
            user=call.user,
            approved_by=call.approved_by,
            idempotency_key=call.idempotency_key,
            attempt=call.attempt,
            deadline=flight.ends_at,
            logger=get_logger("vardy.function").bind(
                job_id=call.job_id, function=self._function.name, attempt=call.attempt
            ),
        )
        return (context,)

    def _end(self, flight: Flight, outcome: CallOutcome) -> bool:
        in_time = flight.end(outcome)
        if not in_time:
            self._logger.warning(FUNCTION_LATE, correlation_id=self._correlation_id, outcome=type(outcome).__name__)
        return in_time

    def _crashed(self, error: BaseException, *, expected: bool = False) -> CallUnknown:
        if not expected:
            self._logger.error(FUNCTION_CRASHED, correlation_id=self._correlation_id, exc_info=error)
        return self._unknown(
            FUNCTION_CRASHED,
            f"{self._function.name} crashed. The operator's log has the reason under {self._correlation_id}.",
        )

    def _returned(self, returned: Any) -> CallOutcome:
        if inspect.iscoroutine(returned):
            returned.close()
            return self._bad("is a coroutine: register the `async def` itself")
        try:
            result = serialise(
                self._function.types.result,
                returned,
                bytes_max=self._result_bytes_max,
                schema_of_sets=self._function.output_schema if self._function.gives_sets else None,
            )
        except Exception as error:  # noqa: BLE001 - validators and serializers are the company's code too
            return self._bad("crashed the checks of its own type", error)
        match result:
            case Result(value):
                return CallOk(value)
            case BadResult(at, reason):
                return self._bad(f"{f'at {at} ' if at else ''}{reason}")
            case OversizeResult(size):
                self._logger.error(
                    FUNCTION_RESULT_TOO_LARGE,
                    correlation_id=self._correlation_id,
                    bytes=size,
                    bytes_max=self._result_bytes_max,
                )
                return self._unknown(
                    FUNCTION_RESULT_TOO_LARGE,
                    f"The result of {self._function.name} has {size:,} bytes; at most {self._result_bytes_max:,} are "
                    "allowed (VARDY_CALL_RESULT_BYTES_MAX). Ask for less, or let the function return less.",
                )

    def _bad(self, problem: str, error: Exception | None = None) -> CallUnknown:
        self._logger.error(FUNCTION_BAD_RESULT, correlation_id=self._correlation_id, problem=problem, exc_info=error)
        return self._unknown(FUNCTION_BAD_RESULT, f"The result of {self._function.name} {problem}.")

    def _unknown(self, code: str, message: str) -> CallUnknown:
        return CallUnknown(code, message, self._correlation_id)


def _failed(error: FunctionError) -> CallFailed:
    """What the company's own class of error says, whatever its author put or forgot there.

    The outcome is known, and must not get lost over a name of a file that is no Unicode,
    or a header's text in place of seconds.
    """
    message = str(getattr(error, "message", "") or error)[:MESSAGE_CHARACTERS_MAX]
    retryable = bool(getattr(error, "retryable", False))
    return CallFailed(well_formed(message), retryable, _seconds(getattr(error, "retry_after_seconds", None)))


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None
