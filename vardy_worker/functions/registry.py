"""Registration: the decorators with which a company says what programs may call."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, overload

from vardy_worker.contracts.base import JsonObject
from vardy_worker.contracts.errors import RegistrationError
from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.functions.names import check_function_name
from vardy_worker.functions.schemas import input_schema, output_schema
from vardy_worker.functions.sets import has_sets
from vardy_worker.functions.signature import FunctionTypes, check_shape, read_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
HookT = TypeVar("HookT", bound="Callable[[], Any]")

TIMEOUT_SECONDS = 30.0
"""How long a call may take unless its function says otherwise."""

RETRIES_MAX = 100


@dataclass(frozen=True, slots=True)
class Options:
    """What the decorator was told. `key_valid_seconds` None: an idempotency key never expires."""

    timeout_seconds: float = TIMEOUT_SECONDS
    roles: tuple[str, ...] = ()
    idempotent: bool = False
    retries: int = 0
    key_valid_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Described:
    """What one function takes and gives."""

    types: FunctionTypes
    input_schema: JsonObject
    output_schema: JsonObject
    takes_sets: bool
    gives_sets: bool


class Registered:
    """One registered function. `call` is the company's own, unwrapped."""

    def __init__(self, name: str, kind: FunctionKind, call: Callable[..., Any], options: Options) -> None:
        self.name = name
        self.kind = kind
        self.call = call
        self.options = options
        self.is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(call, "__call__", None)  # noqa: B004 - not whether it can be called, but how
        )
        self.doc = inspect.getdoc(call) or ""
        self._described: Described | None = None

    @property
    def types(self) -> FunctionTypes:
        """Its argument and result types. Raises `RegistrationError` when they name what does not exist."""
        return self._describe(None).types

    @property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of its argument object. Raises as `types` does."""
        return self._describe(None).input_schema

    @property
    def output_schema(self) -> JsonObject:
        """The JSON Schema of its result. Raises as `types` does."""
        return self._describe(None).output_schema

    @property
    def takes_sets(self) -> bool:
        """Whether a set may be anywhere in its arguments. Raises as `types` does."""
        return self._describe(None).takes_sets

    @property
    def gives_sets(self) -> bool:
        """Whether a set may be anywhere in its result. Raises as `types` does."""
        return self._describe(None).gives_sets

    def try_describe(self, local_names: Mapping[str, Any]) -> None:
        """Reads its types now, unless they name something that the module defines further down."""
        try:
            self._describe(local_names)
        except RegistrationError as error:
            if not isinstance(error.__cause__, NameError):
                raise

    def _describe(self, local_names: Mapping[str, Any] | None) -> Described:
        if self._described is None:
            types = read_types(self.name, self.call, local_names)
            taken, given = input_schema(self.name, types), output_schema(self.name, types)
            self._described = Described(types, taken, given, has_sets(taken), has_sets(given))
        return self._described


class Functions:
    """The functions of a company, in the order they were registered.

    Decorated functions are returned as they were, so that they can be called and tested
    like any other. Every mistake raises `RegistrationError` where the decorator stands,
    except annotations that name something defined later: those are read when the
    catalogue is built.
    """

    def __init__(self) -> None:
        self._registered: dict[str, Registered] = {}
        self._start_hooks: list[Callable[[], Any]] = []
        self._stop_hooks: list[Callable[[], Any]] = []

    def __iter__(self) -> Iterator[Registered]:
        return iter(self._registered.values())

    def __len__(self) -> int:
        return len(self._registered)

    def get(self, name: str) -> Registered | None:
        """The function registered under that name."""
        return self._registered.get(name)

    @property
    def start_hooks(self) -> tuple[Callable[[], Any], ...]:
        """What `on_start` collected, in order."""
        return tuple(self._start_hooks)

    @property
    def stop_hooks(self) -> tuple[Callable[[], Any], ...]:
        """What `on_stop` collected, in order; they run last first."""
        return tuple(self._stop_hooks)

    @overload
    def read(self, function: FunctionT, /) -> FunctionT: ...
    @overload
    def read(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        roles: Iterable[str] = (),
    ) -> Callable[[FunctionT], FunctionT]: ...
    def read(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        roles: Iterable[str] = (),
    ) -> Any:
        """Registers a function that changes nothing; it runs as soon as a program calls it.

        Args:
            function: the function, when the decorator is used without options.
            name: what programs call it; its own name when left out.
            timeout_seconds: how long one call may take.
            roles: only users with one of these get the function; everybody when empty.
        """
        options = Options(timeout_seconds=timeout_seconds, roles=_roles(roles))
        local_names = sys._getframe(1).f_locals  # noqa: SLF001 - annotations may name what is local to the caller

        def register(target: FunctionT) -> FunctionT:
            return self._add(target, FunctionKind.READ, name, options, local_names)

        return register if function is None else register(function)

    @overload
    def write(self, function: FunctionT, /) -> FunctionT: ...
    @overload
    def write(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        idempotent: bool = False,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = 0,
        roles: Iterable[str] = (),
        key_valid_seconds: float | None = None,
    ) -> Callable[[FunctionT], FunctionT]: ...
    def write(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        idempotent: bool = False,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = 0,
        roles: Iterable[str] = (),
        key_valid_seconds: float | None = None,
    ) -> Any:
        """Registers a function that changes something; a call of it becomes an effect of a plan.

        Args:
            function: the function, when the decorator is used without options.
            name: what programs call it; its own name when left out.
            idempotent: whether calling it again with the same `CallContext.idempotency_key`
                changes nothing more. Only then is a call of unknown outcome repeated by itself.
            timeout_seconds: how long one call may take; after it the outcome is unknown.
            retries: how often a retryable `FunctionError` is tried again.
            roles: only users with one of these get the function; everybody when empty.
            key_valid_seconds: how long the system written to remembers idempotency keys;
                past it, a call of unknown outcome is no longer repeated by itself.
        """
        options = Options(
            timeout_seconds=timeout_seconds,
            roles=_roles(roles),
            idempotent=idempotent,
            retries=retries,
            key_valid_seconds=key_valid_seconds,
        )
        local_names = sys._getframe(1).f_locals  # noqa: SLF001 - annotations may name what is local to the caller

        def register(target: FunctionT) -> FunctionT:
            return self._add(target, FunctionKind.WRITE, name, options, local_names)

        return register if function is None else register(function)

    def on_start(self, hook: HookT) -> HookT:
        """Runs the hook before the first call, for example to open a connection pool."""
        _check_hook("on_start", hook)
        self._start_hooks.append(hook)
        return hook

    def on_stop(self, hook: HookT) -> HookT:
        """Runs the hook after the last call."""
        _check_hook("on_stop", hook)
        self._stop_hooks.append(hook)
        return hook

    def include(self, other: Functions) -> None:
        """Adds the functions and hooks of another module's `Functions`."""
        for registered in other:
            check_function_name(registered.name, self._registered)
            self._registered[registered.name] = registered
        self._start_hooks.extend(other.start_hooks)
        self._stop_hooks.extend(other.stop_hooks)

    def _add(
        self,
        target: FunctionT,
        kind: FunctionKind,
        name: str | None,
        options: Options,
        local_names: Mapping[str, Any],
    ) -> FunctionT:
        own_name = name if name is not None else getattr(target, "__name__", "")
        if not callable(target) or not own_name:
            raise RegistrationError(f"Only functions can be registered, not {type(target).__name__}.")
        check_function_name(own_name, self._registered)
        _check_options(own_name, options)
        check_shape(own_name, target)
        registered = Registered(own_name, kind, target, options)
        registered.try_describe(local_names)
        self._registered[own_name] = registered
        return target


def _roles(roles: Iterable[str]) -> tuple[str, ...]:
    if isinstance(roles, str):
        raise RegistrationError(f"roles is a list of role names: write roles=[{roles!r}].")
    return tuple(sorted(set(roles)))


def _check_options(name: str, options: Options) -> None:
    if not 0 < options.timeout_seconds < float("inf"):
        raise RegistrationError(f"timeout_seconds of {name!r} must be a number of seconds above 0.")
    if not 0 <= options.retries <= RETRIES_MAX:
        raise RegistrationError(f"retries of {name!r} must be from 0 to {RETRIES_MAX}.")
    valid = options.key_valid_seconds
    if valid is not None and not 0 < valid < float("inf"):
        raise RegistrationError(f"key_valid_seconds of {name!r} must be above 0, or None when keys never expire.")


def _check_hook(decorator: str, hook: Callable[[], Any]) -> None:
    if not callable(hook):
        raise RegistrationError(f"{decorator} takes a function without arguments: write @functions.{decorator}.")
    needed = [
        parameter.name
        for parameter in inspect.signature(hook).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    ]
    if needed:
        raise RegistrationError(
            f"The {decorator} hook {getattr(hook, '__name__', hook)!r} must take no arguments, "
            f"but it needs {', '.join(needed)}."
        )
