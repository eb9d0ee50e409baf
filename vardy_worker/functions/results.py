"""What a function returned, as plain JSON that fits its declared type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from vardy_worker.contracts.base import JsonObject, JsonValue, make_pointer
from vardy_worker.functions.sets import sort_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Result:
    """The serialised result: integers of any size, decimals, dates, UUIDs and enums as strings."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class BadResult:
    """The result does not fit the declared type at `at` (a JSON Pointer); no value is repeated."""

    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class OversizeResult:
    """The serialised result has this many bytes."""

    bytes: int


def serialise(
    adapter: TypeAdapter[Any], returned: Any, *, bytes_max: int, schema_of_sets: JsonObject | None = None
) -> Result | BadResult | OversizeResult:
    """Checks what was returned against its type and turns it into JSON.

    It is taken as pydantic takes Python values: a dict, or any object with the
    attributes, serves as a model; only declared fields go on. NaN and Infinity have no
    JSON form and would arrive as a silent null, so they are a bad result. With
    `schema_of_sets`, the type's schema, the sets in it are put in order.
    """
    try:
        checked = adapter.validate_python(returned, from_attributes=True)
    except ValidationError as error:
        return _bad(error)
    try:
        written = adapter.dump_python(checked, mode="json", by_alias=True, warnings="error")
        text = to_json(written, inf_nan_mode="constants")
    except (ValueError, RecursionError):
        # A model that was changed after it was validated, a cycle, or text that is no
        # Unicode. pydantic's own words quote the values.
        return _locate(adapter, checked)
    if len(text) > bytes_max:
        return OversizeResult(len(text))
    at = _place_of_nan(adapter, checked, text)
    if at is not None:
        return BadResult(at, "is NaN or Infinity, which JSON cannot hold")
    value = from_json(text)
    return Result(sort_sets(value, schema_of_sets) if schema_of_sets else value)


def _bad(error: ValidationError) -> BadResult:
    first = error.errors(include_url=False, include_input=False)[0]
    return BadResult(make_pointer(first["loc"]), f"does not fit the declared type ({first['type']})")


def _locate(adapter: TypeAdapter[Any], checked: Any) -> BadResult:
    try:
        adapter.validate_python(adapter.dump_python(checked, mode="python", by_alias=True, warnings=False))
    except ValidationError as error:
        return _bad(error)
    except (ValueError, RecursionError):
        return BadResult("", "refers to itself, or is nested too deeply")
    return BadResult("", "cannot be written as JSON")


def _place_of_nan(adapter: TypeAdapter[Any], checked: Any, text: bytes) -> str | None:
    """Where the first NaN or Infinity is. Where the type is `Any`, pydantic has already written it as null."""
    if not any(word in text for word in (b"NaN", b"Infinity", b"null")):
        return None
    plain = adapter.dump_python(checked, mode="python", by_alias=True, warnings=False)
    again = to_json(plain, inf_nan_mode="constants", serialize_unknown=True)
    if b"NaN" not in again and b"Infinity" not in again:
        return None
    return next(_not_finite(plain, ()), None)


def _not_finite(value: JsonValue, parts: tuple[str | int, ...]) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield make_pointer(parts)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, (*parts, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _not_finite(item, (*parts, index))
