"""Checking the arguments of one call, and turning them into what the function takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from vardy_worker.contracts.base import JsonObject, JsonValue, safe_integers
from vardy_worker.functions.integers import DEPTH_MAX, NestedTooDeeplyError, restore_integers
from vardy_worker.functions.problems import problem, validation_problems
from vardy_worker.functions.sets import sort_sets
from vardy_worker.logs import get_logger
from vardy_worker.ports import BadArguments, GoodArguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.functions.registry import Registered

CHECK_CRASHED = "function.check_crashed"


def check_arguments(function: Registered, args: JsonValue) -> GoodArguments | BadArguments:
    """Validates a whole argument object.

    Good ones come back as they will be stored: defaults filled in, every value in the
    form that its type writes, integers beyond 2^53 as decimal strings.
    """
    values = bind_arguments(function, args)
    if isinstance(values, BadArguments):
        return values
    stored = to_stored(function, function.types.arguments, values)
    if isinstance(stored, BadArguments):
        return stored
    lossy = _lossy(function, values, stored)
    if lossy:
        return BadArguments(lossy)
    return GoodArguments(safe_integers(in_order(function, {**function.types.defaults, **stored})))


def bind_arguments(function: Registered, args: JsonValue) -> dict[str, Any] | BadArguments:
    """The Python values of an argument object, by name; arguments left out stay out.

    Values are taken strictly: no string for a number, no number for a boolean. Strings
    stand for what JSON has no form for (dates, decimals, UUIDs, enums), and decimal
    strings for integers.
    """
    given = read_object(function, args)
    if isinstance(given, BadArguments):
        return given
    return validate(function.types.arguments, given, function.input_schema)


def read_object(function: Registered, args: JsonValue) -> JsonObject | BadArguments:
    """The argument object with its integers restored; nothing at all counts as an empty one."""
    if args is None:
        return {}
    if not isinstance(args, dict):
        return BadArguments((problem("", "takes one object of named arguments", "an object"),))
    try:
        restored: JsonObject = restore_integers(args, function.input_schema)
    except NestedTooDeeplyError:
        return BadArguments((problem("", f"is nested deeper than {DEPTH_MAX} levels", "an object"),))
    return restored


def validate(
    adapter: TypeAdapter[dict[str, Any]], args: JsonObject, schema: JsonObject
) -> dict[str, Any] | BadArguments:
    """Validates JSON against one of a function's argument adapters."""
    try:
        text = to_json(args, inf_nan_mode="constants")
    except ValueError:
        return BadArguments((problem("", "has text that is not valid Unicode"),))
    try:
        return adapter.validate_json(text, strict=True)
    except ValidationError as error:
        return BadArguments(validation_problems(error, args, schema))
    except Exception:  # noqa: BLE001 - a validator of the company may raise anything
        get_logger(__name__).exception(CHECK_CRASHED)
        return BadArguments((problem("", "crashed the checks of their own types; the operator's log has the reason"),))


def to_stored(
    function: Registered, adapter: TypeAdapter[dict[str, Any]], values: Mapping[str, Any]
) -> JsonObject | BadArguments:
    """The JSON form of validated values."""
    try:
        written = adapter.dump_python(dict(values), mode="json", by_alias=True, round_trip=True, warnings=False)
        stored: JsonObject = from_json(to_json(written))
    except ValueError:
        # A serializer of the company that fails, or bytes that are no text; its words may quote the value.
        return BadArguments((problem("", "cannot be stored as JSON: a type must be able to write what it reads"),))
    return sort_sets(stored, function.input_schema) if function.takes_sets else stored


def in_order(function: Registered, args: JsonObject) -> JsonObject:
    """The arguments in the order of the function's signature."""
    return {name: args[name] for name in function.types.parameters if name in args}


def _lossy(function: Registered, values: Mapping[str, Any], stored: JsonObject) -> tuple[JsonObject, ...]:
    """Problems with types of the company that do not read back what they wrote.

    A plan is shown, approved and executed from its stored form; a value that changes on
    the way would make the approval a lie.
    """
    again = validate(function.types.arguments, stored, function.input_schema)
    if isinstance(again, BadArguments):
        return again.problems
    return tuple(
        problem(f"/{name}", "does not survive being stored as JSON: its type must read back what it writes")
        for name in function.types.parameters
        if name in values and again[name] != values[name]
    )
