"""All methods of the client as flows, and how a flow becomes a method of `Vardy` or of `AsyncVardy`."""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from vardy_api.client_administration import AdministrationFlows
from vardy_api.client_decisions import DecisionFlows
from vardy_api.client_events import EventFlows
from vardy_api.client_jobs import JobFlows
from vardy_api.client_library import LibraryFlows
from vardy_api.client_recipes import RecipeFlows

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator

    from vardy_api.client_flows import Flow, Stream

P = ParamSpec("P")
T = TypeVar("T")


class ClientFlows(JobFlows, DecisionFlows, EventFlows, RecipeFlows, LibraryFlows, AdministrationFlows):
    """Every method of the client."""


class Blocking(Protocol):
    """Carries flows out one step after another."""

    _flows: ClientFlows

    def _drive(self, flow: Flow[T]) -> T: ...

    def _iterate(self, flow: Stream[T]) -> Generator[T, None, None]: ...


class Awaiting(Protocol):
    """Awaits the steps of flows."""

    _flows: ClientFlows

    async def _drive(self, flow: Flow[T]) -> T: ...

    def _iterate(self, flow: Stream[T]) -> AsyncGenerator[T, None]: ...


def blocking(flow: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Blocking, P], T]:
    """The method that returns when the flow has ended."""

    @functools.wraps(flow)
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._drive(flow(self._flows, *args, **kwargs))

    return _as_method(method, flow, "{}")


def blocking_iterator(
    flow: Callable[Concatenate[Any, P], Stream[T]],
) -> Callable[Concatenate[Blocking, P], Generator[T, None, None]]:
    """The method that yields the items of the flow."""

    @functools.wraps(flow)
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        return self._iterate(flow(self._flows, *args, **kwargs))

    return _as_method(method, flow, "Generator[{}, None, None]")


def awaiting(
    flow: Callable[Concatenate[Any, P], Flow[T]],
) -> Callable[Concatenate[Awaiting, P], Coroutine[Any, Any, T]]:
    """The coroutine function of the flow."""

    @functools.wraps(flow)
    async def method(self: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._drive(flow(self._flows, *args, **kwargs))

    return _as_method(method, flow, "{}")


def awaiting_iterator(
    flow: Callable[Concatenate[Any, P], Stream[T]],
) -> Callable[Concatenate[Awaiting, P], AsyncGenerator[T, None]]:
    """The method that yields the items of the flow to `async for`."""

    @functools.wraps(flow)
    def method(self: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        return self._iterate(flow(self._flows, *args, **kwargs))

    return _as_method(method, flow, "AsyncGenerator[{}, None]")


F = TypeVar("F", bound="Callable[..., Any]")

_RESULT = re.compile(r"(?:Flow|Stream)\[(.*)\]", re.DOTALL)


def _as_method(method: F, flow: Callable[..., Any], result: str) -> F:
    """Lets the method show the signature of the flow with its own result, as it was written."""
    written = _RESULT.fullmatch(flow.__annotations__["return"])
    assert written is not None, flow  # noqa: S101 - every flow says so
    shown = result.format(written[1])
    method.__annotations__ = {**flow.__annotations__, "return": shown}
    method.__signature__ = inspect.signature(flow).replace(return_annotation=shown)  # type: ignore[attr-defined] # where inspect looks first
    return method
