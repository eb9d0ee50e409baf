"""pydantic's generator of JSON Schemas, told how values really travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

if TYPE_CHECKING:
    from pydantic_core import core_schema


class SchemaGenerator(GenerateJsonSchema):
    """Results always carry every field, also those with a default, and decimals say what they are."""

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
