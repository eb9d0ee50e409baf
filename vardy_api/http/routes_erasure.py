"""Erasure."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from vardy_api.http.answers import job_answer
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.problems import problem_responses
from vardy_worker.contracts.view import JobView

router = APIRouter(prefix="/v1", tags=["erasure"], route_class=JsonRoute)


@router.delete(
    "/jobs/{job_id}",
    response_model=JobView,
    summary="Erase what a job holds",
    responses=problem_responses("job.not_found", "job.conflict"),
)
def erase_job(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    *,
    dry_run: Annotated[bool, Query(description="Only say whether it would be refused.")] = False,
) -> Response:
    """Removes every text and value of a job that is over; the answer is what stays of it.

    Gone are request, params, person, program, console, output, arguments, results, metadata,
    error texts and reasons. Status, codes, counts, times, digests and decisions stay. Erasing
    twice is the same.
    """
    return job_answer(use.erasure.erase(caller, job_id, dry_run=dry_run))


@router.delete(
    "/users/{user_id:path}/totals",
    status_code=204,
    response_class=Response,
    summary="Erase a person's totals",
    responses=problem_responses(),
)
def erase_totals(
    use: UseCases, caller: Authenticated, user_id: Annotated[str, Path(max_length=200, description="Id of the person.")]
) -> Response:
    """Erases what a person's plans of the last hours added up to, which rules see as `user_window`, and what was spent.

    Limits over time begin anew for the person. Erasing twice is the same.
    """
    use.erasure.erase_totals(caller, user_id)
    return Response(status_code=204)
