"""Reading jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from vardy_api.http.answers import body, read_answer
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.leaving import while_connected
from vardy_api.http.paging import LIMIT_DEFAULT, Cursor, PageLimit
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import (
    WAIT_SECONDS_MAX,
    AskedTime,
    AttemptsView,
    ConsoleView,
    JournalView,
    SummaryPage,
    summary_view,
)
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.job import JobFilter, JobKind
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import JobView, journal_entry_view, milliseconds

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)


@router.get(
    "",
    response_model=SummaryPage,
    summary="List jobs",
    responses=problem_responses("cursor.invalid"),
)
def list_jobs(
    use: UseCases,
    caller: Authenticated,
    *,
    status: Annotated[
        list[str] | None, Query(description="One or more statuses, repeated or separated by commas.")
    ] = None,
    kind: Annotated[JobKind | None, Query(description="Runs or explores alone.")] = None,
    user: Annotated[str | None, Query(max_length=200, description="Id of the person a job is for.")] = None,
    recipe: Annotated[str | None, Query(max_length=63, description="Name of the recipe that a job ran.")] = None,
    created_after: Annotated[AskedTime | None, Query(description="ISO 8601; without an offset it is UTC.")] = None,
    cursor: Cursor = None,
    limit: PageLimit = LIMIT_DEFAULT,
) -> Response:
    """A page of summaries, newest first, without payloads.

    A key without one of the scopes `read`, `decide` and `operate` sees its owner's jobs.
    """
    where = JobFilter(
        status=_statuses(status or []),
        kind=kind,
        user=user,
        recipe=recipe,
        created_after_ms=None if created_after is None else milliseconds(created_after),
    )
    page = use.jobs.list(caller, where, cursor=cursor, limit=limit)
    return body(SummaryPage(items=tuple(summary_view(item) for item in page.items), next=page.next))


def _statuses(given: list[str]) -> tuple[Status, ...]:
    names = [name.strip().upper() for part in given for name in part.split(",") if name.strip()]
    unknown = [name for name in names if name not in Status.__members__]
    if unknown:
        message = f"There is no status {unknown[0][:40]}; there are: {', '.join(Status)}."
        raise RequestError(message, details={"problems": [{"at": "query:status", "message": message}]})
    return tuple(dict.fromkeys(Status(name) for name in names))


@router.get(
    "/{job_id}",
    response_model=JobView,
    summary="Read a job",
    responses=problem_responses("job.not_found"),
)
async def read_job(
    request: Request,
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    wait: Annotated[float, Query(ge=0, le=WAIT_SECONDS_MAX, description="Seconds to wait for the job to settle.")] = 0,
) -> Response:
    """The job; with `wait`, as soon as it has settled, or as it is when the time is over.

    A job counts as settled when it leaves `QUEUED`, `RUNNING` and `COMMITTING`.
    """
    return read_answer(await while_connected(request.receive, use.held.wait(caller, job_id, wait)))


@router.get(
    "/{job_id}/plan",
    response_class=Response,
    summary="Read a plan's exact bytes",
    responses={
        200: {
            "description": "The canonical (RFC 8785) bytes that were hashed; `ETag` is their SHA-256, the digest.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/PlanBody"}}},
        },
        **problem_responses("job.not_found", "plan.none", "plan.erased"),
    },
)
def read_plan(use: UseCases, caller: Authenticated, job_id: str) -> Response:
    """What an approval binds to, and what a commit executes: these bytes."""
    plan = use.jobs.plan(caller, job_id)
    return Response(plan.text.encode(), media_type="application/json", headers={"ETag": f'"{plan.digest}"'})


@router.get(
    "/{job_id}/console",
    response_model=ConsoleView,
    summary="Read what the program printed",
    responses=problem_responses("job.not_found"),
)
def read_console(use: UseCases, caller: Authenticated, job_id: str) -> Response:
    """Captured console lines, for the job's owner and for operators. Never sent to a model."""
    console = use.jobs.console(caller, job_id)
    return body(ConsoleView(lines=console.lines, truncated=console.truncated))


@router.get(
    "/{job_id}/journal",
    response_model=JournalView,
    summary="Read the journal of a commit",
    responses=problem_responses("job.not_found"),
)
def read_journal(use: UseCases, caller: Authenticated, job_id: str) -> Response:
    """Every start and end of every effect, oldest first, with worker, fence and code; no arguments, no results."""
    return body(JournalView(items=tuple(map(journal_entry_view, use.jobs.journal(caller, job_id)))))


@router.get(
    "/{job_id}/attempts",
    response_model=AttemptsView,
    summary="Read the answers that were refused",
    responses=problem_responses("job.not_found"),
)
def read_attempts(use: UseCases, caller: Authenticated, job_id: str) -> Response:
    """What the model answered that did not become the program, and why; for operators."""
    job = use.jobs.attempts(caller, job_id)
    return body(AttemptsView(prompt=job.program.prompt if job.program else "", items=job.attempts))
