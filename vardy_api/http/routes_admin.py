"""Administration: keys and queues."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import body
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import KeyCreate, KeyList, KeyView, NewKeyView, QueuesView, key_view
from vardy_worker.contracts.user import Scope

router = APIRouter(prefix="/v1", tags=["administration"], route_class=JsonRoute)


@router.get("/keys", response_model=KeyList, summary="List API keys", responses=problem_responses())
def list_keys(use: UseCases, caller: Authenticated) -> Response:
    """All keys, the revoked ones too, without their secrets."""
    return body(KeyList(items=tuple(key_view(key) for key in use.keys.list(caller))))


@router.post(
    "/keys",
    status_code=201,
    response_model=NewKeyView,
    summary="Make an API key",
    responses=problem_responses("request.malformed"),
)
def create_key(
    use: UseCases, caller: Authenticated, request: Annotated[KeyCreate, Body(openapi_examples=examples.KEY)]
) -> Response:
    """The secret is in this answer and nowhere else: Vardy keeps only its hash."""
    caller.need(Scope.ADMIN)
    key, token = use.keys.create(request, caller)
    return body(NewKeyView(**key_view(key).model_dump(), key=token), status=201, headers={"Cache-Control": "no-store"})


@router.delete(
    "/keys/{key_id}",
    response_model=KeyView,
    summary="Revoke an API key",
    responses=problem_responses("key.not_found"),
)
def revoke_key(use: UseCases, caller: Authenticated, key_id: str) -> Response:
    """Ends the key at once, on every API process. Its jobs still belong to its owner."""
    return body(key_view(use.keys.revoke(caller, key_id)))


@router.get("/queues", response_model=QueuesView, summary="Read queues and workers", responses=problem_responses())
def read_queues(use: UseCases, caller: Authenticated) -> Response:
    """Messages waiting in each queue, and the workers that are alive."""
    return body(use.service.queues(caller))
