"""What people do to jobs: decide, commit, cancel, requeue, resolve, discard."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Header, Path, Query
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import digest_in, job_answer
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import DecisionRequest, PersonRequest, ReasonRequest, ResolveRequest
from vardy_worker.contracts.view import JobView

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["verbs"], route_class=JsonRoute)

IfMatch = Annotated[
    str | None, Header(description='The digest of the plan that was looked at, in quotes: `"<digest>"`. Needed.')
]
Nobody = Annotated[PersonRequest, Body(openapi_examples=examples.PERSON)]
_ON_A_PLAN = ("job.not_found", "job.conflict", "plan.none", "digest.missing", "digest.mismatch", "approval.expired")
_WITH_BODY = ("request.malformed", "auth.person")


@router.post(
    "/decisions",
    response_model=JobView,
    summary="Approve or deny a plan",
    responses=problem_responses(*_WITH_BODY, *_ON_A_PLAN, "approval.requester", "approval.role", "approval.reason"),
)
def decide(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    request: Annotated[DecisionRequest, Body(openapi_examples=examples.DECISION)],
    if_match: IfMatch = None,
) -> Response:
    """One person's word on exactly the plan whose digest is in `If-Match`.

    While the quorum is incomplete the answer is the job; the same person's newest decision
    counts. The last approval that is needed starts the commit; a denial ends the job.
    """
    job = use.decisions.decide(
        caller,
        job_id,
        digest=digest_in(if_match),
        decision=request.decision,
        user=request.user,
        reason=request.reason,
    )
    return job_answer(job)


@router.post(
    "/commit",
    response_model=JobView,
    summary="Commit a planned job",
    responses=problem_responses(*_WITH_BODY, *_ON_A_PLAN, "commit.blocked"),
)
def commit(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    request: Nobody = PersonRequest(),  # noqa: B008 - immutable; the body may be left out
    if_match: IfMatch = None,
) -> Response:
    """Executes the plan of a `PLANNED` job, under the rules that are active now.

    They may allow it, ask for an approval first (`PENDING_APPROVAL`), or block it.
    """
    return job_answer(use.decisions.commit_planned(caller, job_id, digest=digest_in(if_match), user=request.user))


@router.post(
    "/cancel",
    response_model=JobView,
    summary="Cancel a job",
    responses=problem_responses(*_WITH_BODY, "job.not_found", "job.conflict"),
)
def cancel(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    request: Nobody = PersonRequest(),  # noqa: B008 - the same
) -> Response:
    """Ends a job that has not begun to commit; one that commits stops before its next effect."""
    return job_answer(use.commits.cancel(caller, job_id, user=request.user))


@router.post(
    "/requeue",
    response_model=JobView,
    summary="Go on with a commit",
    responses=problem_responses(*_WITH_BODY, "job.not_found", "job.conflict", "commit.unresolved", "approval.expired"),
)
def requeue(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    request: Nobody = PersonRequest(),  # noqa: B008 - the same
    *,
    dry_run: Annotated[bool, Query(description="Only say whether it would be refused.")] = False,
) -> Response:
    """Starts the commit of a `PARTIAL` job again, at the first effect that is not done.

    Effects that are done are never called again. An effect of unknown outcome that is not
    safe to repeat must be resolved first.
    """
    return job_answer(use.commits.requeue(caller, job_id, user=request.user, dry_run=dry_run))


@router.post(
    "/discard",
    response_model=JobView,
    summary="Give up the rest of a commit",
    responses=problem_responses(*_WITH_BODY, "job.not_found", "job.conflict", "approval.reason"),
)
def discard(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    request: Annotated[ReasonRequest, Body(openapi_examples=examples.REASON)],
) -> Response:
    """Ends a `PARTIAL` job for good: what was not tried becomes `SKIPPED`."""
    return job_answer(use.commits.discard(caller, job_id, reason=request.reason, user=request.user))


@router.post(
    "/effects/{seq}/resolve",
    response_model=JobView,
    summary="Say what became of an effect",
    responses=problem_responses(
        *_WITH_BODY,
        "job.not_found",
        "job.conflict",
        "effect.not_found",
        "effect.not_unknown",
        "effect.result",
        "approval.reason",
    ),
)
def resolve(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    seq: Annotated[int, Path(ge=0, le=1_000_000, description="The effect's position in the plan, from 0.")],
    request: Annotated[ResolveRequest, Body(openapi_examples=examples.RESOLVE)],
) -> Response:
    """Settles one effect of unknown outcome, by the word of an operator who looked at the target.

    The status stays; `requeue` goes on from there.
    """
    job = use.commits.resolve(
        caller,
        job_id,
        seq,
        done=request.done,
        result=request.result,
        reason=request.reason,
        user=request.user,
    )
    return job_answer(job)
