"""The audit trail: listed, exported, checked."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from vardy_api.http.answers import body
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.paging import LIMIT_DEFAULT, Cursor, PageLimit
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import AskedTime, TrailCheckPage
from vardy_worker.contracts.audit import Action, AuditFilter, AuditPage
from vardy_worker.contracts.audit_chain import parse_entry
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.view import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vardy_api.operations.caller import Caller
    from vardy_worker.ports import LogLine

router = APIRouter(prefix="/v1/audit", tags=["administration"], route_class=JsonRoute)

MEDIA_TYPE = "application/jsonl"
CHAINS_MAX = 1000
EXPORT_MAX = 10_000

ChainName = Annotated[str | None, Query(max_length=60, description="Only this chain: `settings`, or a job's id.")]


@router.get("", response_model=AuditPage, summary="List the audit trail", responses=problem_responses("cursor.invalid"))
def list_audit(
    use: UseCases,
    caller: Authenticated,
    *,
    job: Annotated[str | None, Query(max_length=60, description="Only the chain of this job.")] = None,
    chain: ChainName = None,
    by: Annotated[str | None, Query(max_length=200, description="Id of the person, or `vardy`.")] = None,
    action: Annotated[Action | None, Query(description="What was done.")] = None,
    after: Annotated[AskedTime | None, Query(description="ISO 8601; without an offset it is UTC.")] = None,
    before: Annotated[AskedTime | None, Query(description="The same.")] = None,
    cursor: Cursor = None,
    limit: PageLimit = LIMIT_DEFAULT,
) -> Response:
    """A page of entries, newest first. A page may be short; only `next` says whether it was the last."""
    if job is not None and chain not in {None, job}:
        message = "Give a job or a chain, not both."
        raise RequestError(message, details={"problems": [{"at": "query:job", "message": message}]})
    where = AuditFilter(
        chain=job or chain,
        by=by,
        action=action,
        after_ms=None if after is None else milliseconds(after),
        before_ms=None if before is None else milliseconds(before),
    )
    return body(use.audit.page(caller, where, cursor=cursor, limit=limit))


@router.get(
    "/verify",
    response_model=TrailCheckPage,
    summary="Check the audit trail",
    responses=problem_responses("cursor.invalid", "audit.not_found"),
)
def verify_audit(
    use: UseCases,
    caller: Authenticated,
    *,
    chain: ChainName = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=CHAINS_MAX, description="Chains checked for one answer.")] = 200,
) -> Response:
    """Whether each chain holds, or its first entry that does not: changed, missing, or in a wrong place.

    A broken chain is an answer (200), not a problem. A page may be empty and have a `next`:
    a long chain takes several.
    """
    return body(use.audit.check(caller, chain=chain, cursor=cursor, limit=limit))


@router.get(
    "/export",
    response_class=Response,
    summary="Export the audit trail",
    responses={
        200: {
            "description": "One entry a line, in order of recording, each with its `place`.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        },
        **problem_responses("cursor.invalid"),
    },
)
def export_audit(
    use: UseCases,
    caller: Authenticated,
    *,
    after: Annotated[str, Query(max_length=40, description="`place` of the last line received before.")] = "",
    limit: Annotated[int | None, Query(ge=1, le=EXPORT_MAX, description="Lines at the most; all without it.")] = None,
) -> Response:
    """Every entry as it is stored, so that it can be kept elsewhere and be checked without this service.

    What was cut off is gone on with after the `place` of the last whole line. An export whose key
    ends is cut off.
    """
    batches = use.audit.export(caller, after=after, limit=limit)
    return StreamingResponse(_lines(batches, partial(use.authentication.recheck, caller)), media_type=MEDIA_TYPE)


def _lines(batches: Iterator[Sequence[LogLine]], recheck: Callable[[], Caller]) -> Iterator[bytes]:
    for batch in batches:
        # Never ended as if that were all: who exports must see that lines are missing.
        recheck()
        yield b"".join(_line(logged) for logged in batch)


def _line(logged: LogLine) -> bytes:
    """An entry with its place; what is no entry any more is told as it is, for the check to find."""
    place = json.dumps(logged.place).encode()
    if parse_entry(logged.line) and b"\n" not in logged.line:
        return b'{"place":%b,%b\n' % (place, logged.line[1:])
    unreadable = json.dumps(logged.line.decode(errors="replace")).encode()
    return b'{"place":%b,"unreadable":%b}\n' % (place, unreadable)
