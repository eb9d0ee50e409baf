"""What a method of the client does, as a generator of steps that a driver carries out.

So every method is written once: `Vardy` carries the steps out one after another and
blocks, `AsyncVardy` awaits them. A flow knows no network, and no clock but the one given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from vardy_api import client_calls as calls
from vardy_api.client_errors import Unreachable, problem_error
from vardy_worker.contracts.user import User

if TYPE_CHECKING:
    from vardy_api.client_calls import Call, Reply
    from vardy_worker.contracts.view import JobView

PAUSE_SECONDS = (0.2, 0.5, 1.0, 2.0)
"""Between the tries of a request, unless the service says how long (`Retry-After`)."""
WAITING_PAUSE_SECONDS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""The same for who waits for a job anyway: a service that is started anew ends no wait."""
RETRY_AFTER_SECONDS_MAX = 30.0
"""A service that asks for a longer pause is not tried again: the caller is told."""
RETRYING_SECONDS_MAX = 120.0
"""No request is sent again later than this after the first time."""
CUT_STATUSES = frozenset({502, 504})
"""What something on the way answers when the service takes too long."""
TRY_AGAIN_STATUSES = CUT_STATUSES | {429, 503}


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's word on a job that waits for approval."""

    approve: bool
    user: User | str | dict[str, Any] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Send:
    """Send this request; the result is a `Reply` or `Lost`."""

    call: Call[Any]


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the program that uses the client about an approval; the result is a `Decision` or None."""

    job: JobView


@dataclass(frozen=True, slots=True)
class Listen:
    """Open a stream of events, in place of any before; the result is `Opened`, a `Reply` or `Lost`."""

    call: Call[Any]


@dataclass(frozen=True, slots=True)
class Hear:
    """The next of the stream that is open: a `Message`, `Ended` or `Lost`."""


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came, or no more of it. `arrived`: the request may have reached the service.

    `silent`: nothing broke, but nothing came for as long as was waited.
    """

    reason: str
    arrived: bool
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """The stream is there."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a stream; `data` is "" where it only keeps the connection alive."""

    id: str
    type: str
    data: str
    retry_ms: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The stream ended as streams do; whether all was told is not known."""


T = TypeVar("T")
I_co = TypeVar("I_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Item(Generic[I_co]):
    """One item of what an iterator yields; it has no result."""

    value: I_co


Step: TypeAlias = Send | Pause | Ask | Listen | Hear
Flow: TypeAlias = Generator[Step, Any, T]
"""A method: its steps, and what it returns."""
Stream: TypeAlias = Generator[Step | Item[T], Any, None]
"""A method that yields items."""
Monotonic: TypeAlias = Callable[[], float]


class Page(Protocol[I_co]):
    """One page of a listing."""

    @property
    def items(self) -> tuple[I_co, ...]:
        """What is on it."""
        ...

    @property
    def next(self) -> str | None:
        """The cursor of the following page."""
        ...


class Flows:
    """What the flows of all methods stand on."""

    def __init__(self, *, asks: bool, now: Monotonic) -> None:
        """`asks`: there is somebody to ask about approvals. `now` counts seconds."""
        self._asks = asks
        self._now = now

    def _perform(
        self,
        call: Call[T],
        *,
        until: float = math.inf,
        first: Reply | Lost | None = None,
        pauses: Sequence[float] = PAUSE_SECONDS,
    ) -> Flow[T]:
        """Sends one call, again where that is safe and may help, and not after `until`.

        `first` is what came of it already.
        """
        until = min(until, self._now() + RETRYING_SECONDS_MAX)
        attempt = 0
        while True:
            result: Reply | Lost = (yield Send(call)) if first is None else first
            first = None
            attempt += 1
            pause = pauses[min(attempt, len(pauses)) - 1]
            again: float | None
            error: Exception
            if isinstance(result, Lost):
                error = Unreachable(result.reason, details={"tries": attempt})
                again = None if result.arrived and not call.repeatable else pause
            elif result.status < 400 or result.status in call.accepts:  # noqa: PLR2004 - the errors begin at 400
                return call.parse(result)
            else:
                problem = calls.read_problem(result)
                refused = problem_error(problem, retry_after_seconds=retry_after(result))
                said = refused.retry_after_seconds
                again = _pause_before_retry(call, result.status, problem.code, pause if said is None else said)
                error = refused
            if again is None or attempt > len(pauses) or self._now() + again > until:
                raise error
            yield Pause(again)

    def _held(
        self, held: Call[T], plain: Call[T], *, until: float = math.inf, pauses: Sequence[float] = PAUSE_SECONDS
    ) -> Flow[tuple[T, bool]]:
        """Sends a request whose answer is held back; where something on the way cuts that, the plain one instead.

        The result says whether it was cut.
        """
        result: Reply | Lost = yield Send(held)
        if isinstance(result, Lost) or result.status in CUT_STATUSES:
            return (yield from self._perform(plain, until=until, pauses=pauses)), True
        return (yield from self._perform(held, until=until, first=result, pauses=pauses)), False

    def _every_page(self, call: Callable[[str | None], Call[Page[T]]]) -> Stream[T]:
        """All items of a listing, page by page; `call` makes the request for a cursor."""
        cursor: str | None = None
        while True:
            page = yield from self._perform(call(cursor))
            for item in page.items:
                yield Item(item)
            cursor = page.next
            if cursor is None:
                return

    def _all(self, call: Callable[[str | None], Call[Page[T]]]) -> Flow[tuple[T, ...]]:
        """The same as one answer, for listings that are short enough."""
        found: tuple[T, ...] = ()
        cursor: str | None = None
        while True:
            page = yield from self._perform(call(cursor))
            found += page.items
            cursor = page.next
            if cursor is None:
                return found


def _pause_before_retry(call: Call[Any], status: int, code: str, pause: float) -> float | None:
    """How long to pause before a refused call is sent again; None when it is not."""
    if status not in TRY_AGAIN_STATUSES and code != "idempotency.in_flight":
        return None
    untried = status == 429  # noqa: PLR2004 - refused before anything was done
    return pause if (call.repeatable or untried) and pause <= RETRY_AFTER_SECONDS_MAX else None


def retry_after(reply: Reply) -> float | None:
    """The seconds of `Retry-After`, which may be a date; None without one that can be read."""
    said = reply.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdigit():
        return float(said)
    try:
        left = parsedate_to_datetime(said) - parsedate_to_datetime(reply.headers.get("date", ""))
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, left.total_seconds())
