"""The API's description as tests look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema

if TYPE_CHECKING:
    from collections.abc import Iterator


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def check(document: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    """Raises where the value does not fit the schema of the document; formats count."""
    whole = {**schema, "components": document["components"]}
    jsonschema.Draft202012Validator(whole, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER).validate(
        value
    )
