"""A company's functions in a worker that is lost, or misled, at a chosen moment of the first call."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import threading
from asyncio import to_thread
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import CodeType
from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.ids import new_id
from vardy_worker.functions.context import FunctionError
from vardy_worker.functions.registry import Functions, Registered
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import CallFailed, CallOk, CallUnknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.ports import CallOutcome, FunctionCall

THREADS = 4
HOLD_SECONDS_MAX = 60.0
"""A call that is held back goes on by itself after this time."""
OVERLAP_SECONDS_MAX = 0.5
"""The next call may wait for the one that is held back, as for a lock: after this time that one goes on."""


class WorkerLost(BaseException):
    """The worker is gone. No `except Exception` keeps it alive."""


class Moment(StrEnum):
    """What happens to the first call of an effect."""

    LOST_BEFORE_CALL = "lost-before-call"
    LOST_IN_CALL = "lost-in-call"
    LOST_AFTER_CALL = "lost-after-call"
    DELIVERED_AGAIN = "delivered-again"
    REFUSED_ONCE = "refused-once"
    ANSWER_LOST = "answer-lost"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True, slots=True)
class CallMade:
    """One call that reached the function. `ended`: `returned`, `failed` (`FunctionError`), `unknown` or `lost`.

    `answer` is what it returned, None where it did not.
    """

    attempt: int
    idempotency_key: str
    ended: str
    answer: JsonValue = None


def own_codes(call: Callable[..., Any]) -> frozenset[CodeType]:
    """The code of a function, whatever decorators are around it, and of what is defined inside it."""
    inner: Any = inspect.unwrap(call)
    if not hasattr(inner, "__code__"):
        inner = inspect.getattr_static(type(inner), "__call__", None)
    found: set[CodeType] = set()
    waiting = [getattr(inner, "__code__", None)]
    while waiting:
        code = waiting.pop()
        if isinstance(code, CodeType):
            found.add(code)
            waiting.extend(code.co_consts)
    return frozenset(found)


def lines_of(call: Callable[..., Any]) -> tuple[int, ...]:
    """The lines of a function's own code at which it may be cut, in order."""
    found = {
        line
        for code in own_codes(call)
        for *_, line in code.co_lines()
        if line is not None and line > code.co_firstlineno
    }
    return tuple(sorted(found))


class CrashHost(FunctionRuntime):
    """The real host, whose first call meets the moment. `calls` are those that reached the function.

    `meanwhile` is what else happens while the first call is under way. `happened` is set
    once the moment came: a line may never be reached.
    """

    def __init__(self, functions: Functions, name: str, moment: Moment, *, line: int | None = None) -> None:
        super().__init__(_Observed(functions, name, self._observe), threads=THREADS)
        self._moment = moment
        self._line = line
        self._is_first = True
        self._entered = threading.Event()
        self._cut = threading.Event()
        self._held = threading.Event()
        self._met = threading.Event()
        self._goes_on = threading.Event()
        self._ended = threading.Event()
        self._late: threading.Thread | None = None
        self.calls: list[CallMade] = []
        self.happened = threading.Event()
        self.meanwhile: Callable[[], None] = lambda: None

    def call_many(self, calls: Sequence[FunctionCall], **bounds: Any) -> Sequence[CallOutcome]:
        """The one call of one attempt. Raises `WorkerLost`."""
        if not calls:
            # The program's own batch, which has no reads.
            return []
        (call,) = calls
        if not self._is_first:
            overlap = threading.Timer(OVERLAP_SECONDS_MAX, self._goes_on.set)
            overlap.start()
            outcome = self._make(call, bounds)
            overlap.cancel()
            overlap.join()
            self.let_go()
            return [outcome]
        self._is_first = False
        if self._line is None:
            self.happened.set()
        return [self._first(call, bounds)]

    def let_go(self) -> None:
        """Lets a call that is held back go on, and waits for its end."""
        if self._late is not None:
            self._goes_on.set()
            self._late.join()
            self._ended.wait(HOLD_SECONDS_MAX)

    def _first(self, call: FunctionCall, bounds: dict[str, Any]) -> CallOutcome:
        match self._moment:
            case Moment.LOST_BEFORE_CALL:
                raise WorkerLost
            case Moment.REFUSED_ONCE:
                return CallFailed("The worker could not make the call.", retryable=True)
            case Moment.TIMED_OUT:
                return self._time_out(call, bounds)
            case Moment.DELIVERED_AGAIN:
                self.meanwhile()
                return self._make(call, bounds)
            case Moment.LOST_IN_CALL:
                outcome = self._make(call, bounds)
                if self._cut.is_set():
                    self.happened.set()
                    raise WorkerLost
                return outcome
            case Moment.LOST_AFTER_CALL:
                self._make(call, bounds)
                raise WorkerLost
            case Moment.ANSWER_LOST:
                outcome = self._make(call, bounds)
                return _unknown("function.crashed", call) if isinstance(outcome, CallOk) else outcome

    def _time_out(self, call: FunctionCall, bounds: dict[str, Any]) -> CallOutcome:
        """Gives the call up where it is held back; it goes on when `let_go` says so."""
        outcomes: list[CallOutcome] = []

        def make() -> None:
            outcomes.append(self._make(call, bounds))
            self._met.set()

        self._late = threading.Thread(target=make, name="vardy-late-call", daemon=True)
        self._late.start()
        self._met.wait(HOLD_SECONDS_MAX)
        if not self._held.is_set():
            # It never came to its line.
            return outcomes[0]
        self.happened.set()
        return _unknown("function.timeout", call)

    def _make(self, call: FunctionCall, bounds: dict[str, Any]) -> CallOutcome:
        (outcome,) = super().call_many([call], **bounds)
        ended = {CallOk: "returned", CallFailed: "failed"}.get(type(outcome), "unknown")
        is_lost = self._cut.is_set() and not self.happened.is_set()
        answer = outcome.value if isinstance(outcome, CallOk) else None
        self.calls.append(CallMade(call.attempt, call.idempotency_key, "lost" if is_lost else ended, answer))
        return outcome

    # --- around the function itself ---------------------------------------------------------

    def _observe(self, registered: Registered) -> Callable[..., Any]:
        call = registered.call
        if registered.is_async:

            @functools.wraps(call)
            async def observed_async(*args: Any, **kwargs: Any) -> Any:
                is_first = self._enters()
                try:
                    if is_first and self._is_held_before():
                        await to_thread(self._hold)
                    with self._traced(call, is_first=is_first):
                        return await call(*args, **kwargs)
                finally:
                    if is_first:
                        self._ended.set()

            return observed_async

        @functools.wraps(call)
        def observed(*args: Any, **kwargs: Any) -> Any:
            is_first = self._enters()
            try:
                if is_first and self._is_held_before():
                    self._hold()
                with self._traced(call, is_first=is_first):
                    return call(*args, **kwargs)
            finally:
                if is_first:
                    self._ended.set()

        return observed

    def _enters(self) -> bool:
        """Whether this call is the first that reaches the function."""
        is_first = not self._entered.is_set()
        self._entered.set()
        return is_first

    def _is_held_before(self) -> bool:
        return self._moment is Moment.TIMED_OUT and self._line is None

    def _hold(self) -> None:
        self._held.set()
        self._met.set()
        self._goes_on.wait(HOLD_SECONDS_MAX)

    @contextmanager
    def _traced(self, call: Callable[..., Any], *, is_first: bool) -> Iterator[None]:
        """Meets the moment before the line is executed, the first time that the first call gets there."""
        if self._line is None or not is_first:
            yield
            return
        codes = own_codes(call)

        def trace(frame: FrameType, event: str, _: object) -> Any:
            if frame.f_code not in codes:
                return None
            if event == "line" and frame.f_lineno == self._line:
                self._meet()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        except WorkerLost:
            # Nobody hears it any more; only to the runtime it must not look like a crash, which is logged.
            raise FunctionError("The worker was lost.") from None
        finally:
            sys.settrace(before)

    def _meet(self) -> None:
        if self._moment is Moment.TIMED_OUT and not self._held.is_set():
            self._hold()
        elif self._moment is Moment.LOST_IN_CALL and not self._cut.is_set():
            self._cut.set()
            raise WorkerLost


class _Observed(Functions):
    """The same functions and hooks, one of them with something around it; versions stay as they are."""

    def __init__(self, functions: Functions, name: str, observe: Callable[[Registered], Callable[..., Any]]) -> None:
        super().__init__()
        self.include(functions)
        target = self._registered[name]
        # Read now, from the company's own function.
        _ = target.types
        observed = copy.copy(target)
        observed.call = observe(target)
        self._registered[name] = observed


def _unknown(code: str, call: FunctionCall) -> CallUnknown:
    return CallUnknown(code, f"{call.function} gave no answer that was received.", new_id("err"))
