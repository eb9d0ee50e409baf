"""The Python client: `Vardy`.

Blocking, over HTTP, with typed results (`JobView` and the shapes of `vardy_api.shapes`)
and exceptions that mirror the problem types (`vardy_api.client_errors`). It loads no
server library. What it sends and does is in `client_calls` and `client_flows`.
"""

from __future__ import annotations

import os
import secrets
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx

from vardy_api import client_calls as calls
from vardy_api import client_flows as flows
from vardy_api.client_calls import Reply
from vardy_api.client_errors import ClientError
from vardy_api.client_flows import Ask, Decision, Lost, Pause, Send, as_user
from vardy_api.client_library import LibraryClient, Person
from vardy_api.client_recipes import job_id_of
from vardy_api.shapes import (
    DecisionRequest,
    ExploreRequest,
    PersonRequest,
    ReasonRequest,
    ResolveRequest,
    RunRequest,
    Via,
)
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.job import JobKind, Mode
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from types import TracebackType

    from vardy_api.shapes import (
        AttemptsView,
        ConsoleView,
        JournalView,
        SummaryPage,
        SummaryView,
    )
    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.view import JobView

__all__ = ["Decision", "Vardy"]

T = TypeVar("T")

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
"""How long an answer may take beyond the time it is held back on purpose."""
NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Vardy(LibraryClient):
    """A connection to one Vardy API. Threads may share it. Close it, or use it in `with`.

    `on_approval` is asked whenever a job that is waited for comes back `PENDING_APPROVAL`;
    None leaves it pending. All methods raise `VardyProblem` (its subclasses tell what
    kind), `Unreachable` after retries, and, where they wait, `WaitTimeout`. Arguments that
    no request can have raise pydantic's `ValidationError`, before anything is sent.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        on_approval: Callable[[JobView], Decision | None] | None = None,
        via: Via = "api",
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connects to `url` with `api_key`; by default `VARDY_URL` and `VARDY_API_KEY`."""
        self.url = (url or os.environ.get("VARDY_URL") or "http://127.0.0.1:8000").rstrip("/")
        key = (api_key if api_key is not None else os.environ.get("VARDY_API_KEY", "")).strip()
        if not (key.isascii() and key.isprintable()):
            raise ClientError("The API key has characters that no key has.", code="auth.invalid")
        self._on_approval = on_approval
        self._pause = pause
        self._now = now
        headers = {"User-Agent": "vardy-python", "Accept": "application/json", "Vardy-Via": via}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            self._http = httpx.Client(base_url=self.url, headers=headers, transport=transport)
        except httpx.InvalidURL as error:
            raise ClientError(f"{self.url} is not an address: {error}.", code="client.bad_url") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    # --- jobs ----------------------------------------------------------------------------------

    def run(
        self,
        request: str | None = None,
        *,
        recipe: str | None = None,
        params: JsonObject | None = None,
        user: Person = None,
        mode: Mode | str = Mode.EXECUTE,
        functions: Sequence[str] | None = None,
        execution_repairs: int = 0,
        judge: bool = False,
        metadata: dict[str, str] | None = None,
        limits: dict[str, float] | None = None,
        wait: bool = True,
        timeout_seconds: float | None = None,
        idempotency_key: str | None = None,
    ) -> JobView:
        """Submits a job and waits until it settles; `wait=False` returns at once.

        Give exactly one of `request` (plain words) and `recipe` (a saved program's name).
        """
        body = RunRequest(
            request=request,
            recipe=recipe,
            params=params or {},
            user=as_user(user),
            mode=Mode(mode),
            functions=None if functions is None else tuple(functions),
            execution_repairs=execution_repairs,
            judge=judge,
            metadata=metadata or {},
            limits=limits or {},
        )
        return self._submit(body, wait=wait, timeout_seconds=timeout_seconds, idempotency_key=idempotency_key)

    def explore(
        self,
        question: str,
        *,
        params: JsonObject | None = None,
        user: Person = None,
        functions: Sequence[str] | None = None,
        judge: bool = False,
        rounds_max: int | None = None,
        metadata: dict[str, str] | None = None,
        limits: dict[str, float] | None = None,
        wait: bool = True,
        timeout_seconds: float | None = None,
        idempotency_key: str | None = None,
    ) -> JobView:
        """Asks a question that reads may answer, and waits for the answer; `wait=False` returns at once.

        The job's `answer` is there when its status is `SUCCESS`; its `rounds` say what was
        looked at, while it runs too. `rounds_max` lowers how many programs there may be.
        """
        body = ExploreRequest(
            question=question,
            params=params or {},
            user=as_user(user),
            functions=None if functions is None else tuple(functions),
            judge=judge,
            rounds_max=rounds_max,
            metadata=metadata or {},
            limits=limits or {},
        )
        return self._submit(body, wait=wait, timeout_seconds=timeout_seconds, idempotency_key=idempotency_key)

    def _submit(
        self,
        body: RunRequest | ExploreRequest,
        *,
        wait: bool,
        timeout_seconds: float | None,
        idempotency_key: str | None,
    ) -> JobView:
        return self._drive(
            flows.submit(
                body,
                idempotency_key=idempotency_key or secrets.token_urlsafe(24),
                wait=wait,
                timeout_seconds=timeout_seconds,
                ask=self._on_approval is not None,
                now=self._now,
            )
        )

    def get(self, job: JobView | str) -> JobView:
        """The job as it is now."""
        return self._drive(flows.perform(calls.read_job(job_id_of(job))))

    def wait(self, job: JobView | str, *, timeout_seconds: float | None = None) -> JobView:
        """The job when it has settled. Asks `on_approval` as `run` does."""
        ask = self._on_approval is not None
        return self._drive(flows.settle(job, timeout_seconds=timeout_seconds, ask=ask, now=self._now))

    def list_jobs(
        self,
        *,
        status: Sequence[Status | str] | Status | str | None = None,
        kind: JobKind | str | None = None,
        user: str | None = None,
        recipe: str | None = None,
        created_after: datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> SummaryPage:
        """One page of summaries, newest first."""
        filters = calls.job_filters(status, kind, user, recipe, created_after)
        return self._drive(flows.perform(calls.list_jobs(filters, cursor=cursor, limit=limit)))

    def iterate_jobs(
        self,
        *,
        status: Sequence[Status | str] | Status | str | None = None,
        kind: JobKind | str | None = None,
        user: str | None = None,
        recipe: str | None = None,
        created_after: datetime | None = None,
    ) -> Iterator[SummaryView]:
        """All summaries that match, newest first, page by page."""
        filters = calls.job_filters(status, kind, user, recipe, created_after)
        page, items = self._drive(flows.next_page(filters, None, limit=200))
        yield from items
        while page.next is not None:
            page, items = self._drive(flows.next_page(filters, page, limit=200))
            yield from items

    def plan(self, job: JobView | str) -> Plan:
        """The plan's exact bytes, checked against its digest."""
        return self._drive(flows.perform(calls.read_plan(job_id_of(job))))

    def console(self, job: JobView | str) -> ConsoleView:
        """What the job's program printed."""
        return self._drive(flows.perform(calls.read_console(job_id_of(job))))

    def journal(self, job: JobView | str) -> JournalView:
        """The journal of the job's commit: every start and end of every effect, oldest first."""
        return self._drive(flows.perform(calls.read_journal(job_id_of(job))))

    def attempts(self, job: JobView | str) -> AttemptsView:
        """The model's answers that did not become the job's program. Needs a key with `operate`."""
        return self._drive(flows.perform(calls.read_attempts(job_id_of(job))))

    def erase(self, job: JobView | str, *, dry_run: bool = False) -> JobView:
        """Removes what a job that is over holds, for good; the answer is what stays. Needs a key with `operate`."""
        return self._drive(flows.perform(calls.erase(job_id_of(job), dry_run=dry_run)))

    def erase_totals(self, user: str) -> None:
        """Erases what a person's plans added up to, so that limits over time begin anew. Needs `operate`."""
        return self._drive(flows.perform(calls.erase_totals(user)))

    # --- decisions and commits -------------------------------------------------------------------

    def commit(
        self,
        job: JobView,
        *,
        user: Person = None,
        reason: str = "",
        wait: bool = True,
        timeout_seconds: float | None = None,
    ) -> JobView:
        """Lets exactly the plan that `job` shows be executed, and waits for the end.

        A `PENDING_APPROVAL` job is approved by `user`, who must not be the person that
        asked for it (`approval.requester`) while four eyes are demanded; a `PLANNED` one
        is committed for `user`, under the rules and approvals as always.
        """
        if job.status is Status.PLANNED:
            return self.commit_planned(job, user=user, wait=wait, timeout_seconds=timeout_seconds)
        return self.approve(job, user=user, reason=reason, wait=wait, timeout_seconds=timeout_seconds)

    def approve(
        self,
        job: JobView | str,
        *,
        user: Person = None,
        reason: str = "",
        digest: str | None = None,
        wait: bool = True,
        timeout_seconds: float | None = None,
    ) -> JobView:
        """Approves the plan that was shown; a job given by id alone needs its `digest`."""
        request = DecisionRequest(decision=Choice.APPROVE, user=as_user(user), reason=reason)
        return self._decide(job, request, digest=digest, wait=wait, timeout_seconds=timeout_seconds)

    def deny(self, job: JobView | str, *, reason: str, user: Person = None, digest: str | None = None) -> JobView:
        """Denies the plan that was shown, which ends the job."""
        request = DecisionRequest(decision=Choice.DENY, user=as_user(user), reason=reason)
        return self._decide(job, request, digest=digest, wait=False, timeout_seconds=None)

    def _decide(
        self,
        job: JobView | str,
        request: DecisionRequest,
        *,
        digest: str | None,
        wait: bool,
        timeout_seconds: float | None,
    ) -> JobView:
        return self._drive(
            flows.decide(
                job,
                request,
                digest=digest,
                wait=wait,
                timeout_seconds=timeout_seconds,
                now=self._now,
            )
        )

    def commit_planned(
        self,
        job: JobView | str,
        *,
        user: Person = None,
        digest: str | None = None,
        wait: bool = True,
        timeout_seconds: float | None = None,
    ) -> JobView:
        """Commits a `PLANNED` job under the rules now active; it may come back `PENDING_APPROVAL`."""
        return self._drive(
            flows.commit_planned(
                job,
                PersonRequest(user=as_user(user)),
                digest=digest,
                wait=wait,
                timeout_seconds=timeout_seconds,
                now=self._now,
            )
        )

    def cancel(self, job: JobView | str, *, user: Person = None) -> JobView:
        """Cancels a job; one that is committing stops before its next effect."""
        return self._act(job, "cancel", PersonRequest(user=as_user(user)))

    def requeue(self, job: JobView | str, *, user: Person = None, dry_run: bool = False) -> JobView:
        """Starts the commit again at the first effect that is not done; a dry run only raises what would refuse it."""
        request = PersonRequest(user=as_user(user))
        if dry_run:
            return self._drive(flows.perform(calls.try_requeue(job_id_of(job), request)))
        return self._act(job, "requeue", request)

    def discard(self, job: JobView | str, *, reason: str, user: Person = None) -> JobView:
        """Gives up the rest of a `PARTIAL` job for good."""
        return self._act(job, "discard", ReasonRequest(reason=reason, user=as_user(user)))

    def resolve(
        self,
        job: JobView | str,
        seq: int,
        *,
        done: bool,
        reason: str,
        result: JsonValue = None,
        user: Person = None,
    ) -> JobView:
        """Says of an `UNKNOWN` effect whether it was applied, and how that was found out."""
        request = ResolveRequest(done=done, result=result, reason=reason, user=as_user(user))
        return self._drive(flows.perform(calls.resolve(job_id_of(job), seq, request)))

    def _act(self, job: JobView | str, verb: str, request: PersonRequest | ReasonRequest) -> JobView:
        return self._drive(flows.perform(calls.act(job_id_of(job), verb, request)))

    # --- the driver ------------------------------------------------------------------------------------

    def _drive(self, flow: flows.Flow[T]) -> T:
        result: Reply | Lost | Decision | None = None
        while True:
            try:
                step = flow.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            match step:
                case Send(call):
                    result = self._send(call)
                case Pause(seconds):
                    self._pause(seconds)
                    result = None
                case Ask(job):
                    result = None if self._on_approval is None else self._on_approval(job)

    def _send(self, call: calls.Call[Any]) -> Reply | Lost:
        headers = dict(call.headers)
        if call.content is not None:
            headers["Content-Type"] = "application/json"
        timeout = httpx.Timeout(ANSWER_SECONDS + call.wait_seconds, connect=CONNECT_SECONDS)
        try:
            response = self._http.request(
                call.method, call.path, params=call.query, headers=headers, content=call.content, timeout=timeout
            )
        except httpx.UnsupportedProtocol as error:
            raise ClientError(f"{self.url} is not an http or https address.", code="client.bad_url") from error
        except httpx.TransportError as error:
            reason = f"The Vardy API at {self.url} cannot be reached ({type(error).__name__}); is it running?"
            return Lost(reason, arrived=not isinstance(error, NEVER_ARRIVED))
        return Reply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)
