"""Every error as one shape: RFC 9457 `application/problem+json`."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from vardy_api.http.methods import allowed_methods
from vardy_api.shapes import Problem
from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.errors import (
    PROBLEMS,
    RecordTooNew,
    RequestError,
    RulesError,
    TransientError,
    VardyError,
)
from vardy_worker.contracts.ids import new_id
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.routing import BaseRoute

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = "2"
PROBLEMS_SHOWN_MAX = 50

CEILING_REACHED = frozenset({"rate.limited", "quota.exceeded"})

log = get_logger(__name__)


def problem(
    code: str, detail: str, details: Mapping[str, Any] | None = None, *, instance: str | None = None
) -> Problem:
    """The problem document of a code; `detail` becomes a whole sentence."""
    status, title = PROBLEMS[code]
    return Problem(
        type=f"/problems/{code}",
        title=title,
        status=status,
        detail=detail if detail.endswith((".", "!", "?")) else f"{detail}.",
        code=code,
        details=dict(details or {}),
        instance=instance,
    )


_HEADERS: Mapping[str, Mapping[str, str]] = {
    "auth.missing": {"WWW-Authenticate": 'Bearer realm="vardy"'},
    "auth.invalid": {"WWW-Authenticate": 'Bearer realm="vardy", error="invalid_token"'},
    "service.unavailable": {"Retry-After": RETRY_AFTER_SECONDS},
    "service.busy": {"Retry-After": RETRY_AFTER_SECONDS},
    "idempotency.in_flight": {"Retry-After": "1"},
    # What is left of the body is not read, so the connection cannot be used again.
    "request.too_large": {"Connection": "close"},
    "request.timeout": {"Connection": "close"},
}


def problem_response(document: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that carries a problem document."""
    after = document.details.get("retry_after_seconds")
    return Response(
        document.model_dump_json(exclude_none=True),
        status_code=document.status,
        media_type=MEDIA_TYPE,
        headers={
            **_HEADERS.get(document.code, {}),
            **({} if after is None else {"Retry-After": str(after)}),
            **(headers or {}),
        },
    )


def problem_of(error: VardyError) -> Problem:
    """The problem document of an error of the use cases."""
    if isinstance(error, RequestError | RulesError) and error.code in PROBLEMS:
        return problem(error.code, error.message, _plain(error.details))
    if isinstance(error, TransientError):
        # What is wrong with the store is for operators alone.
        log.warning("request.unavailable", reason=error.message)
        return problem("service.unavailable", "The store cannot serve this now; try again shortly.")
    if isinstance(error, RecordTooNew):
        return problem("service.unavailable", error.message)
    return unexpected(error)


def unexpected(error: BaseException) -> Problem:
    """The problem document of a failure that nobody foresaw; the log has the rest under its id."""
    correlation_id = new_id("err")
    log.error("request.failed", correlation_id=correlation_id, error=type(error).__name__, exc_info=error)
    detail = f"Vardy failed; the operator finds the reason in the log under {correlation_id}."
    return problem("internal", detail, {"correlation_id": correlation_id}, instance=f"urn:vardy:{correlation_id}")


def _plain(details: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(details, default=str))
    return plain


def validation_problem(error: RequestValidationError) -> Problem:
    """What does not fit, as pointers and sentences, never with the values."""
    problems = []
    for item in error.errors()[:PROBLEMS_SHOWN_MAX]:
        place, *parts = item["loc"]
        at = make_pointer(parts) if place == "body" else f"{place}:{'.'.join(map(str, parts))}"
        problems.append({"at": at, "message": str(item["msg"]).removeprefix("Value error, ")})
    first = problems[0]
    where = first["at"] or "the body"
    return problem("request.invalid", f"{where}: {first['message']}", {"problems": problems})


def routing_problem(error: HTTPException, request: Request) -> Problem:
    """What the framework itself refuses: no such address, another method."""
    path = request.url.path[:200]
    match error.status_code:
        case 404:
            slashes = "; addresses have no slash at the end" if path.endswith("/") else ""
            return problem("request.not_found", f"There is nothing at {path}{slashes}.")
        case 405:
            return problem("request.method", f"{path} does not take {request.method}.")
        case _:
            return unexpected(error)


def install_problem_handlers(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Turns every exception that is expected into its problem document; `routes` are those that exist."""

    async def on_vardy_error(request: Request, error: Exception) -> Response:
        if isinstance(error, VardyError) and error.code in CEILING_REACHED:
            request.app.state.metrics.ceiling_reached(error.details["of"], error.details["limit"])
        return problem_response(problem_of(error) if isinstance(error, VardyError) else unexpected(error))

    async def on_validation(_: Request, error: Exception) -> Response:
        document = validation_problem(error) if isinstance(error, RequestValidationError) else unexpected(error)
        return problem_response(document)

    async def on_http(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            return problem_response(unexpected(error))
        if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            return problem_response(routing_problem(error, request), error.headers)
        allow = {"Allow": allowed_methods(routes, request.scope)}
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=allow)
        return problem_response(routing_problem(error, request), allow)

    app.add_exception_handler(VardyError, on_vardy_error)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)


def problem_responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route for OpenAPI: those named, and those that every route can give."""
    everywhere = (
        "auth.missing",
        "auth.invalid",
        "auth.scope",
        "request.invalid",
        "rate.limited",
        "service.unavailable",
        "internal",
    )
    by_status: dict[int | str, dict[str, Any]] = {}
    for code in dict.fromkeys((*codes, *everywhere)):
        status, title = PROBLEMS[code]
        entry = by_status.setdefault(
            status,
            {
                "description": title,
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {}}},
            },
        )
        if entry["description"] != title:
            entry["description"] += f"; {title[0].lower()}{title[1:]}"
        example = problem(code, title).model_dump(mode="json", exclude_none=True)
        entry["content"][MEDIA_TYPE]["examples"][code] = {"summary": title, "value": example}
    return dict(sorted(by_status.items(), key=lambda item: str(item[0])))
