"""Health, metrics, and pages for people: problem types and the reference."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from vardy_api.http.answers import body
from vardy_api.http.auth import UseCases, require_operator
from vardy_api.http.pages import page, with_code
from vardy_api.http.problem_help import HELP
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import HealthView, ProblemType
from vardy_worker.contracts.errors import PROBLEMS, RequestError

router = APIRouter(tags=["service"])

_STORE_DOWN: dict[int | str, dict[str, Any]] = {503: problem_responses()[503]}


@router.get("/livez", response_model=HealthView, summary="Whether the process runs")
async def check_liveness() -> Response:
    """Asks nothing else: a process that answers is alive."""
    return body(HealthView(ok=True))


@router.get("/readyz", response_model=HealthView, summary="Whether the API can work", responses=_STORE_DOWN)
async def check_readiness(use: UseCases) -> Response:
    """Answers 503 while the store cannot be reached."""
    await run_in_threadpool(use.service.ping)
    return body(HealthView(ok=True))


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **{status: problem_responses()[status] for status in (401, 403, 429, 503)},
    },
)
async def read_metrics(request: Request, use: UseCases) -> Response:
    """Requests by route, jobs by status, messages by queue. No ids, no people.

    Where the deployment asks for it, with a key that has `operate` or `admin`.
    """
    if request.app.state.metrics_key_needed:
        await require_operator(request, use)
    content = await run_in_threadpool(generate_latest, request.app.state.metrics.registry)
    return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get(
    "/problems/{code}",
    response_model=ProblemType,
    summary="What a problem type means",
    responses={404: problem_responses("request.not_found")[404]},
)
async def read_problem_type(
    code: str,
    accept: Annotated[str, Header(description="With `text/html` in it the answer is a page for people.")] = "",
) -> Response:
    """The page behind the `type` of a problem document, for people or as JSON."""
    if code not in PROBLEMS:
        raise RequestError(f"There is no problem type {code[:60]!r}.", code="request.not_found")
    status, title = PROBLEMS[code]
    varies = {"Vary": "Accept"}
    if "text/html" not in accept.lower():
        return body(ProblemType(code=code, status=status, title=title, help=HELP[code]), headers=varies)
    content = (
        f"<h1><code>{escape(code)}</code></h1><p>{escape(title)}. It is answered with the HTTP status {status}.</p>"
        f"<h2>What helps</h2><p>{with_code(HELP[code])}</p>"
        '<p>All routes: <a href="/docs">the reference</a>.</p>'
    )
    shown = page(code, content)
    shown.headers.update(varies)
    return shown
