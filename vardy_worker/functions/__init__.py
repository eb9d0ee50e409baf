"""The company's functions: registration, schemas, declarations, and (worker only) calling them."""

from __future__ import annotations

from vardy_worker.functions.catalogue import build_catalogue
from vardy_worker.functions.context import CallContext, FunctionError
from vardy_worker.functions.declarations import declarations_for
from vardy_worker.functions.loading import load_functions
from vardy_worker.functions.registry import Functions

__all__ = [
    "CallContext",
    "FunctionError",
    "Functions",
    "build_catalogue",
    "declarations_for",
    "load_functions",
]
