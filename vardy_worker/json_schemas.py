"""JSON Schema (2020-12) whose patterns cannot hold a process up.

Python's `re` backtracks, and keeps every other thread of the process waiting meanwhile:
`^(a+)+$` on forty letters takes hours. Patterns run here in an engine whose time is linear
in the text; it has neither look-around nor back-references.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from pydantic_core import SchemaError, SchemaValidator, core_schema
from pydantic_core import ValidationError as NoMatch
from referencing import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jsonschema.protocols import Validator

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.functions import FunctionSpec

_DATA: Final = frozenset({"const", "default", "enum", "examples"})
_BY_NAME: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
PATTERNS_KEPT: Final = 256


def schema_validator(schema: JsonObject) -> Validator:
    """A validator of one schema. Raises nothing before it is used.

    What a schema refers to is looked for in itself alone: by default the library would fetch it.
    """
    return validator_class()(schema, registry=Registry())


def result_problem(function: FunctionSpec, result: JsonValue) -> str | None:
    """What is wrong with a value as the result of a function, in a sentence without the value; or None."""
    error = next(iter(schema_validator(function.output_schema).iter_errors(result)), None)
    if error is None:
        return None
    if result is None:
        return f"The plan or the output refers to what {function.name} returned, so the result is needed."
    place = "/".join(str(part) for part in error.absolute_path)
    where = f"/{place}" if place else "the result"
    return f"The result does not fit {function.name}: {where} breaks {error.validator} {error.validator_value!r}."


@lru_cache(maxsize=1)
def validator_class() -> Callable[..., Validator]:
    """The class of all validators, to be extended further."""
    made: Callable[..., Validator] = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call] # the stubs leave it untyped
    return made


def pattern_problem(schema: JsonValue) -> str:
    """What is wrong with the first pattern that cannot be used, in a sentence; "" when all can."""
    return next(_problems(schema), "")


def _problems(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, list):
        for inner in schema:
            yield from _problems(inner)
    elif isinstance(schema, dict):
        if "patternProperties" in schema:
            yield "patternProperties cannot be used: name the properties, or describe them all with propertyNames."
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and _matcher(pattern) is None:
            yield f"The pattern {pattern[:100]!r} is not one, or needs look-around or back-references."
        for key, inner in schema.items():
            if key in _BY_NAME and isinstance(inner, dict):
                yield from _problems(list(inner.values()))
            elif key not in _DATA:
                yield from _problems(inner)


@lru_cache(maxsize=PATTERNS_KEPT)
def _matcher(pattern: str) -> SchemaValidator | None:
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, strict=True))
    except SchemaError:
        return None


def _pattern(validator: Validator, pattern: str, instance: Any, _schema: JsonObject) -> Iterator[ValidationError]:
    matcher = _matcher(pattern) if validator.is_type(instance, "string") else None
    if matcher is None:
        # Only a function's own type can have such a pattern, and that type checks it too.
        return
    try:
        matcher.validate_python(instance)
    except NoMatch:
        yield ValidationError("does not match the pattern")
