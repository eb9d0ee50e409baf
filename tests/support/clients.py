"""Both clients for one test, and services that answer by a script."""

from __future__ import annotations

import asyncio
import inspect
import threading
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Self, cast

import httpx

from vardy_api.client import Vardy
from vardy_api.client_asyncio import AsyncVardy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tests.support.api import ApiWorld

CALL_SECONDS = 30.0


class Kind(StrEnum):
    """Which client."""

    BLOCKING = "Vardy"
    ASYNC = "AsyncVardy"


class Chunks(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in pieces; an exception among them breaks the connection there."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces = pieces
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


def stream(*pieces: bytes | Exception) -> httpx.Response:
    """A stream of events that ends, or breaks, after these pieces."""
    return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=Chunks(*pieces))


@dataclass(frozen=True)
class Late:
    """An answer that comes after a while, by the client's clock."""

    seconds: float
    answer: httpx.Response | Exception


class Script:
    """A service that gives these answers in turn, the last one for ever, and what it saw."""

    def __init__(self, *answers: httpx.Response | Exception | Late | Callable[[httpx.Request], httpx.Response]) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []
        self.seconds = 0.0
        """What the client's clock shows."""
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Late):
            self.seconds += answer.seconds
            answer = answer.answer
        if isinstance(answer, Exception):
            raise answer
        made = answer if isinstance(answer, httpx.Response) else answer(request)
        # A client binds a response to itself, and the last one is given for ever.
        return httpx.Response(made.status_code, headers=made.headers, stream=made.stream)

    def pause(self, seconds: float) -> None:
        """What a client does in place of sleeping."""
        self.pauses.append(seconds)
        self.seconds += seconds

    def client(self, kind: Kind, **options: Any) -> Vardy:
        """A client of this service; calls of the asynchronous one are awaited where they are made."""
        if kind is Kind.BLOCKING:
            return Vardy(
                "http://vardy",
                api_key="vk_k",
                transport=self.transport,
                pause=self.pause,
                now=lambda: self.seconds,
                **options,
            )

        async def pause(seconds: float) -> None:
            self.pause(seconds)

        made = AsyncVardy(
            "http://vardy", api_key="vk_k", transport=self.transport, pause=pause, now=lambda: self.seconds, **options
        )
        return awaited(made)


class FromThread(httpx.AsyncBaseTransport):
    """A blocking transport for an asynchronous client."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        content = await request.aread()
        given = httpx.Request(request.method, request.url, headers=request.headers, content=content)
        answer = await asyncio.to_thread(self._inner.handle_request, given)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


def client_of(api: ApiWorld, kind: Kind, token: str | None = None, **options: Any) -> Vardy:
    """A client of the application; it never really pauses."""
    if kind is Kind.BLOCKING:
        return api.vardy(token, **options)

    async def pause(seconds: float) -> None:
        api.clock.forward(seconds)

    made = AsyncVardy(
        "http://vardy",
        api_key=api.token() if token is None else token,
        transport=FromThread(api.transport),
        pause=pause,
        now=api.clock.monotonic,
        **options,
    )
    return awaited(made)


class Awaited:
    """`AsyncVardy` for tests that are not asynchronous: each call is awaited in a loop of its own thread."""

    def __init__(self, client: AsyncVardy, loop: asyncio.AbstractEventLoop) -> None:
        self.inner = client
        self._loop = loop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._result(self.inner.close())

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            return self._items(result) if inspect.isasyncgen(result) else self._result(result)

        return call if callable(method) else method

    def _items(self, items: Any) -> Iterator[Any]:
        end = object()

        async def following() -> Any:
            return await anext(items, end)

        try:
            while (item := self._result(following())) is not end:
                yield item
        finally:
            self._result(items.aclose())

    def _result(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS)


@cache
def _shared_loop() -> asyncio.AbstractEventLoop:
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, daemon=True).start()
    return made


def awaited(client: AsyncVardy) -> Vardy:
    """The client with the shape of the blocking one, in a loop that all such clients of a run share."""
    return cast("Vardy", Awaited(client, _shared_loop()))
