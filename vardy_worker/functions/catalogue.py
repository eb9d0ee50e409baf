"""The catalogue: what the rest of Vardy knows of the registered functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import Catalogue, FunctionSpec
from vardy_worker.functions.declarations import render
from vardy_worker.functions.schemas import version_of

if TYPE_CHECKING:
    from vardy_worker.functions.registry import Functions


def build_catalogue(functions: Functions) -> Catalogue:
    """Describes every function, sorted by name.

    Raises `RegistrationError` for types that cannot be described.
    """
    declared, types = render(functions)
    specs: list[FunctionSpec] = []
    for function in sorted(functions, key=lambda registered: registered.name):
        options = function.options
        specs.append(
            FunctionSpec(
                name=function.name,
                kind=function.kind,
                doc=function.doc,
                input_schema=function.input_schema,
                output_schema=function.output_schema,
                declaration=declared[function.name],
                version=version_of(function),
                roles=options.roles,
                idempotent=options.idempotent,
                timeout_seconds=options.timeout_seconds,
                retries=options.retries,
                key_valid_seconds=options.key_valid_seconds,
            )
        )
    return Catalogue(functions=tuple(specs), types=types)
