"""TypeScript of JSON Schemas, as programs meet the values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from vardy_worker.contracts.base import INT_SAFE_MAX, JsonObject, JsonValue
from vardy_worker.functions.subschema import FORMATS, literals

if TYPE_CHECKING:
    from collections.abc import Callable

    NameOf = Callable[[str], str]

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_LINE_ENDS = re.compile(r"\r\n|[\n\r\u2028\u2029\x85\x0b\x0c]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")

LINE_LENGTH_MAX = 110
"""An argument object longer than this is spread over lines."""

_LIMITS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
)
_LENGTHS = (("minLength", "maxLength", "characters"), ("minItems", "maxItems", "items"))


def type_text(schema: JsonObject | bool, name_of: NameOf) -> str:
    """The type of a schema in one line; `name_of` turns the key of a `$defs` entry into its TypeScript name."""
    if isinstance(schema, bool):
        return "any" if schema else "never"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return name_of(reference.removeprefix("#/$defs/"))
    values = literals(schema)
    if values is not None:
        return " | ".join(_literal(value) for value in values)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _union([type_text(branch, name_of) for branch in schema[union]])
    if len(schema.get("allOf", ())) == 1:
        return type_text(schema["allOf"][0], name_of)
    declared = schema.get("type")
    if isinstance(declared, list):
        return _union([type_text({**schema, "type": kind}, name_of) for kind in declared])
    return _plain(declared, schema, name_of)


def _plain(declared: str | None, schema: JsonObject, name_of: NameOf) -> str:
    match declared:
        case "integer":
            return "number | bigint" if _is_wide(schema) else "number"
        case "number" | "boolean" | "null":
            return declared
        case "string":
            form = schema.get("format", "")
            return f"string /* {FORMATS.get(form, comment_safe(form))} */" if form else "string"
        case "array":
            return _array(schema, name_of)
        case "object":
            return _object(schema, name_of)
        case _:
            return "any"


def _is_wide(schema: JsonObject) -> bool:
    """Whether the schema itself says that integers beyond 2^53 are meant."""
    bounds = [abs(schema[key]) for key in ("minimum", "maximum", "exclusiveMaximum") if key in schema]
    return any(bound > INT_SAFE_MAX for bound in bounds)


def _array(schema: JsonObject, name_of: NameOf) -> str:
    first = schema.get("prefixItems")
    if first:
        return "[" + ", ".join(type_text(item, name_of) for item in first) + "]"
    item = type_text(schema.get("items", {}), name_of)
    return f"({item})[]" if " | " in item or "/*" in item else f"{item}[]"


def _object(schema: JsonObject, name_of: NameOf) -> str:
    if schema.get("properties"):
        return "{" + "; ".join(_member(name, inner, schema, name_of) for name, inner in properties(schema)) + "}"
    rest = schema.get("additionalProperties", True)
    return "{}" if rest is False else f"Record<string, {type_text(rest, name_of)}>"


def _union(texts: list[str]) -> str:
    return " | ".join(dict.fromkeys(texts))


def _literal(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def properties(schema: JsonObject) -> list[tuple[str, JsonObject]]:
    """The properties of an object schema, in order."""
    return list(schema.get("properties", {}).items())


def _member(name: str, inner: JsonObject, schema: JsonObject, name_of: NameOf) -> str:
    key = name if _IDENTIFIER.match(name) else json.dumps(name, ensure_ascii=False)
    mark = "" if name in schema.get("required", ()) else "?"
    return f"{key}{mark}: {type_text(inner, name_of)}"


def object_text(schema: JsonObject, name_of: NameOf) -> str:
    """An object type; over several lines when it is long or its members have comments."""
    required = schema.get("required", ())
    members = [
        (_member(name, inner, schema, name_of), notes(inner, may_be_absent=name not in required))
        for name, inner in properties(schema)
    ]
    line = "{" + "; ".join(member for member, _ in members) + "}"
    if len(line) <= LINE_LENGTH_MAX and not any(note for _, note in members):
        return line
    lines: list[str] = []
    for member, note in members:
        if note:
            lines.extend(comment(note, indent="  "))
        lines.append(f"  {member};")
    return "{\n" + "\n".join(lines) + "\n}"


def definition_text(name: str, schema: JsonObject, name_of: NameOf) -> str:
    """The interface or type of one `$defs` entry, with its description."""
    described = schema.get("description", "")
    head = "\n".join(comment(described)) + "\n" if described else ""
    if schema.get("type") == "object" and schema.get("properties"):
        body = object_text(schema, name_of)
        return f"{head}interface {name} {body}"
    return f"{head}type {name} = {type_text(schema, name_of)};"


def notes(schema: JsonObject, *, may_be_absent: bool) -> str:
    """Description, limits and, if it may be left out, the default of a property, as text for a comment."""
    limits = [text.format(schema[key]) for key, text in _LIMITS if key in schema and not _is_wide_limit(schema, key)]
    limits.extend(_length(schema.get(least), schema.get(most), unit) for least, most, unit in _LENGTHS)
    if "pattern" in schema and schema.get("format") != "decimal":
        limits.append(f"matches {schema['pattern']}")
    if may_be_absent and schema.get("default") not in (None, "", [], {}):
        limits.append(f"default {_literal(schema['default'])}")
    parts = [str(schema.get("description", "")).rstrip(), "; ".join(limit for limit in limits if limit)]
    return " · ".join(part for part in parts if part)


def _length(least: int | None, most: int | None, unit: str) -> str:
    """A length limit in words; empty when there is none."""
    if most is None:
        return "not empty" if least == 1 else f"at least {least} {unit}" if least else ""
    return f"{least} to {most} {unit}" if least else f"at most {most} {unit}"


def _is_wide_limit(schema: JsonObject, key: str) -> bool:
    return key in {"minimum", "maximum", "exclusiveMaximum"} and abs(schema[key]) > INT_SAFE_MAX


def comment(text: str, *, indent: str = "") -> list[str]:
    """The lines of a JSDoc comment that the text cannot end early."""
    lines = [comment_safe(line).rstrip() for line in _LINE_ENDS.split(text.strip())]
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    body = [f"{indent} * {line}".rstrip() for line in lines]
    return [f"{indent}/**", *body, f"{indent} */"]


def comment_safe(text: str) -> str:
    """The text without control characters and without anything that would end or open a comment."""
    return _CONTROLS.sub("", text).replace("*/", "*\\/").replace("/*", "/\\*")
