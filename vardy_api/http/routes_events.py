"""Following a job."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.event_response import MEDIA_TYPE, EventStreamResponse
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.problems import problem_responses

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)

_EVENT = {
    "type": "object",
    "description": "One event of the stream.",
    "properties": {
        "id": {"type": "string", "description": "Its place; a stream is resumed after it."},
        "event": {"type": "string", "description": "Its type."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/EventView"},
        },
    },
    "required": ["id", "event", "data"],
}
_EXAMPLE = {
    "id": "1",
    "event": "status",
    "data": '{"id":"1","type":"status","at":"2026-01-31T12:00:00Z","data":{"status":"QUEUED"}}',
}


@router.get(
    "/{job_id}/events",
    response_class=Response,
    summary="Follow a job",
    responses={
        200: {
            "description": "Server-sent events: each has its place as `id`, its type as `event`, and as `data` "
            "the JSON of an `EventView`. A comment line is a sign of life.",
            "content": {MEDIA_TYPE: {"schema": _EVENT, "example": _EXAMPLE}},
        },
        204: {"description": "Everything was told, and nothing more will be: do not connect again."},
        **problem_responses("job.not_found", "cursor.invalid"),
    },
)
async def follow_job(
    use: UseCases,
    caller: Authenticated,
    job_id: str,
    *,
    after: Annotated[str, Query(max_length=40, description="The `id` of the last event received before.")] = "",
    follow: Annotated[
        bool, Query(description="Go on when the job has settled, until nothing can become of it any more.")
    ] = False,
    last_event_id: Annotated[
        str | None, Header(max_length=40, description="The same as `after`, and before it; browsers send it.")
    ] = None,
) -> Response:
    """What happens to the job, from its submission on or after an event: all that there is, and then what comes.

    Nothing is told twice and nothing is left out, however often the connection breaks. The
    stream ends when the job has settled. It also ends when the API key does, when the service
    stops, and when the job is gone.
    """
    place = after if last_event_id is None else last_event_id
    stream = await use.held.open_stream(caller, job_id, after=place, follow=follow)
    return Response(status_code=204) if stream is None else EventStreamResponse(stream)
