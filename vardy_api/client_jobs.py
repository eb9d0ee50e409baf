"""The client's methods that submit jobs and read them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from vardy_api import client_calls as calls
from vardy_api.client_arguments import as_names, as_user, checked, job_filters, job_id_of, named
from vardy_api.client_waiting import WaitingFlows, whole
from vardy_api.shapes import ExploreRequest, RunRequest
from vardy_worker.contracts.job import JobKind, Mode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from vardy_api.client_arguments import Person, Statuses
    from vardy_api.client_flows import Flow, Stream
    from vardy_api.shapes import AttemptsView, ConsoleView, JournalView, SummaryPage, SummaryView
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.view import JobView


class JobFlows(WaitingFlows):
    """Submitting jobs, waiting for them, and reading what became of them."""

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
    ) -> Flow[JobView]:
        """Submits a job and waits until it settles; `wait=False` returns at once.

        Give exactly one of `request` (plain words) and `recipe` (a saved program's name). A
        submission is safe to repeat: one that is lost is sent again under the same
        `idempotency_key`, which is made up unless it is given.
        """
        with checked():
            body = RunRequest(
                request=request,
                recipe=recipe,
                params=params or {},
                user=as_user(user),
                mode=named(Mode, mode, "mode"),
                functions=as_names(functions),
                execution_repairs=execution_repairs,
                judge=judge,
                metadata=metadata or {},
                limits=limits or {},
            )
        return (yield from self._submit(body, idempotency_key, wait=wait, timeout_seconds=timeout_seconds))

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
    ) -> Flow[JobView]:
        """Asks a question that reads may answer, and waits for the answer; `wait=False` returns at once.

        The job's `answer` is there when its status is `SUCCESS`; its `rounds` say what was
        looked at, while it runs too. `rounds_max` lowers how many programs there may be.
        """
        with checked():
            body = ExploreRequest(
                question=question,
                params=params or {},
                user=as_user(user),
                functions=as_names(functions),
                judge=judge,
                rounds_max=rounds_max,
                metadata=metadata or {},
                limits=limits or {},
            )
        return (yield from self._submit(body, idempotency_key, wait=wait, timeout_seconds=timeout_seconds))

    def _submit(
        self,
        body: RunRequest | ExploreRequest,
        idempotency_key: str | None,
        *,
        wait: bool,
        timeout_seconds: float | None,
    ) -> Flow[JobView]:
        key = secrets.token_urlsafe(24) if idempotency_key is None else idempotency_key
        plain = calls.submit(body, idempotency_key=key)
        end = self._end(timeout_seconds)
        if not wait:
            return (yield from self._perform(plain))
        job, _ = yield from self._held(calls.preferring_wait(plain, whole(end - self._now())), plain)
        return (yield from self._settled(job, end, timeout_seconds))

    def get(self, job: JobView | str) -> Flow[JobView]:
        """The job as it is now."""
        return (yield from self._perform(calls.read_job(job_id_of(job))))

    def wait(self, job: JobView | str, *, timeout_seconds: float | None = None) -> Flow[JobView]:
        """The job when it has settled. Asks `on_approval` as `run` does.

        Raises `WaitTimeout` when it has not settled in `timeout_seconds`; without them it waits for ever.
        """
        return (yield from self._settled(job, self._end(timeout_seconds), timeout_seconds))

    def list_jobs(
        self,
        *,
        status: Statuses = None,
        kind: JobKind | str | None = None,
        user: str | None = None,
        recipe: str | None = None,
        created_after: datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Flow[SummaryPage]:
        """One page of summaries, newest first."""
        filters = job_filters(status, kind, user, recipe, created_after)
        return (yield from self._perform(calls.list_jobs(filters, cursor=cursor, limit=limit)))

    def iterate_jobs(
        self,
        *,
        status: Statuses = None,
        kind: JobKind | str | None = None,
        user: str | None = None,
        recipe: str | None = None,
        created_after: datetime | None = None,
    ) -> Stream[SummaryView]:
        """All summaries that match, newest first, page by page."""
        filters = job_filters(status, kind, user, recipe, created_after)
        yield from self._every_page(lambda cursor: calls.list_jobs(filters, cursor=cursor))

    def plan(self, job: JobView | str) -> Flow[Plan]:
        """The plan's exact bytes, checked against its digest."""
        return (yield from self._perform(calls.read_plan(job_id_of(job))))

    def console(self, job: JobView | str) -> Flow[ConsoleView]:
        """What the job's program printed."""
        return (yield from self._perform(calls.read_console(job_id_of(job))))

    def journal(self, job: JobView | str) -> Flow[JournalView]:
        """The journal of the job's commit: every start and end of every effect, oldest first."""
        return (yield from self._perform(calls.read_journal(job_id_of(job))))

    def attempts(self, job: JobView | str) -> Flow[AttemptsView]:
        """The model's answers that did not become the job's program. Needs a key with `operate`."""
        return (yield from self._perform(calls.read_attempts(job_id_of(job))))

    def erase(self, job: JobView | str, *, dry_run: bool = False) -> Flow[JobView]:
        """Removes what a job that is over holds, for good; the answer is what stays. Needs a key with `operate`."""
        return (yield from self._perform(calls.erase(job_id_of(job), dry_run=dry_run)))

    def erase_totals(self, user: str) -> Flow[None]:
        """Erases what a person's plans added up to, so that limits over time begin anew. Needs `operate`."""
        yield from self._perform(calls.erase_totals(user))
