"""What is wrong with arguments or a result, said without their values."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from pydantic_core import PydanticKnownError

from vardy_worker.contracts.base import JsonObject, JsonValue, make_pointer, pointer_get
from vardy_worker.functions.subschema import at_pointer, expected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

KEYS_SHOWN_MAX = 10
PROBLEMS_MAX = 20

_LIMIT_TYPES = frozenset(
    """
    greater_than greater_than_equal less_than less_than_equal multiple_of finite_number
    string_too_short string_too_long string_pattern_mismatch too_short too_long
    decimal_max_digits decimal_max_places decimal_whole_digits
    date_past date_future datetime_past datetime_future timezone_aware timezone_naive
    """.split()  # noqa: SIM905 - as a list it would be one word a line
)
"""Errors of pydantic whose sentence says the limit and nothing of the value."""

_TYPE_TYPES = frozenset({"enum", "literal_error", "union_tag_invalid", "union_tag_not_found", "uuid_version"})
"""Errors that say the value is of another type, beside those that end in `_type` or `_parsing`."""

_KEY_LABEL = "[key]"
"""What pydantic appends to the place of a mapping's key that does not fit."""

_SUBJECT = re.compile(r"^.*? should ")


def problem(at: str, message: str, wanted: str = "") -> JsonObject:
    """One problem, in the form of `ports.BadArguments`."""
    return {"at": at, "message": message, "expected": wanted}


def validation_problems(error: ValidationError, value: JsonValue, schema: JsonObject) -> tuple[JsonObject, ...]:
    """The errors of pydantic, one problem for each place and complaint.

    `value` is the JSON that was validated, `schema` its JSON Schema; both only serve to
    say where and what. Sentences of the company's own validators may hold values, so
    none is repeated.
    """
    found = [
        _one(details, value, schema) for details in error.errors(include_url=False, include_input=False)[:PROBLEMS_MAX]
    ]
    return unique(found)


def unique(problems: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """Without repetitions, in order."""
    return tuple({(item["at"], item["message"]): item for item in problems}.values())


def _one(details: ErrorDetails, value: JsonValue, schema: JsonObject) -> JsonObject:
    kind = details["type"]
    absent = kind in {"missing", "extra_forbidden"}
    at = make_pointer(place_of(details["loc"], value, last_is_key=absent))
    if details["loc"][-1:] == (_KEY_LABEL,):
        return problem(at, "is a key that does not fit", "another key")
    wanted = expected(at_pointer(schema, at))
    if kind == "missing":
        return problem(at, "is missing", wanted)
    if kind == "extra_forbidden":
        return unknown_argument(at, schema)
    if kind in _LIMIT_TYPES and _is_of_pydantic(details):
        return problem(at, _SUBJECT.sub("must ", details["msg"], count=1), wanted)
    if kind in _TYPE_TYPES or kind.endswith(("_type", "_parsing")):
        return wrong_type(at, wanted, value)
    return problem(at, "is refused by the function's own check", wanted)


def _is_of_pydantic(details: ErrorDetails) -> bool:
    """Whether the sentence is pydantic's own; a company's validator may give its error any type."""
    try:
        return PydanticKnownError(details["type"], details.get("ctx")).message() == details["msg"]  # type: ignore[arg-type] # which types there are is known when it runs
    except (KeyError, TypeError):
        return False


def unknown_argument(at: str, schema: JsonObject) -> JsonObject:
    """A key that nobody takes."""
    parent = at.rpartition("/")[0]
    known = [name for place in at_pointer(schema, parent) for name in place.get("properties", {})]
    names = ", ".join(dict.fromkeys(known)) or "none"
    return problem(at, f"is not known here; the names are: {names}", "nothing")


def wrong_type(at: str, wanted: str, value: JsonValue) -> JsonObject:
    """A value of another shape than wanted."""
    try:
        found = shape(pointer_get(value, at))
    except LookupError:
        found = "something else"
    return problem(at, f"must be {wanted}, not {found}", wanted)


def place_of(location: Sequence[str | int], value: JsonValue, *, last_is_key: bool) -> list[str | int]:
    """The location that pydantic gives, without the labels of unions and validators that it mixes in.

    `last_is_key` says that the last part is a key that the value need not have.
    """
    parts: list[str | int] = []
    current: JsonValue = value
    for position, part in enumerate(location):
        if _has(current, part):
            current = current[part]
        elif not (last_is_key and position == len(location) - 1):
            continue
        parts.append(part)
    return parts


def _has(value: JsonValue, part: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


def shape(value: JsonValue) -> str:
    """Type, keys and lengths of a value; never the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, float):
        return "a fraction" if math.isfinite(value) else "NaN or Infinity"
    if isinstance(value, str):
        return f"a string of {len(value)} character{'' if len(value) == 1 else 's'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        keys = ", ".join(str(key) for key in list(value)[:KEYS_SHOWN_MAX])
        more = ", …" if len(value) > KEYS_SHOWN_MAX else ""
        return f"an object with {keys}{more}" if keys else "an empty object"
    return type(value).__name__
