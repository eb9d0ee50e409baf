"""What is done for a client ends when the client leaves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

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
    working = cast("asyncio.Task[Any]", asyncio.current_task())
    cancelled_before = working.cancelling()
    is_over = has_left = False

    def stop(_: asyncio.Task[None]) -> None:
        nonlocal has_left
        if not is_over:
            has_left = True
            working.cancel()

    leaving = asyncio.create_task(_left(receive))
    leaving.add_done_callback(stop)
    try:
        return await work
    except asyncio.CancelledError:
        # Whoever else cancelled this task meanwhile must see it end.
        if has_left and working.uncancel() <= cancelled_before:
            raise ClientDisconnect from None
        raise
    finally:
        is_over = True
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def nobody_left(request: Request, error: Exception) -> Response:
    """What is counted as the answer to a client that left before there was one; nothing is sent any more."""
    del request, error
    return Response(status_code=CLIENT_LEFT)
