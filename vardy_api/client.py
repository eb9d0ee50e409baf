"""The Python client that blocks: `Vardy`. `AsyncVardy`, for asyncio, is in `client_asyncio`.

Over HTTP, with typed results (`JobView` and the shapes of `vardy_api.shapes`) and
exceptions that mirror the problem types (`vardy_api.client_errors`). It loads no server
library. Each method is written once, as a flow in `client_jobs`, `client_decisions`,
`client_events`, `client_recipes`, `client_library` and `client_administration`; here flows
become methods, and their steps are carried out one after another.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx
from httpx_sse import EventSource

from vardy_api.client_flows import Ask, Decision, Ended, Hear, Item, Listen, Lost, Message, Opened, Pause, Send
from vardy_api.client_methods import ClientFlows as Flows
from vardy_api.client_methods import blocking, blocking_iterator
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
    from collections.abc import Callable, Generator, Iterator
    from types import TracebackType

    from vardy_api.client_calls import Call, Reply
    from vardy_api.client_flows import Flow, Step, Stream
    from vardy_api.shapes import Via
    from vardy_worker.contracts.view import JobView

__all__ = ["Decision", "Vardy"]

T = TypeVar("T")


class Vardy:
    """A connection to one Vardy API. Threads may share it. Close it, or use it in `with`.

    `on_approval` is asked whenever a job that is waited for comes back `PENDING_APPROVAL`;
    None leaves it pending. All methods raise `VardyProblem` (its subclasses tell what
    kind), `Unreachable` after retries, and, where they wait, `WaitTimeout`. Arguments that
    no request can have raise `InvalidArguments`, before anything is sent.
    """

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
        self._flows = Flows(asks=on_approval is not None, now=now)
        headers = key_headers(api_key, via)

        def connections() -> httpx.Client:
            with usable_environment():
                return httpx.Client(
                    base_url=self.url, headers=headers, transport=transport, limits=UNLIMITED, verify=trust(self.url)
                )

        self._connections = connections
        self._by_process = {os.getpid(): connections()}

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

    @property
    def _http(self) -> httpx.Client:
        """The connections of this process. On those of the one that it was forked from, answers would go to either."""
        process = os.getpid()
        if process not in self._by_process:
            self._by_process[process] = self._connections()
        return self._by_process[process]

    run = blocking(Flows.run)
    explore = blocking(Flows.explore)
    get = blocking(Flows.get)
    wait = blocking(Flows.wait)
    list_jobs = blocking(Flows.list_jobs)
    iterate_jobs = blocking_iterator(Flows.iterate_jobs)
    plan = blocking(Flows.plan)
    console = blocking(Flows.console)
    journal = blocking(Flows.journal)
    attempts = blocking(Flows.attempts)
    erase = blocking(Flows.erase)
    erase_totals = blocking(Flows.erase_totals)

    commit = blocking(Flows.commit)
    approve = blocking(Flows.approve)
    deny = blocking(Flows.deny)
    commit_planned = blocking(Flows.commit_planned)
    cancel = blocking(Flows.cancel)
    requeue = blocking(Flows.requeue)
    discard = blocking(Flows.discard)
    resolve = blocking(Flows.resolve)

    events = blocking_iterator(Flows.events)

    recipes = blocking(Flows.recipes)
    recipe = blocking(Flows.recipe)
    recipe_versions = blocking(Flows.recipe_versions)
    recipe_difference = blocking(Flows.recipe_difference)
    save_recipe = blocking(Flows.save_recipe)
    review_recipe = blocking(Flows.review_recipe)
    delete_recipe = blocking(Flows.delete_recipe)

    check_program = blocking(Flows.check_program)
    functions = blocking(Flows.functions)
    rules = blocking(Flows.rules)
    apply_rules = blocking(Flows.apply_rules)
    check_rules = blocking(Flows.check_rules)
    test_rules = blocking(Flows.test_rules)
    prompt = blocking(Flows.prompt)
    queues = blocking(Flows.queues)
    health = blocking(Flows.health)

    keys = blocking(Flows.keys)
    key = blocking(Flows.key)
    create_key = blocking(Flows.create_key)
    revoke_key = blocking(Flows.revoke_key)
    change_key = blocking(Flows.change_key)
    rotate_key = blocking(Flows.rotate_key)
    usage = blocking(Flows.usage)
    audit = blocking(Flows.audit)
    verify_audit = blocking_iterator(Flows.verify_audit)
    export_audit = blocking_iterator(Flows.export_audit)

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
        try:
            request = self._http.build_request(**stream_options(call))
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
