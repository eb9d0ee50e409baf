"""What must hold of a recipe before it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import pointer_get
from vardy_worker.contracts.errors import RequestError
from vardy_worker.programs.checking import check, functions_called

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.program import Finding


def check_recipe_source(source: str, catalogue: Catalogue, *, program_bytes_max: int) -> tuple[Finding, ...]:
    """The warnings of a recipe's program. Raises `recipe.invalid` with every finding."""
    size = len(source.encode())
    if size > program_bytes_max:
        raise RequestError(
            f"The program has {size} bytes; at most {program_bytes_max} are allowed.",
            code="recipe.invalid",
            details={"limit": "program_bytes_max", "value": size},
        )
    findings = check(source, catalogue)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        first = errors[0]
        raise RequestError(
            f"The program does not validate: line {first.line}, column {first.column}: {first.message}",
            code="recipe.invalid",
            details={"problems": [finding.model_dump(mode="json") for finding in findings]},
        )
    return findings


def pinned_versions(source: str, catalogue: Catalogue) -> dict[str, str]:
    """The functions that a program calls, each with its present version."""
    called = (catalogue.get(name) for name in functions_called(source, catalogue))
    return {spec.name: spec.version for spec in called if spec is not None}


def check_params_schema(schema: JsonObject) -> None:
    """Raises `recipe.invalid` unless this is a JSON Schema (2020-12) of an object."""
    import jsonschema  # noqa: PLC0415 - needed only when a recipe is saved, and slow to load

    problem = ""
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        problem = f"params_schema is not a JSON Schema (2020-12): {error.message}"
    if not problem and schema.get("type") != "object":
        problem = 'params_schema must say {"type": "object"}: params are always an object.'
    if not problem:
        from vardy_worker.json_schemas import pattern_problem  # noqa: PLC0415 - the same

        problem = pattern_problem(schema)
    if not problem and (reference := _lost_reference(schema, schema)):
        problem = f"params_schema refers to {reference[:100]}, which is no place in itself."
    if problem:
        details = {"problems": [{"at": "/params_schema", "message": problem}]}
        raise RequestError(problem, code="recipe.invalid", details=details)


def _lost_reference(node: JsonValue, schema: JsonObject) -> str:
    """The first `$ref` that leads nowhere, or out of the schema: a worker must not fetch it. "" without one."""
    if isinstance(node, dict):
        for name in ("$ref", "$dynamicRef"):
            reference = node.get(name)
            if isinstance(reference, str) and not _leads_inside(reference, schema):
                return reference
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return next((lost for item in inner if (lost := _lost_reference(item, schema))), "")


def _leads_inside(reference: str, schema: JsonObject) -> bool:
    if not reference.startswith("#"):
        return False
    try:
        pointer_get(schema, reference[1:])
    except (LookupError, ValueError):
        return False
    return True
