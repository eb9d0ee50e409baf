"""Submitting a job: a run, or an explore."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body, Header, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import accepted, read_answer, wait_preferred, where_to_look
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.leaving import while_connected
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import ExploreRequest, RunRequest, explore_submission, submission_of
from vardy_worker.contracts.errors import RecordTooNew, TransientError
from vardy_worker.contracts.status import is_settled
from vardy_worker.contracts.view import JobView

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.facade import Operations
    from vardy_api.operations.submit import Accepted

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JsonRoute)

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Makes it safe to send the request again for 24 hours: the same job comes back.",
    ),
]
Prefer = Annotated[str | None, Header(description="`wait=N`: wait up to N (at most 60) seconds for the job to settle.")]


_PROBLEMS = (
    "request.malformed",
    "request.too_large",
    "auth.person",
    "idempotency.mismatch",
    "idempotency.in_flight",
    "quota.exceeded",
)
_SETTLED: dict[int | str, dict[str, Any]] = {
    200: {"model": JobView, "description": "With `Prefer: wait=N`: the job settled in time."}
}


@router.post(
    "/run",
    status_code=202,
    response_model=JobView,
    summary="Submit a job",
    response_description="The job is stored and goes on; `Location` says where to look.",
    responses={**_SETTLED, **problem_responses(*_PROBLEMS, "recipe.not_found")},
)
async def run(
    connection: Request,
    use: UseCases,
    caller: Authenticated,
    request: Annotated[RunRequest, Body(openapi_examples=examples.RUN)],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response:
    """Stores a `run` job and answers 202 at once.

    Exactly one of `request` (plain words) and `recipe` (a saved program's name). What can
    only be known later, such as params that do not fit a recipe, settles the job.
    """
    submission = submission_of(request, caller.person(request.user))
    submit = partial(use.submit.run, caller, submission, idempotency_key=idempotency_key)
    return await _answer(connection, use, caller, await run_in_threadpool(submit), prefer)


@router.post(
    "/explore",
    status_code=202,
    response_model=JobView,
    summary="Submit a question",
    response_description="The job is stored and goes on; `Location` says where to look.",
    responses={**_SETTLED, **problem_responses(*_PROBLEMS)},
)
async def explore(
    connection: Request,
    use: UseCases,
    caller: Authenticated,
    request: Annotated[ExploreRequest, Body(openapi_examples=examples.EXPLORE)],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response:
    """Stores an `explore` job and answers 202 at once.

    The model looks in rounds, by programs that only read, and answers the question. The
    job's `rounds` grow while it runs; its `answer` is there when it settled as `SUCCESS`.
    """
    submission = explore_submission(request, caller.person(request.user))
    submit = partial(use.submit.explore, caller, submission, idempotency_key=idempotency_key)
    return await _answer(connection, use, caller, await run_in_threadpool(submit), prefer)


async def _answer(
    connection: Request, use: Operations, caller: Caller, result: Accepted, prefer: str | None
) -> Response:
    """202 with the job, or 200 when it settled while the caller preferred to wait."""
    headers = {"Idempotent-Replayed": "true"} if result.replayed else {}
    seconds = wait_preferred(prefer)
    if not seconds:
        return accepted(result.job, headers)
    waiting = use.held.wait(caller, result.job.id, seconds, is_new=not result.replayed)
    try:
        read = await while_connected(connection.receive, waiting)
    except (TransientError, RecordTooNew):
        # The job is stored, whatever keeps it from being read now: who heard otherwise would submit it again.
        return accepted(result.job, headers)
    headers["Preference-Applied"] = f"wait={seconds:g}"
    if is_settled(read.job.status):
        return read_answer(read, headers=headers)
    return read_answer(read, status=202, headers={**where_to_look(read.job), **headers})
