"""Whether params fit a recipe's schema; names the field and the rule, never the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.json_schemas import schema_validator

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.recipe import Recipe


def bad_params(recipe: Recipe, params: JsonObject) -> ErrorInfo | None:
    """`validation.params` with every problem in its details, or None when the params fit."""
    try:
        errors = list(schema_validator(recipe.params_schema).iter_errors(params))
    except RecursionError:
        return ErrorInfo(
            code="validation.params",
            message=f"The params schema of recipe {recipe.name} refers to itself without end; save a better one.",
            details={"recipe": recipe.name, "version": recipe.version, "problems": []},
        )
    problems = [
        {"at": make_pointer(tuple(error.absolute_path)), "rule": str(error.validator), "message": _explained(error)}
        for error in sorted(errors, key=lambda error: list(map(str, error.absolute_path)))
    ]
    if not problems:
        return None
    return ErrorInfo(
        code="validation.params",
        message=f"The params do not fit recipe {recipe.name}: {problems[0]['message']}",
        details={"recipe": recipe.name, "version": recipe.version, "problems": problems},
    )


def _explained(error: ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    subject = f"`{where}`" if where else "the object"
    expected = error.validator_value
    if error.validator == "required" and isinstance(expected, list) and isinstance(error.instance, dict):
        missing = ", ".join(f"`{name}`" for name in expected if name not in error.instance)
        return f"{missing} is missing."
    if error.validator == "type":
        return f"{subject} must be of type {expected}."
    if error.validator == "additionalProperties" and isinstance(error.schema, dict):
        known = ", ".join(f"`{name}`" for name in error.schema.get("properties", {}))
        return f"{subject} has an unknown field; known are {known or 'none'}."
    return f"{subject} does not fit `{error.validator}: {expected}`."
