"""Whether a recipe's params schema is one that a worker can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import pointer_get

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject, JsonValue


def params_schema_problem(schema: JsonObject) -> str:
    """What is wrong with a JSON Schema (2020-12) of the params object, in a sentence; "" when nothing is."""
    import jsonschema  # noqa: PLC0415 - needed only when a recipe is saved, and slow to load

    from vardy_worker.json_schemas import pattern_problem  # noqa: PLC0415 - the same

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"params_schema is not a JSON Schema (2020-12): {error.message}"
    except RecursionError:
        return "params_schema has too many levels."
    if schema.get("type") != "object":
        return 'params_schema must say {"type": "object"}: params are always an object.'
    if problem := pattern_problem(schema):
        return problem
    reference = _lost_reference(schema, schema)
    return f"params_schema refers to {reference[:100]}, which is no place in itself." if reference else ""


def _lost_reference(node: JsonValue, schema: JsonObject) -> str:
    """The first `$ref` that leads nowhere, or out of the schema: a worker must not fetch it. "" without one."""
    if isinstance(node, dict):
        for name in ("$ref", "$dynamicRef"):
            reference = node.get(name)
            if isinstance(reference, str) and not _leads_inside(reference, schema):
                return reference
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return next((lost for item in inner if (lost := _lost_reference(item, schema))), "")


def _leads_inside(reference: str, schema: JsonObject) -> bool:
    if not reference.startswith("#"):
        return False
    try:
        pointer_get(schema, reference[1:])
    except (LookupError, ValueError):
        return False
    return True
