"""JSON Schemas of arguments and results, and the digest that names a function's version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.errors import PydanticInvalidForJsonSchema

from vardy_worker.contracts.base import JsonObject, JsonValue, sha256_json
from vardy_worker.contracts.errors import RegistrationError
from vardy_worker.functions.generator import SchemaGenerator

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.json_schema import JsonSchemaMode

    from vardy_worker.functions.registry import Registered
    from vardy_worker.functions.signature import FunctionTypes

_NAMED = frozenset({"properties", "$defs", "patternProperties"})
"""Keywords whose keys are names of the company, not keywords."""

_DATA = frozenset({"default", "const", "enum", "examples"})
"""Keywords whose values are data, not schemas."""

COMMENTS = frozenset({"title", "description", "examples", "deprecated"})
"""Keywords that change no call, so they may be mended without a new version."""


def input_schema(name: str, types: FunctionTypes) -> JsonObject:
    """The schema of the argument object, with the defaults of arguments that may be left out."""
    schema = _generate(name, types.arguments, "validation")
    for argument, default in types.defaults.items():
        schema["properties"][argument] = {**schema["properties"][argument], "default": default}
    schema.setdefault("properties", {})
    schema.setdefault("required", [])
    _refuse_lossy_arguments(name, schema, _generate(name, types.arguments, "serialization"))
    return schema


def output_schema(name: str, types: FunctionTypes) -> JsonObject:
    """The schema of the result as programs get it."""
    return _generate(name, types.result, "serialization")


def version_of(function: Registered) -> str:
    """A digest of everything that can change what a call means: schemas and options, no comments."""
    options = function.options
    return sha256_json(
        {
            "kind": function.kind.value,
            "input": without(function.input_schema, COMMENTS),
            "output": without(function.output_schema, COMMENTS),
            "timeout_seconds": options.timeout_seconds,
            "roles": list(options.roles),
            "idempotent": options.idempotent,
            "retries": options.retries,
            "key_valid_seconds": options.key_valid_seconds,
        }
    )


def without(schema: JsonValue, keywords: frozenset[str]) -> JsonValue:
    """A copy of a schema without the given keywords, at every depth; names and data stay."""
    if isinstance(schema, list):
        return [without(item, keywords) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: JsonObject = {}
    for key, value in schema.items():
        if key in keywords:
            continue
        if key in _NAMED and isinstance(value, dict):
            kept[key] = {name: without(inner, keywords) for name, inner in value.items()}
        else:
            kept[key] = value if key in _DATA else without(value, keywords)
    return kept


def _generate(name: str, adapter: TypeAdapter[Any], mode: JsonSchemaMode) -> JsonObject:
    try:
        schema = adapter.json_schema(mode=mode, schema_generator=SchemaGenerator)
    except PydanticInvalidForJsonSchema as error:
        raise RegistrationError(
            f"A type of {name!r} has no JSON form ({str(error).split(chr(10), 1)[0]}): "
            "use a pydantic model, a dataclass, a TypedDict, or plain types."
        ) from error
    bare: JsonObject = without(schema, frozenset({"title"}))
    return bare


def _refuse_lossy_arguments(name: str, read: JsonObject, written: JsonObject) -> None:
    """Arguments are stored in plans as JSON and read back: what does not survive that is refused."""
    for argument, inner in read["properties"].items():
        if _is_secret(inner, read, set()):
            raise RegistrationError(
                f"The argument {argument!r} of {name!r} holds a secret: arguments are stored in plans and "
                "shown to approvers, so let the function fetch the secret itself."
            )
    for model, definition in read.get("$defs", {}).items():
        if model in written.get("$defs", {}):
            _compare_fields(name, model, definition, written["$defs"][model])


def _is_secret(schema: JsonValue, root: JsonObject, followed: set[str]) -> bool:
    if isinstance(schema, list):
        return any(_is_secret(item, root, followed) for item in schema)
    if not isinstance(schema, dict):
        return False
    if schema.get("format") == "password":
        return True
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in followed:
        followed.add(reference)
        return _is_secret(root["$defs"].get(reference.removeprefix("#/$defs/")), root, followed)
    return any(
        _is_secret(list(value.values()) if key in _NAMED else value, root, followed)
        for key, value in schema.items()
        if key not in _DATA and key != "$defs"
    )


def _compare_fields(name: str, model: str, read: JsonObject, written: JsonObject) -> None:
    fields = set(read.get("properties", {}))
    kept = {field for field, inner in written.get("properties", {}).items() if not inner.get("readOnly")}
    if fields != kept:
        changed = ", ".join(sorted(fields ^ kept))
        raise RegistrationError(
            f"{model}, an argument type of {name!r}, loses or renames {changed} when it is written as JSON: plans "
            "store arguments as JSON and read them back, so give each field one alias and exclude none."
        )
