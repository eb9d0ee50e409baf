"""Whether a recipe's params schema is one that a worker can use."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Container

    from vardy_worker.contracts.base import JsonObject, JsonValue

MESSAGE_CHARACTERS_MAX = 300
"""Of what the library says, which repeats the part of the schema that it is about."""


def params_schema_problem(schema: JsonObject) -> str:
    """What is wrong with a JSON Schema (2020-12) of the params object, in a sentence; "" when nothing is."""
    import jsonschema  # noqa: PLC0415 - needed only when a recipe is saved, and slow to load

    from vardy_worker.json_schemas import pattern_problem, subschemas  # noqa: PLC0415 - the same

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"params_schema is not a JSON Schema (2020-12): {error.message[:MESSAGE_CHARACTERS_MAX]}"
    except RecursionError:
        return "params_schema has too many levels."
    if schema.get("type") != "object":
        return 'params_schema must say {"type": "object"}: params are always an object.'
    if problem := pattern_problem(schema):
        return problem
    places = dict(subschemas(schema))
    return next(filter(None, (_reference_problem(at, part, places) for at, part in places.items())), "")


def _reference_problem(at: str, part: JsonValue, places: Container[str]) -> str:
    """What is wrong with where a part of the schema refers to: a worker looks for it in the schema alone."""
    if not isinstance(part, dict):
        return ""
    if at and "$id" in part:
        return f"params_schema has an `$id` at {at}; only the whole of it may have one."
    for name in ("$ref", "$dynamicRef"):
        reference = str(part.get(name, "#"))
        if not reference.startswith("#") or unquote(reference[1:]) not in places:
            shown = reference[:100]
            return f"params_schema refers to {shown}, which is no schema in it: refer to one as #/$defs/NAME."
    return ""
