"""Whether params fit a recipe's schema; names the field and the rule, never the value."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING

from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.json_schemas import schema_validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import ValidationError

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.recipe import Recipe

PROBLEMS_MAX = 50
"""Problems that are told; the first is in the sentence."""
NAME_CHARACTERS_MAX = 100
"""Characters of an unknown field's name that are told."""
EXPECTED_CHARACTERS_MAX = 200
"""Characters of what a schema expects that are shown; of more, only the rule is named."""


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
    found = {(problem["at"], problem["rule"]): problem for error in errors for problem in _problems(error)}
    problems = sorted(found.values(), key=lambda problem: problem["at"])
    if not problems:
        return None
    rest = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    return ErrorInfo(
        code="validation.params",
        message=f"The params do not fit recipe {recipe.name}: {problems[0]['message']}{rest}",
        details={"recipe": recipe.name, "version": recipe.version, "problems": problems[:PROBLEMS_MAX]},
    )


def _problems(error: ValidationError) -> Iterator[JsonObject]:
    """One for each field where the rule tells which fields it is about, else one for the place."""
    path, rule, expected = tuple(error.absolute_path), str(error.validator), error.validator_value
    schema = error.schema if isinstance(error.schema, dict) else {}
    if rule == "required" and isinstance(expected, list) and isinstance(error.instance, dict):
        for name in expected:
            if name not in error.instance:
                yield _problem((*path, name), rule, f"{_field((*path, name))} is missing.")
    elif rule == "additionalProperties" and expected is False and isinstance(error.instance, dict):
        known = list(schema.get("properties", {}))
        for name in error.instance:
            if name not in known:
                field = (*path, name[:NAME_CHARACTERS_MAX])
                yield _problem(field, rule, f"{_field(field)} is not known{_near(name, known)}")
    else:
        yield _problem(path, rule, f"{_field(path)} {_broken(rule, expected)}.")


def _problem(path: tuple[str | int, ...], rule: str, message: str) -> JsonObject:
    return {"at": make_pointer(path), "rule": rule, "message": message}


def _field(path: tuple[str | int, ...]) -> str:
    return f"`{'.'.join(map(str, path))}`" if path else "The object"


def _broken(rule: str, expected: JsonValue) -> str:
    """What is wrong with a value, in the words of the schema."""
    if rule == "type":
        return f"must be of type {' or '.join(expected) if isinstance(expected, list) else expected}"
    if rule in {"anyOf", "oneOf"}:
        return f"must fit {'one' if rule == 'anyOf' else 'exactly one'} of the {len(expected)} forms in its schema"
    text = json.dumps(expected, ensure_ascii=False)
    if len(text) > EXPECTED_CHARACTERS_MAX:
        return f"does not fit `{rule}` in its schema"
    return f"must be one of {text}" if rule == "enum" else f"does not fit `{rule}: {text}`"


def _near(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; known are {', '.join(f'`{each}`' for each in known)}." if known else "; there are no fields."
