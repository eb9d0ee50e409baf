"""The driver that blocks: carries the steps of flows out one after another."""

from __future__ import annotations

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
    from collections.abc import Callable, Generator, Iterator
    from types import TracebackType

    from vardy_api.client_calls import Call, Reply
    from vardy_api.client_flows import Flow, Step, Stream
    from vardy_api.shapes import Via
    from vardy_worker.contracts.view import JobView

T = TypeVar("T")


class BlockingClient:
    """A connection to one Vardy API."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        on_approval: Callable[[JobView], Decision | None] | None = None,
        via: Via = "api",
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
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
        self._http = httpx.Client(base_url=self.url, headers=headers, transport=transport, limits=UNLIMITED)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _drive(self, flow: Flow[T]) -> T:
        result: object = None
        while True:
            try:
                step = flow.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            result = self._carry_out(step)

    def _iterate(self, flow: Stream[T]) -> Generator[T, None, None]:
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
                        result = line.open(call)
                    case Hear():
                        result = line.hear()
                    case _:
                        result = self._carry_out(step)
        finally:
            line.close()

    def _carry_out(self, step: Step) -> object:
        match step:
            case Send(call):
                return self._send(call)
            case Pause(seconds):
                self._pause(seconds)
                return None
            case Ask(job):
                return None if self._on_approval is None else self._on_approval(job)
        raise AssertionError(step)

    def _send(self, call: Call[Any]) -> Reply | Lost:
        try:
            return as_reply(self._http.request(**request_options(call)))
        except httpx.RequestError as error:
            return lost(error, self.url)


class _Line:
    """At most one open stream of events."""

    def __init__(self, http: httpx.Client, url: str) -> None:
        self._http = http
        self._url = url
        self._response: httpx.Response | None = None
        self._messages: Iterator[Message] = iter(())

    def open(self, call: Call[Any]) -> Opened | Reply | Lost:
        self.close()
        options = stream_options(call)
        timeout = options.pop("timeout")
        try:
            request = self._http.build_request(**options, timeout=timeout)
            self._response = self._http.send(request, stream=True)
            if is_stream(self._response):
                self._messages = map(as_message, EventSource(self._response).iter_sse())
                return Opened()
            self._response.read()
            return as_reply(self._response)
        except httpx.RequestError as error:
            return lost(error, self._url)

    def hear(self) -> Message | Ended | Lost:
        try:
            return next(self._messages, Ended())
        except httpx.RequestError as error:
            return lost(error, self._url)

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None
