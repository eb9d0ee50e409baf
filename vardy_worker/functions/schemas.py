"""JSON Schemas of arguments and results, and the digest that names a function's version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema

from vardy_worker.contracts.base import JsonObject, JsonValue, sha256_json
from vardy_worker.contracts.errors import RegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import core_schema

    from vardy_worker.functions.registry import Registered

_NAMED = frozenset({"properties", "$defs", "patternProperties"})
"""Keywords whose keys are names of the company, not keywords."""

_DATA = frozenset({"default", "const", "enum", "examples"})
"""Keywords whose values are data, not schemas."""

_COMMENTS = frozenset({"title", "description", "examples", "deprecated"})
"""Keywords that change no call, so they may be mended without a new version."""


class SchemaGenerator(GenerateJsonSchema):
    """pydantic's generator, told how values really travel.

    Results always carry every field, also those with a default, and decimals say what
    they are.
    """

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """Whether the field is always there."""
        if self.mode == "serialization" and field["type"] != "typed-dict-field":
            return field.get("serialization_exclude_if") is None
        return super().field_is_required(field, total)

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> dict[str, Any]:
        """Iterators are refused: they can be read once only, and not stored."""
        return self.handle_invalid_for_json_schema(schema, "an iterator; use a list")

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> dict[str, Any]:
        """A string of digits; as an argument also a number."""
        made = super().decimal_schema(schema)
        text = made if made.get("type") == "string" else made["anyOf"][-1]
        text["format"] = "decimal"
        return made


def input_schema(function: Registered) -> JsonObject:
    """The schema of the argument object, with the defaults of arguments that may be left out."""
    types = function.types()
    schema = _generate(function.name, lambda: types.arguments.json_schema(schema_generator=SchemaGenerator))
    for name, default in types.defaults.items():
        _add_default(schema["properties"], name, default)
    schema.setdefault("properties", {})
    schema.setdefault("required", [])
    _refuse_lossy_arguments(function, schema)
    return schema


def output_schema(function: Registered) -> JsonObject:
    """The schema of the result as programs get it."""
    types = function.types()
    return _generate(
        function.name, lambda: types.result.json_schema(mode="serialization", schema_generator=SchemaGenerator)
    )


def version_of(function: Registered, arguments: JsonObject, result: JsonObject) -> str:
    """A digest of everything that can change what a call means: schemas and options, no comments."""
    options = function.options
    return sha256_json(
        {
            "kind": function.kind.value,
            "input": without(arguments, _COMMENTS),
            "output": without(result, _COMMENTS),
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


def _generate(name: str, generate: Callable[[], JsonObject]) -> JsonObject:
    try:
        schema = generate()
    except PydanticInvalidForJsonSchema as error:
        raise RegistrationError(
            f"A type of {name!r} has no JSON form ({str(error).split(chr(10), 1)[0]}): "
            "use a pydantic model, a dataclass, a TypedDict, or plain types."
        ) from error
    bare: JsonObject = without(schema, frozenset({"title"}))
    return bare


def _add_default(properties: JsonObject, name: str, default: JsonValue) -> None:
    properties[name] = {**properties[name], "default": default}


def _refuse_lossy_arguments(function: Registered, schema: JsonObject) -> None:
    """Arguments are stored in plans as JSON and read back: what does not survive that is refused."""
    for argument, inner in schema["properties"].items():
        if _is_secret(inner, schema, set()):
            raise RegistrationError(
                f"The argument {argument!r} of {function.name!r} holds a secret: arguments are stored in plans and "
                "shown to approvers, so let the function fetch the secret itself."
            )
    stored = _generate(
        function.name,
        lambda: function.types().arguments.json_schema(mode="serialization", schema_generator=SchemaGenerator),
    )
    written = stored.get("$defs", {})
    for model, definition in schema.get("$defs", {}).items():
        if model in written:
            _compare_fields(function.name, model, definition, written[model])


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
