"""The methods that an address takes, and those that every address has: HEAD beside GET, and OPTIONS."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.routing import Match, Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def allowed_methods(routes: Sequence[BaseRoute], scope: Scope) -> str:
    """The value of `Allow` for the address: the methods of all routes that it matches."""
    found = {"OPTIONS"}
    for route in routes:
        if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE:
            found |= route.methods or set()
    if "GET" in found:
        found.add("HEAD")
    return ", ".join(sorted(found))


class HeadIsGet:
    """Answers HEAD as GET would be answered, without the body.

    The work behind a stream ends once its headers are known: nobody takes the rest.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = asyncio.Event()

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                answered.set()

        inner = {**scope, "method": "GET"}
        serving = asyncio.ensure_future(self._app(inner, receive, send_head))
        waiting = asyncio.create_task(answered.wait())
        try:
            await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
        finally:
            for task in (serving, waiting):
                task.cancel()
            await asyncio.gather(serving, waiting, return_exceptions=True)
        if "route" in inner:
            scope["route"] = inner["route"]
