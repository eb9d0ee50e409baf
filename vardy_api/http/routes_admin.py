"""Administration: keys and queues."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import body
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.paging import LIMIT_DEFAULT, Cursor, PageLimit
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import (
    KeyChange,
    KeyCreate,
    KeyList,
    KeyRotate,
    KeyView,
    NewKeyView,
    QueuesView,
    UsageView,
    key_view,
)
from vardy_worker.contracts.user import AskedId, Scope

router = APIRouter(prefix="/v1", tags=["administration"], route_class=JsonRoute)


@router.get("/keys", response_model=KeyList, summary="List API keys", responses=problem_responses("cursor.invalid"))
def list_keys(
    use: UseCases, caller: Authenticated, *, cursor: Cursor = None, limit: PageLimit = LIMIT_DEFAULT
) -> Response:
    """A page of the keys, by id, the revoked ones too, without their secrets."""
    page = use.keys.list(caller, cursor=cursor, limit=limit)
    used = use.authentication.last_used([key.id for key in page.items])
    return body(KeyList(items=tuple(key_view(key, used.get(key.id)) for key in page.items), next=page.next))


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
    return _with_secret(key_view(key), token, status=201)


@router.get(
    "/keys/{key_id}",
    response_model=KeyView,
    summary="Read an API key",
    responses=problem_responses("key.not_found"),
)
def read_key(use: UseCases, caller: Authenticated, key_id: str) -> Response:
    """One key without its secrets, whether or not it has ended."""
    key = use.keys.read(caller, key_id)
    return body(key_view(key, _last_used(use, key.id)))


@router.patch(
    "/keys/{key_id}",
    response_model=KeyView,
    summary="Change an API key's ceilings",
    responses=problem_responses("request.malformed", "key.not_found", "key.conflict"),
)
def change_key(
    use: UseCases,
    caller: Authenticated,
    key_id: str,
    request: Annotated[KeyChange, Body(openapi_examples=examples.KEY_CHANGE)],
) -> Response:
    """Ceilings that are left out stay; `null` takes the key's own away, so that the deployment's holds; 0 is none.

    They hold from the key's next request on. The secret stays.
    """
    used = _last_used(use, key_id)
    return body(key_view(use.keys.change(caller, key_id, request), used))


@router.post(
    "/keys/{key_id}/rotate",
    response_model=NewKeyView,
    summary="Rotate an API key",
    responses=problem_responses("request.malformed", "key.not_found", "key.conflict"),
)
def rotate_key(
    use: UseCases,
    caller: Authenticated,
    key_id: str,
    request: Annotated[KeyRotate, Body(openapi_examples=examples.KEY_ROTATION)],
) -> Response:
    """A new secret for the key, in this answer and nowhere else; everything else of the key stays.

    The secret before it works for `keep_seconds` more, any older one ends at once.
    """
    used = _last_used(use, key_id)
    key, token = use.keys.rotate(caller, key_id, keep_seconds=request.keep_seconds)
    return _with_secret(key_view(key, used), token, status=200)


@router.delete(
    "/keys/{key_id}",
    response_model=KeyView,
    summary="Revoke an API key",
    responses=problem_responses("key.not_found"),
)
def revoke_key(use: UseCases, caller: Authenticated, key_id: str) -> Response:
    """Ends the key with all its secrets at once, on every API process. Its jobs still belong to its owner."""
    used = _last_used(use, key_id)
    return body(key_view(use.keys.revoke(caller, key_id), used))


def _last_used(use: UseCases, key_id: str) -> int | None:
    """The hour (ms) in which a key was used last.

    Read before a change: a store that fails after it would cost the answer, and with that a new secret.
    """
    return use.authentication.last_used([key_id]).get(key_id)


def _with_secret(view: KeyView, token: str, *, status: int) -> Response:
    shown = NewKeyView(**view.model_dump(), key=token)
    return body(shown, status=status, headers={"Cache-Control": "no-store"})


@router.get(
    "/usage",
    response_model=UsageView,
    summary="Read what a key and a person use",
    responses=problem_responses("auth.person", "key.not_found"),
)
def read_usage(
    use: UseCases,
    caller: Authenticated,
    *,
    user: Annotated[
        AskedId | None, Query(min_length=1, max_length=200, description="Id of a person; by default the key's.")
    ] = None,
    key: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Id of another key; needs `admin`.")
    ] = None,
) -> Response:
    """Ceilings of the key that asks and of its person, and what is used of them today and now.

    A key that is bound to a person sees other people with `operate` or `admin` alone.
    """
    return body(use.quotas.usage(caller, user=user, key_id=key))


@router.get("/queues", response_model=QueuesView, summary="Read queues and workers", responses=problem_responses())
def read_queues(use: UseCases, caller: Authenticated) -> Response:
    """Messages waiting in each queue, and the workers that are alive."""
    return body(use.service.queues(caller))
