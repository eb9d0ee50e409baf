"""What a JSON Schema says of a value, reduced to what rules need: names, types, numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from vardy_worker.rules.language import BOOL, DOUBLE, DYN, INT, ITEM, STRING, ValueType, list_of, map_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.rules.language import Item, Path

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
DEPTH_MAX = 16
"""Levels of a schema that are followed, which ends recursive models; deeper is unknown."""
VALUE_DEPTH_MAX = 100
"""Levels of a value that rules look into."""

INT64_DIGITS_MAX = 20
"""Characters of the longest integer text that can be within 64 bits, sign included."""

_INTEGER_TEXT = re.compile(r"-?[0-9]+")
_MISFIT = "is not what its schema says"


class Unreadable(Exception):  # noqa: N818 - says what the value is, as its siblings in `errors` do
    """A value that an evaluation cannot be trusted with. The message does not contain it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One place in a value. `fields` are an object's; `closed` says that it has no others."""

    kind: Literal["any", "bool", "int", "number", "decimal", "string", "list", "object"] = "any"
    nullable: bool = False
    item: Shape | None = None
    fields: Mapping[str, Shape] = field(default_factory=lambda: MappingProxyType({}))
    closed: bool = False

    @property
    def numeric(self) -> bool:
        """Whether values can be added up."""
        return self.kind in {"int", "number", "decimal"}

    @property
    def type(self) -> ValueType:
        """The variable type. A list or object that may be null has none that could be checked."""
        if self.kind == "list":
            return DYN if self.nullable else list_of(self.item.type if self.item else DYN)
        plain = _TYPES[self.kind]
        if not self.nullable or plain == DYN:
            return plain
        return DYN if plain.of else replace(plain, nullable=True)

    def step(self, step: str | Item) -> Shape | None:
        """The shape one step further; None when there is certainly no such field."""
        if step is ITEM:
            return self.item or ANY if self.kind == "list" else ANY
        if self.kind == "object":
            return self.fields.get(step) or (None if self.closed else self.item or ANY)
        return ANY if self.kind == "any" else None


_TYPES: Mapping[str, ValueType] = MappingProxyType(
    {"any": DYN, "bool": BOOL, "int": INT, "number": DOUBLE, "decimal": STRING, "string": STRING, "object": map_of(DYN)}
)
_PYTHON: Mapping[str, type] = MappingProxyType(
    {"bool": bool, "int": int, "number": float, "decimal": str, "string": str, "list": list, "object": dict}
)
ANY = Shape()
_SCALARS: Mapping[str, Shape] = MappingProxyType(
    {"boolean": Shape("bool"), "integer": Shape("int"), "number": Shape("number"), "string": Shape("string")}
)


def walk(shape: Shape, path: Path) -> tuple[Shape | None, int]:
    """The shape at the end of a path; or None and how many steps could be taken."""
    for taken, step in enumerate(path):
        following = shape.step(step)
        if following is None:
            return None, taken
        shape = following
    return shape, len(path)


def shape_of(schema: JsonObject) -> Shape:
    """The shape of a whole schema, with its `$defs`."""
    return _shape(schema, schema.get("$defs", {}), 0)


def _shape(schema: Any, defs: Mapping[str, Any], depth: int) -> Shape:
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return ANY
    if "$ref" in schema:
        return _shape(defs.get(str(schema["$ref"]).rpartition("/")[2]), defs, depth + 1)
    variants = schema.get("anyOf") or schema.get("oneOf")
    kind = schema.get("type")
    if isinstance(kind, list):
        variants = [{**schema, "type": each} for each in kind]
    if variants:
        return _union(variants, defs, depth)
    if kind == "object":
        return _object(schema, defs, depth)
    if kind == "array":
        return Shape("list", item=ANY if "prefixItems" in schema else _shape(schema.get("items"), defs, depth + 1))
    if kind == "string" and schema.get("format") == "decimal":
        return Shape("decimal")
    return _SCALARS.get(kind, ANY) if isinstance(kind, str) else ANY


def _object(schema: JsonObject, defs: Mapping[str, Any], depth: int) -> Shape:
    fields = {name: _shape(part, defs, depth + 1) for name, part in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties", "properties" not in schema)
    item = _shape(others, defs, depth + 1) if isinstance(others, dict) else None
    return Shape("object", item=item, fields=MappingProxyType(fields), closed=others is False)


def _union(variants: list[Any], defs: Mapping[str, Any], depth: int) -> Shape:
    nullable = any(isinstance(each, dict) and each.get("type") == "null" for each in variants)
    shapes = [
        _shape(each, defs, depth + 1)
        for each in variants
        if not (isinstance(each, dict) and each.get("type") == "null")
    ]
    if not shapes:
        return ANY
    first = shapes[0]
    if any(shape != first for shape in shapes):
        # A Decimal argument may be given as a number, but it travels as text.
        if {shape.kind for shape in shapes} != {"number", "decimal"}:
            return ANY
        first = Shape("decimal")
    return Shape(first.kind, nullable or first.nullable, first.item, first.fields, first.closed)


def fit(shape: Shape, value: JsonValue, depth: int = 0) -> JsonValue:
    """The value as rules compare it: integers as integers, numbers as floats, decimals as texts.

    Plans hold integers beyond 2^53 as decimal strings; here they are integers again where
    the schema says so. Raises `Unreadable` for what an expression could misjudge, such as
    a value of another type than the schema's: comparing those is false, not an error.
    """
    if depth > VALUE_DEPTH_MAX:
        msg = f"is nested deeper than {VALUE_DEPTH_MAX} levels"
        raise Unreadable(msg)
    if value is None:
        if shape.nullable or shape.kind == "any":
            return None
        raise Unreadable(_MISFIT)
    if isinstance(value, list) and shape.kind in {"list", "any"}:
        return [fit(shape.item or ANY, each, depth + 1) for each in value]
    if isinstance(value, dict) and shape.kind in {"object", "any"}:
        others = shape.item or ANY
        return {key: fit(shape.fields.get(key, others), each, depth + 1) for key, each in value.items()}
    return _scalar(shape.kind, value)


def _scalar(kind: str, value: JsonValue) -> JsonValue:
    if isinstance(value, str) and kind in {"int", "number"} and _INTEGER_TEXT.fullmatch(value):
        value = int(value) if len(value) <= INT64_DIGITS_MAX else INT64_MAX + 1
    if isinstance(value, float) and not math.isfinite(value):
        msg = "is a number that is not finite"
        raise Unreadable(msg)
    if isinstance(value, float) and kind == "int" and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if kind == "number":
            return float(value)
        if not INT64_MIN <= value <= INT64_MAX:
            msg = "is an integer beyond 64 bits, which rules cannot compare"
            raise Unreadable(msg)
    if kind == "decimal" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(Decimal(repr(value)))
    expected = _PYTHON.get(kind, object)
    if not isinstance(value, expected) or (isinstance(value, bool) and kind == "int"):
        raise Unreadable(_MISFIT)
    return value
