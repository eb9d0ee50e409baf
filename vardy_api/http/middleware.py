"""What holds for every request: a bounded body, headers, measurements, no bare failure.

Plain ASGI, so that nothing is buffered on the way out and streams stay streams.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders

from vardy_api.http.problems import problem, problem_response, unexpected

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from vardy_api.http.metrics import HttpMetrics

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    # A job is personal data: only the caller may keep it, and must ask again before using it.
    "Cache-Control": "private, no-cache",
}


BODY_SECONDS_MAX: Final = 30.0
"""From the end of the headers to the end of the body."""
BODIES_BYTES_MAX: Final = 256 * 1024 * 1024
"""Of all bodies that are arriving, whoever sends them: nobody has been asked for a key yet."""


class SecurityHeaders:
    """Adds the headers; a route that sets one itself keeps its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class UnexpectedErrors:
    """Answers a failure that nobody foresaw with a problem document, and logs it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:
            if scope["type"] != "http" or started:
                raise
            await problem_response(unexpected(error))(scope, receive, send)


_BUSY: Final = problem("service.busy", "As many bodies as the service takes at once are arriving; try again shortly.")


class _TooMuchAtOnceError(Exception):
    """More bodies are arriving than the process takes."""


class BodyLimit:
    """Reads the whole body before anything else does, and refuses one above `bytes_max`, or later than `seconds_max`.

    The limit is small, so reading ahead costs little, and it holds for bodies that do not
    say their length. No thread waits for a body. Of all bodies that arrive at once, what is above
    `arriving_max` bytes is refused, too.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        bytes_max: int,
        seconds_max: float = BODY_SECONDS_MAX,
        arriving_max: int = BODIES_BYTES_MAX,
    ) -> None:
        self._app = app
        self._bytes_max = bytes_max
        self._seconds_max = seconds_max
        # One body always fits.
        self._arriving_max = max(arriving_max, 2 * bytes_max)
        self._arriving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http" or not _has_body(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        said = Headers(scope=scope).get("content-length", "")
        if said.isdigit() and int(said) > self._bytes_max:
            await self._refuse_size(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds_max):
                body = await self._read(receive)
        except TimeoutError:
            await self._refuse_pace(scope, receive, send)
            return
        except _TooMuchAtOnceError:
            await problem_response(_BUSY, {"Connection": "close"})(scope, receive, send)
            return
        if body is None:
            return
        if len(body) > self._bytes_max:
            await self._refuse_size(scope, receive, send)
            return
        await self._app(scope, _replaying(bytes(body), receive), send)

    async def _read(self, receive: Receive) -> bytearray | None:
        """The body, cut soon after it is too large; None when the client left. Raises `_TooMuchAtOnceError`."""
        body = bytearray()
        more = True
        try:
            while more and len(body) <= self._bytes_max:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                part = message.get("body", b"")
                body += part
                self._arriving += len(part)
                if self._arriving > self._arriving_max:
                    raise _TooMuchAtOnceError
                more = message.get("more_body", False)
        finally:
            self._arriving -= len(body)
        return body

    async def _refuse_size(self, scope: Scope, receive: Receive, send: Send) -> None:
        document = problem(
            "request.too_large",
            f"The body has more than {self._bytes_max} bytes.",
            {"limit": "request_bytes_max", "bytes_max": self._bytes_max},
        )
        await problem_response(document)(scope, receive, send)

    async def _refuse_pace(self, scope: Scope, receive: Receive, send: Send) -> None:
        document = problem(
            "request.timeout",
            f"The body was not complete after {self._seconds_max:g} seconds.",
            {"limit": "body_seconds_max", "seconds_max": self._seconds_max},
        )
        await problem_response(document)(scope, receive, send)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read, then what comes."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


class Measure:
    """Counts and times requests by route, method and status."""

    def __init__(self, app: ASGIApp, *, metrics: HttpMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            self._metrics.observe(method=scope["method"], route=route, status=status, seconds=perf_counter() - began)
