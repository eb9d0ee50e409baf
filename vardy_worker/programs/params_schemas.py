"""Whether a recipe's params schema is one that a worker can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject


def params_schema_problem(schema: JsonObject) -> str:
    """What is wrong with a JSON Schema (2020-12) of the params object, in a sentence; "" when nothing is."""
    from vardy_worker.json_schemas import schema_problem  # noqa: PLC0415 - needed only when one is saved, slow to load

    if problem := schema_problem(schema, "params_schema"):
        return problem
    if schema.get("type") != "object":
        return 'params_schema must say {"type": "object"}: params are always an object.'
    return ""
