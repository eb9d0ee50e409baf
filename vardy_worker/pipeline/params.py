"""Whether params fit a recipe's schema; names the field and the rule, never the value."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.json_schemas import schema_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jsonschema import ValidationError

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.recipe import Recipe

PROBLEMS_MAX = 50
"""Problems that are told; the first is in the sentence."""
KNOWN_TOLD_MAX = 20
"""Fields that are told where one is not among them."""
NAME_CHARACTERS_MAX = 100
"""Characters of a field's name that are told: it may be part of what was given."""
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
    found = {key: tell for error in errors for key, tell in _problems(error)}
    if not found:
        return None
    first = sorted(found, key=itemgetter(0))[:PROBLEMS_MAX]
    problems: list[JsonObject] = [{"at": at, "rule": rule, "message": found[at, rule]()} for at, rule in first]
    rest = f" ({len(found) - 1} more)" if len(found) > 1 else ""
    return ErrorInfo(
        code="validation.params",
        message=f"The params do not fit recipe {recipe.name}: {problems[0]['message']}{rest}",
        details={"recipe": recipe.name, "version": recipe.version, "problems": problems},
    )


def _problems(error: ValidationError) -> Iterator[tuple[tuple[str, str], Callable[[], str]]]:
    """One for each field where the rule tells which fields it is about, else one for the place.

    Each is its pointer and rule, and what makes its sentence: there may be far more than are told.
    """
    rule, expected = str(error.validator or "false"), error.validator_value
    path = tuple(part[:NAME_CHARACTERS_MAX] if isinstance(part, str) else part for part in error.absolute_path)
    schema = error.schema if isinstance(error.schema, dict) else {}
    if rule == "required" and isinstance(expected, list) and isinstance(error.instance, dict):
        for name in expected:
            if name not in error.instance:
                yield _problem((*path, name), rule, lambda: "is missing.")
    elif rule == "additionalProperties" and expected is False and isinstance(error.instance, dict):
        known = schema.get("properties", {})
        for name in error.instance:
            if name not in known:
                told = name[:NAME_CHARACTERS_MAX]
                yield _problem((*path, told), rule, partial(_unknown, told, known))
    else:
        yield _problem(path, rule, lambda: f"{_broken(rule, expected)}.")


def _problem(
    path: tuple[str | int, ...], rule: str, broken: Callable[[], str]
) -> tuple[tuple[str, str], Callable[[], str]]:
    return (make_pointer(path), rule), lambda: f"{_field(path)} {broken()}"


def _field(path: tuple[str | int, ...]) -> str:
    return f"`{'.'.join(map(str, path))}`" if path else "The object"


def _broken(rule: str, expected: JsonValue) -> str:
    """What is wrong with a value, in the words of the schema."""
    if rule == "false":
        return "is not allowed"
    if rule == "type":
        return f"must be of type {' or '.join(expected) if isinstance(expected, list) else expected}"
    if rule in {"anyOf", "oneOf"}:
        return f"must fit {'one' if rule == 'anyOf' else 'exactly one'} of the {len(expected)} forms in its schema"
    text = json.dumps(expected, ensure_ascii=False)
    if len(text) > EXPECTED_CHARACTERS_MAX:
        return f"does not fit `{rule}` in its schema"
    return f"must be one of {text}" if rule == "enum" else f"does not fit `{rule}: {text}`"


def _unknown(name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = get_close_matches(name, names, n=1)
    if near:
        return f"is not known; did you mean `{near[0]}`?"
    if not names:
        return "is not known; there are no fields."
    told, others = names[:KNOWN_TOLD_MAX], len(names) - KNOWN_TOLD_MAX
    more = f" and {others} more" if others > 0 else ""
    return f"is not known; known are {', '.join(f'`{each}`' for each in told)}{more}."
