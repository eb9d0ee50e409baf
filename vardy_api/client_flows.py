"""What the client does over several requests: retrying, waiting, asking for approval.

Written once, as generators that yield steps and get their results sent in; a driver
carries the steps out, blocking or asynchronously. Pure apart from the clock given.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from vardy_api import client_calls as calls
from vardy_api.client_errors import Unreachable, WaitTimeout, problem_error
from vardy_api.shapes import WAIT_SECONDS_MAX, DecisionRequest, PersonRequest, SummaryPage
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User

if TYPE_CHECKING:
    from vardy_api.client_calls import Call, Reply
    from vardy_api.shapes import ExploreRequest, RunRequest, SummaryView
    from vardy_worker.contracts.view import JobView

T = TypeVar("T")


class Page(Protocol):
    """Whatever says where the next page begins."""

    @property
    def next(self) -> str | None:
        """The cursor of the following page."""
        ...


P = TypeVar("P", bound=Page)

TRIES_MAX = 5
"""How often one request is sent at the most."""
PAUSE_SECONDS = (0.2, 0.5, 1.0, 2.0)
"""Between the tries, unless the service says how long (`Retry-After`)."""
RETRY_AFTER_SECONDS_MAX = 30.0
HELD_SECONDS_MIN = 0.5
"""A long poll answered sooner, and unsettled, was not held back: then the client pauses itself."""

TRY_AGAIN_STATUSES = frozenset({429, 502, 503, 504})


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
class Lost:
    """No answer came. `arrived`: the request may have reached the service."""

    reason: str
    arrived: bool


Step: TypeAlias = Send | Pause | Ask
Flow: TypeAlias = Generator[Step, Any, T]
Monotonic: TypeAlias = Callable[[], float]


def as_user(user: User | str | dict[str, Any] | None) -> User | None:
    """A user from what is handy: an id, a mapping, or the contract itself."""
    if isinstance(user, str):
        return User(id=user)
    if isinstance(user, dict):
        return User.model_validate(user)
    return user


def perform(call: Call[T]) -> Flow[T]:
    """Sends one call, again where that is safe and may help."""
    for attempt in range(1, TRIES_MAX + 1):
        result: Reply | Lost = yield Send(call)
        last = attempt == TRIES_MAX
        if isinstance(result, Lost):
            if last or (result.arrived and not call.repeatable):
                raise Unreachable(result.reason, details={"tries": attempt})
            yield Pause(PAUSE_SECONDS[attempt - 1])
            continue
        if result.status < 400 or result.status in call.accepts:  # noqa: PLR2004 - the errors begin at 400
            return call.parse(result)
        problem = calls.read_problem(result)
        again = result.status in TRY_AGAIN_STATUSES or problem.code == "idempotency.in_flight"
        if last or not again or not (call.repeatable or result.status == 429):  # noqa: PLR2004 - refused untried
            raise problem_error(problem)
        yield Pause(_retry_after(result, PAUSE_SECONDS[attempt - 1]))
    msg = "the loop above ends by itself"
    raise AssertionError(msg)


def _retry_after(reply: Reply, otherwise: float) -> float:
    try:
        return min(float(reply.headers["retry-after"]), RETRY_AFTER_SECONDS_MAX)
    except (KeyError, ValueError):
        return otherwise


def wait_settled(job: JobView | str, *, timeout_seconds: float | None, now: Monotonic) -> Flow[JobView]:
    """Polls, each poll held back by the service, until the job settles. Raises `WaitTimeout`."""
    if not isinstance(job, str) and job.settled:
        return job
    job_id = job if isinstance(job, str) else job.id
    end = None if timeout_seconds is None else now() + timeout_seconds
    while True:
        began = now()
        left = WAIT_SECONDS_MAX if end is None else end - began
        seen = yield from perform(calls.read_job(job_id, wait_seconds=_whole(left)))
        if seen.settled:
            return seen
        if end is not None and now() >= end:
            raise WaitTimeout(seen, timeout_seconds or 0)
        if now() - began < HELD_SECONDS_MIN:
            yield Pause(HELD_SECONDS_MIN if end is None else max(0.0, min(HELD_SECONDS_MIN, end - now())))


def _whole(seconds: float) -> float:
    return round(min(max(seconds, 0), WAIT_SECONDS_MAX), 3)


def submit(
    request: RunRequest | ExploreRequest,
    *,
    idempotency_key: str,
    wait: bool,
    timeout_seconds: float | None,
    ask: bool,
    now: Monotonic,
) -> Flow[JobView]:
    """Submits a job and, if wished, waits until it settles and asks about its approval."""
    if not wait:
        return (yield from perform(calls.submit(request, idempotency_key=idempotency_key)))
    began = now()
    first = _whole(WAIT_SECONDS_MAX if timeout_seconds is None else timeout_seconds)
    job = yield from perform(calls.submit(request, idempotency_key=idempotency_key, wait_seconds=first))
    left = None if timeout_seconds is None else max(0.0, timeout_seconds - (now() - began))
    return (yield from settle(job, timeout_seconds=left, ask=ask, now=now))


def settle(job: JobView | str, *, timeout_seconds: float | None, ask: bool, now: Monotonic) -> Flow[JobView]:
    """Waits until the job settles; asks about each plan that comes back pending, once per digest."""
    end = None if timeout_seconds is None else now() + timeout_seconds
    asked: set[str] = set()
    while True:
        left = None if end is None else max(0.0, end - now())
        seen = yield from wait_settled(job, timeout_seconds=left, now=now)
        if not ask or seen.status is not Status.PENDING_APPROVAL or seen.plan is None or seen.plan.digest in asked:
            return seen
        asked.add(seen.plan.digest)
        decision: Decision | None = yield Ask(seen)
        if decision is None:
            return seen
        choice = Choice.APPROVE if decision.approve else Choice.DENY
        request = DecisionRequest(decision=choice, user=as_user(decision.user), reason=decision.reason)
        job = yield from perform(calls.decide(seen.id, seen.plan.digest, request))


def decide(
    job: JobView | str,
    request: DecisionRequest,
    *,
    digest: str | None,
    wait: bool,
    timeout_seconds: float | None,
    now: Monotonic,
) -> Flow[JobView]:
    """Decides on exactly the plan that was shown, and waits for the commit if wished."""
    job_id, shown = shown_plan(job, digest)
    decided = yield from perform(calls.decide(job_id, shown, request))
    return (yield from wait_settled(decided, timeout_seconds=timeout_seconds, now=now)) if wait else decided


def commit_planned(
    job: JobView | str,
    request: PersonRequest,
    *,
    digest: str | None,
    wait: bool,
    timeout_seconds: float | None,
    now: Monotonic,
) -> Flow[JobView]:
    """Commits a planned job, and waits for it if wished."""
    job_id, shown = shown_plan(job, digest)
    begun = yield from perform(calls.commit_planned(job_id, shown, request))
    return (yield from wait_settled(begun, timeout_seconds=timeout_seconds, now=now)) if wait else begun


def shown_plan(job: JobView | str, digest: str | None) -> tuple[str, str]:
    """The job's id and the digest of the plan that was looked at. Raises `ValueError` without one."""
    job_id = job if isinstance(job, str) else job.id
    if digest is None and not isinstance(job, str) and job.plan is not None:
        digest = job.plan.digest
    if digest is None and not isinstance(job, str):
        msg = f"{job_id} is {job.status.value} and has no plan, so there is nothing to decide or commit."
        raise ValueError(msg)
    if digest is None:
        msg = f"Give the job as it was shown, or the digest of its plan: {job_id} alone does not say which plan."
        raise ValueError(msg)
    return job_id, digest


def next_page(
    filters: dict[str, object], page: SummaryPage | None, *, limit: int | None
) -> Flow[tuple[SummaryPage, tuple[SummaryView, ...]]]:
    """The page after this one (the first without one), and its lines."""
    cursor = None if page is None else page.next
    following = yield from perform(calls.list_jobs(filters, cursor=cursor, limit=limit))
    return following, following.items


def all_pages(call: Callable[[str | None], Call[P]]) -> Flow[tuple[P, ...]]:
    """Every page of a listing that is short enough to be one answer; `call` takes the cursor."""
    pages = [(yield from perform(call(None)))]
    while (cursor := pages[-1].next) is not None:
        pages.append((yield from perform(call(cursor))))
    return tuple(pages)
