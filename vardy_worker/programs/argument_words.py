"""Schemas and values of arguments in words."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

from vardy_worker.programs.literals import literal_types
from vardy_worker.programs.syntax import FUNCTIONS, bare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.programs.nodes import Node

_TYPE_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_DEPTH_MAX = 32


def resolved(schema: Any, root: JsonObject) -> Any:
    """The schema that a reference leads to; any other schema as it is."""
    for _ in range(_DEPTH_MAX):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        name = schema["$ref"].rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        schema = root.get("$defs", {}).get(name, True)
    return True


def describe(schema: Any, root: JsonObject, depth: int = 0) -> str:
    """What a schema asks for, in words: `an integer`, `"open" or "paid"`, `a string or null`."""
    schema = resolved(schema, root)
    if not isinstance(schema, dict) or depth > _DEPTH_MAX:
        return "any value"
    if "enum" in schema:
        return one_of(schema["enum"])
    if "const" in schema:
        return one_of([schema["const"]])
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list) and options:
        return " or ".join(dict.fromkeys(describe(option, root, depth + 1) for option in options))
    types = schema.get("type")
    if types == "array" and "items" in schema:
        return f"an array of items that are {describe(schema['items'], root, depth + 1)}"
    names = [types] if isinstance(types, str) else types or []
    return " or ".join(_TYPE_WORDS.get(name, str(name)) for name in names) or "any value"


def one_of(values: Sequence[Any]) -> str:
    """Values that are allowed, in words: `"open" or "paid"`."""
    return " or ".join(dumps(value, ensure_ascii=False) for value in values)


_KIND_WORDS = {
    "string": "a string",
    "number": "a number",
    "template_string": "a string",
    "array": "an array",
    "object": "an object",
    "regex": "a regular expression",
}
_SHOWN = {"string": "the string ", "number": "the number ", "unary_expression": "", "true": "", "false": "", "null": ""}
_SHOWN_CHARS_MAX = 40


def words_for(node: Node) -> str:
    """What a literal is, in words, with its text when that is short."""
    node = bare(node)
    if node.kind in _SHOWN and len(node.text) <= _SHOWN_CHARS_MAX:
        return f"{_SHOWN[node.kind]}{node.text}"
    if node.kind in FUNCTIONS:
        return "a function"
    return _KIND_WORDS.get(node.kind) or " or ".join(_TYPE_WORDS[name] for name in _types_of(node)) or "this value"


def _types_of(node: Node) -> list[str]:
    kinds = literal_types(node) - {"integer"}
    return sorted(kinds) if kinds <= set(_TYPE_WORDS) else []
