"""What is done for a client ends when the client leaves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.requests import Request
    from starlette.types import Receive

T = TypeVar("T")

CLIENT_LEFT: Final = 499
"""No status of HTTP's, but of logs and metrics: nginx began to count clients that left under it."""


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What the work returns. Raises `ClientDisconnect`, with the work cancelled, when the client leaves.

    For a request whose body was read, as `receive` then only tells of the end.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def nobody_left(request: Request, error: Exception) -> Response:
    """What is counted as the answer to a client that left before there was one; nothing is sent any more."""
    del request, error
    return Response(status_code=CLIENT_LEFT)
