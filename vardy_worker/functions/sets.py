"""Sets in JSON: written as lists, in an order that does not depend on the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import JsonObject, JsonValue, canonical_json, safe_integers
from vardy_worker.functions.subschema import alternatives, step

if TYPE_CHECKING:
    from vardy_worker.functions.subschema import Alternatives

_SET = "uniqueItems"
"""How the schema of a set differs from that of a list."""


def has_sets(schema: JsonValue) -> bool:
    """Whether a schema has a set anywhere."""
    if isinstance(schema, list):
        return any(has_sets(item) for item in schema)
    return isinstance(schema, dict) and (schema.get(_SET) is True or any(has_sets(item) for item in schema.values()))


def sort_sets(value: JsonValue, schema: JsonObject) -> JsonValue:
    """The value with the items of each set in order.

    Python iterates over a set in another order in every process, and equal plans must
    have equal bytes.
    """
    return _sort(value, alternatives(schema, schema), schema)


def _sort(value: JsonValue, places: Alternatives, root: JsonObject) -> JsonValue:
    if isinstance(value, dict):
        return {key: _sort(item, step(places, key, root), root) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [_sort(item, step(places, str(index), root), root) for index, item in enumerate(value)]
    return sorted(items, key=_rank) if any(place.get(_SET) is True for place in places) else items


def _rank(item: JsonValue) -> tuple[int, float, bytes]:
    if isinstance(item, int | float):
        return (0, item, b"")
    return (1, 0, canonical_json(safe_integers(item)))
