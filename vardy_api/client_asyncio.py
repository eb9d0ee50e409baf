"""The driver of asyncio: awaits the steps of flows."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx
from httpx_sse import EventSource

from vardy_api.client_flows import Ask, Decision, Ended, Hear, Item, Listen, Lost, Message, Opened, Pause, Send
from vardy_api.client_methods import ClientFlows
from vardy_api.client_transport import (
    UNLIMITED,
    address,
    as_message,
    as_reply,
    is_stream,
    key_headers,
    lost,
    request_options,
    stream_options,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from types import TracebackType

    from httpx_sse import ServerSentEvent

    from vardy_api.client_calls import Call, Reply
    from vardy_api.client_flows import Flow, Step, Stream
    from vardy_api.shapes import Via
    from vardy_worker.contracts.view import JobView

T = TypeVar("T")


class AsyncClient:
    """A connection to one Vardy API, for one event loop."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        on_approval: Callable[[JobView], Decision | Awaitable[Decision | None] | None] | None = None,
        via: Via = "api",
        transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connects to `url` with `api_key`; by default `VARDY_URL` and `VARDY_API_KEY`.

        `transport`, `pause` and `now` stand for the network and the clock, in tests.
        """
        self.url = address(url)
        self._on_approval = on_approval
        self._pause = pause
        self._flows = ClientFlows(asks=on_approval is not None, now=now)
        headers = key_headers(api_key, via)
        self._http = httpx.AsyncClient(base_url=self.url, headers=headers, transport=transport, limits=UNLIMITED)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _drive(self, flow: Flow[T]) -> T:
        result: object = None
        while True:
            try:
                step = flow.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            result = await self._carry_out(step)

    async def _iterate(self, flow: Stream[T]) -> AsyncGenerator[T, None]:
        line = _Line(self._http, self.url)
        result: object = None
        try:
            while True:
                try:
                    step = flow.send(result)
                except StopIteration:
                    return
                result = None
                match step:
                    case Item(value):
                        yield value
                    case Listen(call):
                        result = await line.open(call)
                    case Hear():
                        result = await line.hear()
                    case _:
                        result = await self._carry_out(step)
        finally:
            await line.close()

    async def _carry_out(self, step: Step) -> object:
        match step:
            case Send(call):
                return await self._send(call)
            case Pause(seconds):
                await self._pause(seconds)
                return None
            case Ask(job):
                decision = None if self._on_approval is None else self._on_approval(job)
                return await decision if inspect.isawaitable(decision) else decision
        raise AssertionError(step)

    async def _send(self, call: Call[Any]) -> Reply | Lost:
        try:
            return as_reply(await self._http.request(**request_options(call)))
        except httpx.RequestError as error:
            return lost(error, self.url)


class _Line:
    """At most one open stream of events."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url
        self._response: httpx.Response | None = None
        self._messages: AsyncGenerator[ServerSentEvent, None] | None = None

    async def open(self, call: Call[Any]) -> Opened | Reply | Lost:
        await self.close()
        try:
            request = self._http.build_request(**stream_options(call))
            self._response = await self._http.send(request, stream=True)
            if is_stream(self._response):
                self._messages = EventSource(self._response).aiter_sse()
                return Opened()
            await self._response.aread()
            return as_reply(self._response)
        except httpx.RequestError as error:
            return lost(error, self._url)

    async def hear(self) -> Message | Ended | Lost:
        try:
            return Ended() if self._messages is None else as_message(await anext(self._messages))
        except StopAsyncIteration:
            return Ended()
        except httpx.RequestError as error:
            return lost(error, self._url)

    async def close(self) -> None:
        if self._messages is not None:
            await self._messages.aclose()
            self._messages = None
        if self._response is not None:
            await self._response.aclose()
            self._response = None
