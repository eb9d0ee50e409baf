"""Looking into JSON Schemas: what they say of one place of a value.

A place is described by its *alternatives*: the schemas of which one must hold there,
with references followed and unions opened. Only what pydantic generates is understood;
anything else counts as "any value", so that no doubt is turned into a refusal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from vardy_worker.contracts.base import JsonObject, JsonValue, array_index, pointer_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Alternatives: TypeAlias = "tuple[JsonObject, ...]"

ANY = "any"
"""The kind of a schema that does not restrict the JSON type."""

WORDS_MAX = 20
"""Alternatives that a sentence names."""

FORMATS = {
    "date": "YYYY-MM-DD",
    "date-time": "ISO date and time",
    "time": "ISO time",
    "duration": "ISO duration",
    "decimal": "decimal digits",
}
"""What the formats of strings are called."""

_UNIONS = ("anyOf", "oneOf", "allOf")
_OBJECT_KEYS = frozenset({"properties", "additionalProperties", "patternProperties", "required"})


def alternatives(schema: JsonObject | bool, root: JsonObject) -> Alternatives:
    """The alternatives of a schema; `root` holds its `$defs`."""
    found: list[JsonObject] = []
    _open(schema, root, found, set())
    return tuple(found)


def _open(schema: JsonObject | bool, root: JsonObject, found: list[JsonObject], followed: set[str]) -> None:
    if isinstance(schema, bool):
        if schema:
            found.append({})
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference not in followed:
            followed.add(reference)
            _open(root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {}), root, found, followed)
        return
    branches = [branch for union in _UNIONS for branch in schema.get(union, ())]
    if not branches:
        found.append(schema)
    for branch in branches:
        _open(branch, root, found, followed)


def kinds(schema: JsonObject) -> frozenset[str]:
    """The JSON types that an alternative allows, `integer` apart from `number`; `ANY` when it does not say."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(declared)
    values = literals(schema)
    if values is not None:
        return frozenset(kind_of(value) for value in values)
    if not _OBJECT_KEYS.isdisjoint(schema):
        return frozenset({"object"})
    return frozenset({ANY})


def literals(schema: JsonObject) -> list[JsonValue] | None:
    """The values of an enum or constant; None when it is neither."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def kind_of(value: JsonValue) -> str:
    """The JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"


def step(places: Iterable[JsonObject], token: str, root: JsonObject) -> Alternatives:
    """The alternatives one key or index further; empty when no alternative has such a place."""
    found: list[JsonObject] = []
    for schema in places:
        inner = _inner(schema, token)
        if inner is not None:
            _open(inner, root, found, set())
    return tuple(found)


def _inner(schema: JsonObject, token: str) -> JsonObject | bool | None:
    allowed = kinds(schema)
    if ANY in allowed:
        return {}
    if "object" in allowed:
        properties = schema.get("properties", {})
        if token in properties:
            inner: JsonObject | bool = properties[token]
            return inner
        rest = schema.get("additionalProperties")
        if rest is None:
            # A model's schema names all it has; one without properties is a plain mapping.
            return None if properties else {}
        return None if rest is False else rest
    index = array_index(token)
    if "array" in allowed and index is not None:
        first = schema.get("prefixItems", [])
        if index < len(first):
            item: JsonObject | bool = first[index]
            return item
        rest = schema.get("items", {} if not first else None)
        return None if rest is False else rest
    return None


def at_pointer(schema: JsonObject, pointer: str) -> Alternatives:
    """The alternatives at a JSON Pointer; empty when there is no such place."""
    places = alternatives(schema, schema)
    for token in pointer_parts(pointer):
        places = step(places, token, schema)
    return places


def expected(places: Sequence[JsonObject]) -> str:
    """What may stand at a place, for people and models: `integer, or null`."""
    words = list(dict.fromkeys(word for schema in places for word in _words(schema)))
    if len(words) > WORDS_MAX:
        words = [*words[:WORDS_MAX], f"one of {len(words) - WORDS_MAX} more"]
    if not words:
        return "nothing"
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + f", or {words[-1]}"


def _words(schema: JsonObject) -> list[str]:
    values = literals(schema)
    if values is not None:
        return [json.dumps(value, ensure_ascii=False) for value in values]
    return [_word(kind, schema) for kind in sorted(kinds(schema))]


def _word(kind: str, schema: JsonObject) -> str:
    if kind == "string" and "format" in schema:
        return f"a string ({FORMATS.get(schema['format'], schema['format'])})"
    if kind == "object" and schema.get("properties"):
        return "an object with " + ", ".join(schema["properties"])
    return _KIND_WORDS.get(kind, kind)


_KIND_WORDS: dict[str, str] = {
    ANY: "any value",
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "a list",
    "object": "an object",
}
