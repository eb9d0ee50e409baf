"""JSON Schema (2020-12) that cannot hold a process up, and counts as people do.

Python's `re` backtracks, and keeps every other thread of the process waiting meanwhile:
`^(a+)+$` on forty letters takes hours. Patterns run here in an engine whose time is linear
in the text; it has neither look-around nor back-references. Nor is every item compared with
every other where all must differ, and references are followed a limited number of times.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator, FormatChecker, SchemaError, ValidationError
from jsonschema.validators import extend
from pydantic_core import SchemaError as NoPattern
from pydantic_core import SchemaValidator, core_schema
from pydantic_core import ValidationError as NoMatch
from referencing import Registry

from vardy_worker.contracts.base import make_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator

    from jsonschema.protocols import Validator

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.functions import FunctionSpec

_DATA: Final = frozenset({"const", "default", "enum", "examples"})
_BY_NAME: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_IN_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_ALONE: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_TYPES_MAX: Final = 7
"""Names of types that there are."""
PATTERNS_KEPT: Final = 256
SCHEMA_BYTES_MAX: Final = 32 * 1024
"""Of a schema as JSON; the library takes seconds to look at a larger one."""
_QUOTED_MAX: Final = 300
"""Characters of what the library says, which repeats the part of the schema that it is about."""
REFERENCES_MAX: Final = 100_000
"""References that are followed for one value, which takes a few seconds."""


class EndlessReferencesError(RecursionError):
    """A schema refers to itself so often that one value would keep a process busy."""


class _Followed(FormatChecker):
    """Counts the references that a validator follows: it is what goes along into every part of a schema.

    Formats are not checked, as without it.
    """

    def __init__(self) -> None:
        super().__init__(formats=())
        self._left = REFERENCES_MAX

    def one_more(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise EndlessReferencesError


def schema_validator(schema: JsonObject) -> Validator:
    """A validator of one value by one schema. Raises nothing before it is used, then `EndlessReferencesError`.

    What a schema refers to is looked for in itself alone: by default the library would fetch it.
    Any part is of the same version, whatever it says: the library would take another validator there.
    """
    return validator_class()(_without_versions(schema), registry=Registry(), format_checker=_Followed())


def _without_versions(schema: JsonValue, *, is_by_name: bool = False) -> Any:
    if isinstance(schema, list):
        return [_without_versions(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if is_by_name:
        return {name: _without_versions(inner) for name, inner in schema.items()}
    return {
        key: inner if key in _DATA else _without_versions(inner, is_by_name=key in _BY_NAME)
        for key, inner in schema.items()
        if key != "$schema"
    }


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
    keywords = {
        "$dynamicRef": _counted("$dynamicRef"),
        "$ref": _counted("$ref"),
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "properties": _properties,
        "uniqueItems": _unique_items,
    }
    made: Callable[..., Validator] = extend(Draft202012Validator, keywords)  # type: ignore[no-untyped-call] # the stubs leave it untyped
    return made


def schema_problem(schema: JsonObject, subject: str) -> str:
    """What is wrong with a JSON Schema that somebody wrote, in a sentence about the `subject`; "" when nothing is."""
    try:
        size = len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if size > SCHEMA_BYTES_MAX:
            return f"{subject} has {size} bytes; at most {SCHEMA_BYTES_MAX} are allowed."
        if _has_endless_types(schema):
            return f"{subject} is no JSON Schema (2020-12): a `type` has more names than there are types."
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"{subject} is no JSON Schema (2020-12): {error.message[:_QUOTED_MAX]}"
    except RecursionError:
        return f"{subject} has too many levels."
    if problem := pattern_problem(schema):
        return problem
    places = dict(subschemas(schema))
    return next(filter(None, (_reference_problem(at, part, places, subject) for at, part in places.items())), "")


def _has_endless_types(schema: JsonValue) -> bool:
    """Whether a list of types is so long that the library would compare each with each for minutes."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            types = node.get("type")
            if isinstance(types, list) and len(types) > _TYPES_MAX:
                return True
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False


def _reference_problem(at: str, part: JsonValue, places: Container[str], subject: str) -> str:
    """What is wrong with where a part of a schema refers to: it is looked for in the schema alone."""
    if not isinstance(part, dict):
        return ""
    if at and "$id" in part:
        return f"{subject} has an `$id` at {at}; only the whole of it may have one."
    for name in ("$ref", "$dynamicRef"):
        reference = str(part.get(name, "#"))
        if not reference.startswith("#") or unquote(reference[1:]) not in places:
            shown = reference[:100]
            return f"{subject} refers to {shown}, which is no schema in it: refer to one as #/$defs/NAME."
    return ""


def pattern_problem(schema: JsonValue) -> str:
    """What is wrong with the first pattern that cannot be used, in a sentence; "" when all can."""
    return next(_problems(schema), "")


def subschemas(schema: JsonValue, at: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Each place of a schema that is one itself, by JSON pointer."""
    yield at, schema
    if not isinstance(schema, dict):
        return
    for key, inner in schema.items():
        if key in _BY_NAME and isinstance(inner, dict):
            for name, part in inner.items():
                yield from subschemas(part, at + make_pointer((key, name)))
        elif key in _IN_LISTS and isinstance(inner, list):
            for index, part in enumerate(inner):
                yield from subschemas(part, at + make_pointer((key, index)))
        elif key in _ALONE:
            yield from subschemas(inner, at + make_pointer((key,)))


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
    except NoPattern:
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


def _counted(keyword: str) -> Callable[..., Iterator[ValidationError]]:
    follow = Draft202012Validator.VALIDATORS[keyword]

    def counted(validator: Any, reference: str, instance: Any, schema: JsonObject) -> Iterator[ValidationError]:
        if isinstance(validator.format_checker, _Followed):
            validator.format_checker.one_more()
        yield from follow(validator, reference, instance, schema) or ()

    return counted


def _multiple_of(validator: Validator, divisor: float, instance: Any, _schema: JsonObject) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "number"):
        return
    endless = isinstance(instance, float) and not isfinite(instance)
    if endless or _exact(instance) % _exact(divisor):
        yield ValidationError("is not a multiple")


def _exact(number: float) -> Fraction:
    """A float as the decimal that it is written as: 19.99 is a multiple of 0.01."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _properties(validator: Any, named: JsonObject, instance: Any, _schema: JsonObject) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for name, schema in named.items():
        if name not in instance:
            continue
        if schema is False:
            # The library does not say where.
            yield ValidationError("is not allowed", path=(name,), validator="false", validator_value=False)
        else:
            yield from validator.descend(instance[name], schema, path=name, schema_path=name)


def _unique_items(validator: Validator, unique: bool, instance: Any, _schema: JsonObject) -> Iterator[ValidationError]:
    if unique and validator.is_type(instance, "array") and len({_identity(item) for item in instance}) < len(instance):
        yield ValidationError("has the same item twice")


def _identity(value: JsonValue) -> Hashable:
    """What is the same for values that JSON Schema takes for equal, and for no others: 1 and 1.0, but not true."""
    if isinstance(value, dict):
        return "object", frozenset((name, _identity(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_identity, value))
    return isinstance(value, bool), value
