"""Reading a Python function's signature into the types that calls are checked by."""

from __future__ import annotations

import functools
import inspect
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, SchemaError, from_json, to_json
from typing_extensions import TypedDict

from vardy_worker.contracts.base import JsonObject
from vardy_worker.contracts.errors import RegistrationError
from vardy_worker.functions.context import CallContext
from vardy_worker.functions.names import check_argument_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_make_typed_dict: Any = TypedDict
"""Type checkers want the fields written out; here they are known at run time only."""


@dataclass(frozen=True, slots=True)
class FunctionTypes:
    """How the calls of one function are checked.

    `arguments` takes the whole argument object and refuses unknown ones; `partial` is
    the same with nothing required, for calls of which some arguments are not known yet.
    `parameters` maps each argument to its annotation. `defaults` holds, in JSON form,
    the arguments that may be left out.
    """

    takes_context: bool
    parameters: Mapping[str, Any]
    defaults: JsonObject
    arguments: TypeAdapter[dict[str, Any]]
    partial: TypeAdapter[dict[str, Any]]
    result: TypeAdapter[Any]


def check_shape(name: str, function: Callable[..., Any]) -> None:
    """Refuses what can be refused without evaluating annotations. Raises `RegistrationError`."""
    if isinstance(function, type | functools.partial):
        kind = type(function).__name__
        raise RegistrationError(f"{name!r} is a {kind}, not a function: write a function that calls it.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError(f"{name!r} is a generator: return a list instead of yielding.")
    signature = _signature(name, function)
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise RegistrationError(
                f"{name!r} takes {stars}{parameter.name}: programs pass named arguments only, so name each one."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise RegistrationError(
                f"The argument {parameter.name!r} of {name!r} is positional-only: programs pass named arguments, "
                "so take the / out of the signature."
            )
        if parameter.annotation is parameter.empty:
            raise RegistrationError(
                f"The argument {parameter.name!r} of {name!r} has no type: annotate it, "
                f"for example `{parameter.name}: int`."
            )
        if isinstance(parameter.default, FieldInfo):
            raise RegistrationError(
                f"The default of the argument {parameter.name!r} of {name!r} is a Field: write "
                f"`{parameter.name}: Annotated[<type>, Field(...)] = <default>` instead."
            )
    if signature.return_annotation is signature.empty:
        raise RegistrationError(
            f"The result of {name!r} has no type: annotate it, for example `-> Invoice`, or `-> None`."
        )


def read_types(name: str, function: Callable[..., Any], local_names: Mapping[str, Any] | None = None) -> FunctionTypes:
    """Evaluates the annotations and builds the validators.

    Raises `RegistrationError`; its cause is a `NameError` when an annotation names
    something that does not exist (yet).
    """
    signature = _signature(name, function)
    hints = _hints(name, function, local_names)
    names = list(signature.parameters)
    takes_context = bool(names) and hints[names[0]] is CallContext
    own = names[1:] if takes_context else names
    for argument in own:
        check_argument_name(name, argument)
        if hints[argument] is CallContext:
            raise RegistrationError(f"The CallContext of {name!r} must be its first argument; {argument!r} is not.")
    parameters = {argument: hints[argument] for argument in own}
    adapters = {argument: _adapter(name, argument, annotation) for argument, annotation in parameters.items()}
    defaults = {
        argument: _default_json(name, argument, adapters[argument], signature.parameters[argument].default)
        for argument in own
        if signature.parameters[argument].default is not inspect.Parameter.empty
    }
    if hints["return"] is typing.NoReturn:
        raise RegistrationError(f"{name!r} is said never to return: annotate what it returns, or `-> None`.")
    return FunctionTypes(
        takes_context=takes_context,
        parameters=parameters,
        defaults=defaults,
        arguments=_object_adapter(name, parameters, required=parameters.keys() - defaults.keys()),
        partial=_object_adapter(name, parameters, required=frozenset()),
        result=_adapter(name, "return", hints["return"]),
    )


def _signature(name: str, function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"The signature of {name!r} cannot be read: write a Python function for it.") from error


def _hints(name: str, function: Callable[..., Any], local_names: Mapping[str, Any] | None) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target, localns=dict(local_names or {}), include_extras=True)
    except NameError as error:
        raise RegistrationError(
            f"A type of {name!r} names {error.name!r}, which does not exist in its module: import or define it.",
        ) from error
    except (TypeError, SyntaxError) as error:
        raise RegistrationError(f"A type of {name!r} cannot be read ({error}): correct the annotation.") from error


def _adapter(name: str, argument: str, annotation: Any) -> TypeAdapter[Any]:
    where = "The result" if argument == "return" else f"The argument {argument!r}"
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        adapter.rebuild(raise_errors=True)
    except PydanticSchemaGenerationError as error:
        raise RegistrationError(
            f"{where} of {name!r} has a type that is not data ({_type_name(annotation)}): use a pydantic model, "
            "a dataclass, a TypedDict, or plain types."
        ) from error
    except NameError as error:
        raise RegistrationError(
            f"{where} of {name!r} has a type that names {error.name!r}, which does not exist: import or define it."
        ) from error
    except (PydanticUserError, SchemaError, TypeError) as error:
        reason = str(error).split("\n", 1)[0]
        raise RegistrationError(
            f"{where} of {name!r} has a type that cannot be used ({_type_name(annotation)}): {reason}"
        ) from error
    return adapter


def _type_name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _default_json(name: str, argument: str, adapter: TypeAdapter[Any], default: Any) -> Any:
    """The default in JSON form: plans show and store every argument, also those left out."""
    try:
        checked = adapter.validate_python(default)
        return from_json(to_json(adapter.dump_python(checked, mode="json", by_alias=True, round_trip=True)))
    except (ValidationError, PydanticSerializationError) as error:
        raise RegistrationError(
            f"The default of the argument {argument!r} of {name!r} does not fit its type: "
            "change one of them, for example by adding `| None`."
        ) from error


def _object_adapter(
    name: str, parameters: Mapping[str, Any], required: frozenset[str] | set[str]
) -> TypeAdapter[dict[str, Any]]:
    fields: dict[str, Any] = {
        argument: (typing.Required if argument in required else typing.NotRequired)[annotation]
        for argument, annotation in parameters.items()
    }
    arguments = _make_typed_dict(f"{name}_arguments", fields)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(arguments)
