"""The example program of a prompt, made of one of the real functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import FunctionKind

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.functions import Catalogue, FunctionSpec

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PROPERTIES_SHOWN = 2
PLAIN_TYPES = frozenset({"string", "integer", "number", "boolean"})


def example_program(catalogue: Catalogue) -> str:
    """A program that makes one call and returns a small part of its result; "" without functions.

    The function is chosen by the catalogue alone: a read before a write, then one that
    returns a list, then one with an argument to show, then one with few required ones, then by name.
    """
    if not catalogue.functions:
        return ""
    spec = min(catalogue.functions, key=_rank)
    required, optional = _argument_names(spec)
    arguments = ", ".join(_argument(name) for name in required or optional[:1])
    call = f"{spec.name}({{ {arguments} }})" if arguments else f"{spec.name}()"
    if spec.kind is FunctionKind.WRITE:
        return f"async function run(params) {{\n  const done = await {call};\n  return {{ done }};\n}}\n"
    variable, returned = _returned(spec)
    return f"async function run(params) {{\n  const {variable} = await {call};\n  return {returned};\n}}\n"


def _rank(spec: FunctionSpec) -> tuple[bool, bool, bool, int, str]:
    required, optional = _argument_names(spec)
    is_list = _resolved(spec.output_schema, spec.output_schema).get("type") == "array"
    return spec.kind is FunctionKind.WRITE, not is_list, not (required or optional), len(required), spec.name


def _argument_names(spec: FunctionSpec) -> tuple[list[str], list[str]]:
    """The required and the optional arguments, as declared."""
    names = list(spec.input_schema.get("properties", {}))
    required = set(spec.input_schema.get("required", []))
    return [name for name in names if name in required], [name for name in names if name not in required]


def _argument(name: str) -> str:
    return f"{name}: params.{name}" if _PLAIN.fullmatch(name) else f'"{name}": params["{name}"]'


def _returned(spec: FunctionSpec) -> tuple[str, str]:
    """The name for the result, and the expression that `run` returns."""
    schema = _resolved(spec.output_schema, spec.output_schema)
    if schema.get("type") == "array":
        return "rows", "{ count: rows.length }"
    shown = [
        name
        for name, inner in schema.get("properties", {}).items()
        if _PLAIN.fullmatch(name) and _resolved(inner, spec.output_schema).get("type") in PLAIN_TYPES
    ][:PROPERTIES_SHOWN]
    if not shown:
        return "result", "{ result }"
    return "found", "{ " + ", ".join(f"{name}: found.{name}" for name in shown) + " }"


def _resolved(schema: JsonObject, document: JsonObject) -> JsonObject:
    """The schema that a `$ref` into `$defs` stands for; {} for one that leads nowhere."""
    for _ in range(len(document.get("$defs", {})) + 1):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = document.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
    return {}
