"""The Python client for asyncio: `AsyncVardy`, the same flows as `Vardy`, whose steps are awaited."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx
from httpx_sse import EventSource

from vardy_api.client_flows import Ask, Decision, Ended, Hear, Item, Listen, Lost, Message, Opened, Pause, Send
from vardy_api.client_methods import ClientFlows as Flows
from vardy_api.client_methods import awaiting, awaiting_iterator
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
    trust,
    usable_environment,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from types import TracebackType

    from httpx_sse import ServerSentEvent

    from vardy_api.client_calls import Call, Reply
    from vardy_api.client_flows import Flow, Step, Stream
    from vardy_api.shapes import Via
    from vardy_worker.contracts.view import JobView

__all__ = ["AsyncVardy", "Decision"]

T = TypeVar("T")


class AsyncVardy:
    """`Vardy` for asyncio: the same methods, to be awaited. Close it, or use it in `async with`.

    Tasks of one event loop may share it; make one for the life of an application.
    `on_approval` may be a coroutine function. A cancelled task leaves nothing behind here;
    the job goes on.
    """

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
        self._flows = Flows(asks=on_approval is not None, now=now)
        headers = key_headers(api_key, via)

        def connections() -> httpx.AsyncClient:
            with usable_environment():
                return httpx.AsyncClient(
                    base_url=self.url, headers=headers, transport=transport, limits=UNLIMITED, verify=trust(self.url)
                )

        self._connections = connections
        self._by_process = {os.getpid(): connections()}

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

    @property
    def _http(self) -> httpx.AsyncClient:
        """The connections of this process. On those of the one that it was forked from, answers would go to either."""
        process = os.getpid()
        if process not in self._by_process:
            self._by_process[process] = self._connections()
        return self._by_process[process]

    run = awaiting(Flows.run)
    explore = awaiting(Flows.explore)
    get = awaiting(Flows.get)
    wait = awaiting(Flows.wait)
    list_jobs = awaiting(Flows.list_jobs)
    iterate_jobs = awaiting_iterator(Flows.iterate_jobs)
    plan = awaiting(Flows.plan)
    console = awaiting(Flows.console)
    journal = awaiting(Flows.journal)
    attempts = awaiting(Flows.attempts)
    erase = awaiting(Flows.erase)
    erase_totals = awaiting(Flows.erase_totals)

    commit = awaiting(Flows.commit)
    approve = awaiting(Flows.approve)
    deny = awaiting(Flows.deny)
    commit_planned = awaiting(Flows.commit_planned)
    cancel = awaiting(Flows.cancel)
    requeue = awaiting(Flows.requeue)
    discard = awaiting(Flows.discard)
    resolve = awaiting(Flows.resolve)

    events = awaiting_iterator(Flows.events)

    recipes = awaiting(Flows.recipes)
    recipe = awaiting(Flows.recipe)
    recipe_versions = awaiting(Flows.recipe_versions)
    recipe_difference = awaiting(Flows.recipe_difference)
    save_recipe = awaiting(Flows.save_recipe)
    review_recipe = awaiting(Flows.review_recipe)
    delete_recipe = awaiting(Flows.delete_recipe)

    check_program = awaiting(Flows.check_program)
    functions = awaiting(Flows.functions)
    rules = awaiting(Flows.rules)
    apply_rules = awaiting(Flows.apply_rules)
    check_rules = awaiting(Flows.check_rules)
    test_rules = awaiting(Flows.test_rules)
    prompt = awaiting(Flows.prompt)
    queues = awaiting(Flows.queues)
    health = awaiting(Flows.health)

    keys = awaiting(Flows.keys)
    key = awaiting(Flows.key)
    create_key = awaiting(Flows.create_key)
    revoke_key = awaiting(Flows.revoke_key)
    change_key = awaiting(Flows.change_key)
    rotate_key = awaiting(Flows.rotate_key)
    usage = awaiting(Flows.usage)
    audit = awaiting(Flows.audit)
    verify_audit = awaiting_iterator(Flows.verify_audit)
    export_audit = awaiting_iterator(Flows.export_audit)

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
        messages, self._messages = self._messages, None
        response, self._response = self._response, None
        try:
            if messages is not None:
                await messages.aclose()
        finally:
            if response is not None:
                await response.aclose()
