"""Integers beyond 2^53, which travel through programs and plans as decimal strings."""

from __future__ import annotations

import re

from vardy_worker.contracts.base import INT_SAFE_MAX, JsonObject, JsonValue
from vardy_worker.functions.subschema import ANY, Alternatives, alternatives, kinds, literals, step

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,4000})\Z")
"""How JavaScript writes a BigInt; longer ones than Python reads by default stay strings."""

_NEVER_DIGITS = frozenset({"date", "date-time", "time", "duration", "uuid"})
"""Formats that a decimal string cannot have."""

DEPTH_MAX = 100
"""How deep arguments may be nested; what checks and stores them is recursive."""


class NestedTooDeeplyError(ValueError):
    """A value is nested deeper than `DEPTH_MAX`."""


def restore_integers(value: JsonValue, schema: JsonObject) -> JsonValue:
    """The value with decimal strings as integers, wherever its schema wants an integer and no string.

    Where it wants any number, the decimal string of a large integer is one too, unless a
    float would change it. Raises `NestedTooDeeplyError`.
    """
    return _restore(value, alternatives(schema, schema), schema, DEPTH_MAX)


def _restore(value: JsonValue, places: Alternatives, root: JsonObject, depth: int) -> JsonValue:
    if isinstance(value, str):
        return int(value) if _DECIMAL.match(value) and _means_integer(value, places) else value
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise NestedTooDeeplyError
    if isinstance(value, dict):
        return {key: _restore(item, step(places, str(key), root), root, depth - 1) for key, item in value.items()}
    return [_restore(item, step(places, str(index), root), root, depth - 1) for index, item in enumerate(value)]


def _means_integer(digits: str, places: Alternatives) -> bool:
    if any(_takes_text(digits, schema) for schema in places):
        return False
    wanted = frozenset().union(*(kinds(schema) for schema in places))
    return "integer" in wanted or ("number" in wanted and _is_large_float(int(digits)))


def _is_large_float(value: int) -> bool:
    try:
        return abs(value) > INT_SAFE_MAX and int(float(value)) == value
    except OverflowError:
        return False


def _takes_text(digits: str, schema: JsonObject) -> bool:
    allowed = kinds(schema)
    if ANY in allowed:
        return True
    values = literals(schema)
    return "string" in allowed and schema.get("format") not in _NEVER_DIGITS and (values is None or digits in values)
