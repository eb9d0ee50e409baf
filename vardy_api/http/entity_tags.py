"""Entity tags: what a caller has already is not sent again.

A tag is the digest of the bytes that were sent, so it is strong, and right after an upgrade, too,
that shows the same job otherwise. A plan's tag is the digest that approvals bind to.
"""

from __future__ import annotations

from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request


def content_tag(content: bytes | memoryview) -> str:
    """The tag of these bytes."""
    return f'"{sha256(content).hexdigest()[:32]}"'


def has_already(if_none_match: str, etag: str) -> bool:
    """Whether `If-None-Match` names the tag; it compares weakly. `*` is whatever there is."""
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or etag in tags


def conditional(request: Request, response: Response) -> Response:
    """The answer to a read with its tag, or 304 where the caller has it already.

    Streams have no tag: nothing is known of them before they were sent.
    """
    is_read = request.method in {"GET", "HEAD"} and response.status_code == HTTPStatus.OK
    if not is_read or not isinstance(getattr(response, "body", None), bytes):
        return response
    etag = response.headers.setdefault("ETag", content_tag(response.body))
    if not has_already(",".join(request.headers.getlist("if-none-match")), etag):
        return response
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": etag})
