"""Calling the company's functions. Only the worker imports this module."""

from __future__ import annotations

import contextvars
import functools
import threading
import time
from typing import TYPE_CHECKING

from vardy_worker.clock import SystemClock
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.ids import new_id
from vardy_worker.functions.arguments import bind_arguments, check_arguments
from vardy_worker.functions.batch import Batch
from vardy_worker.functions.catalogue import build_catalogue
from vardy_worker.functions.hooks import run_hook
from vardy_worker.functions.invocation import Invocation
from vardy_worker.functions.loop import LoopThread
from vardy_worker.functions.problems import problem
from vardy_worker.functions.references import check_with_references
from vardy_worker.functions.threads import CallThreads
from vardy_worker.logs import get_logger
from vardy_worker.ports import BadArguments, CallFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.execution import Ref
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.functions.batch import Flight
    from vardy_worker.functions.registry import Functions
    from vardy_worker.ports import CallOutcome, Clock, FunctionCall, GoodArguments

HOOK_FAILED = "functions.hook_failed"


class FunctionRuntime:
    """The company's functions, running in this process (`ports.FunctionHost`).

    Functions that are not async run on at most `threads` threads, async ones on one
    event loop. `abandoned` counts calls that were given up and have not ended; past
    `abandoned_max` (as many as threads, unless said) the runtime is `exhausted`: stuck
    threads are no longer replaced, and the worker should drain and restart.

    Safe to use from many threads. Raises `RegistrationError` when made of functions
    that cannot be described.
    """

    def __init__(
        self,
        functions: Functions,
        *,
        clock: Clock | None = None,
        threads: int = 32,
        abandoned_max: int | None = None,
        hook_seconds_max: float = 60.0,
        stop_seconds_max: float = 10.0,
    ) -> None:
        self._functions = functions
        self._catalogue = build_catalogue(functions)
        self._clock = clock or SystemClock()
        self._abandoned_max = threads if abandoned_max is None else abandoned_max
        self._threads = CallThreads(threads, self._abandoned_max)
        self._loop = LoopThread()
        self._hook_seconds_max = hook_seconds_max
        self._stop_seconds_max = stop_seconds_max
        self._changed = threading.Condition()
        self._open = False
        self._batches = 0
        self._logger = get_logger(__name__)

    def catalogue(self) -> Catalogue:
        """What is registered."""
        return self._catalogue

    @property
    def abandoned(self) -> int:
        """Calls that nobody waits for any more and that still run."""
        return self._threads.stuck + self._loop.stuck

    @property
    def exhausted(self) -> bool:
        """Whether so many calls hang that the process should be replaced."""
        return self.abandoned > self._abandoned_max

    def check(
        self, function: str, args: JsonValue, refs: Sequence[Ref], *, effects: Sequence[str] = ()
    ) -> GoodArguments | BadArguments:
        """Validates the arguments of one call; see `ports.FunctionHost.check`."""
        registered = self._functions.get(function)
        if registered is None:
            return BadArguments((problem("", f"there is no function {function!r}"),))
        if refs:
            return check_with_references(registered, self._catalogue, args, refs, effects)
        return check_arguments(registered, args)

    def call_many(
        self, calls: Sequence[FunctionCall], *, deadline: float, in_flight_max: int, result_bytes_max: int
    ) -> Sequence[CallOutcome]:
        """Calls concurrently and returns outcomes in order; see `ports.FunctionHost.call_many`."""
        with self._changed:
            if not self._open:
                return [CallFailed("The worker is not running functions now.", retryable=True) for _ in calls]
            self._batches += 1
        try:
            batch = Batch(clock=self._clock, deadline=deadline, in_flight_max=in_flight_max)
            prepared = [self._prepare(batch, call, result_bytes_max) for call in calls]
            flights = [flight for flight in prepared if not isinstance(flight, CallFailed)]
            batch.run(flights)
            return [flight if isinstance(flight, CallFailed) else _outcome(flight) for flight in prepared]
        finally:
            with self._changed:
                self._batches -= 1
                self._changed.notify_all()

    def start(self) -> None:
        """Starts the event loop and runs the start hooks, in order.

        Raises `SettingsError` when a hook fails; no call is taken then.
        """
        self._loop.start()
        for hook in self._functions.start_hooks:
            error = self._run_hook(hook)
            if error is not None:
                self._close()
                raise error
        with self._changed:
            self._open = True

    def stop(self) -> None:
        """Takes no more calls, waits a while for those under way, and runs the stop hooks, last first.

        A failing stop hook is logged and keeps no other from running.
        """
        with self._changed:
            if not self._open:
                return
            self._open = False
            ends_at = time.monotonic() + self._stop_seconds_max
            while self._batches and (left := ends_at - time.monotonic()) > 0:
                self._changed.wait(left)
        for hook in reversed(self._functions.stop_hooks):
            self._run_hook(hook)
        self._close()

    def _close(self) -> None:
        self._threads.close()
        self._loop.close(self._stop_seconds_max)

    def _run_hook(self, hook: Callable[[], Any]) -> SettingsError | None:
        name = getattr(hook, "__name__", repr(hook))
        try:
            run_hook(hook, self._loop, seconds_max=self._hook_seconds_max)
        except BaseException as error:
            correlation_id = new_id("err")
            self._logger.exception(HOOK_FAILED, hook=name, correlation_id=correlation_id)
            failure = SettingsError(
                f"The hook {name} of VARDY_FUNCTIONS failed with {type(error).__name__}. "
                f"The log has the reason under {correlation_id}.",
                details={"setting": "VARDY_FUNCTIONS", "hook": name, "correlation_id": correlation_id},
            )
            failure.__cause__ = error
            return failure
        return None

    def _prepare(self, batch: Batch, call: FunctionCall, result_bytes_max: int) -> Flight | CallFailed:
        function = self._functions.get(call.function)
        if function is None:
            return CallFailed(f"There is no function {call.function!r} here.")
        values = bind_arguments(function, call.args)
        if isinstance(values, BadArguments):
            first = values.problems[0]
            where = first["at"].lstrip("/") or "the argument object"
            return CallFailed(f"The arguments of {call.function} do not fit: {where} {first['message']}.")
        invocation = Invocation(function, call, values, result_bytes_max=result_bytes_max)
        context = contextvars.copy_context()

        def launch(flight: Flight) -> Callable[[], None]:
            if function.is_async:
                return self._loop.submit(functools.partial(invocation.run_async, flight), context)
            return self._threads.submit(functools.partial(context.run, invocation.run, flight))

        return batch.flight(launch, function.options.timeout_seconds, invocation.overdue)


def _outcome(flight: Flight) -> CallOutcome:
    return flight.outcome or CallFailed(
        "It was not called: no time was left, or every thread for functions was busy.", retryable=True
    )
