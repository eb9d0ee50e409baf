"""The worker of Vardy, and the shared half that its API builds on.

A module of functions needs only the three names exported here. They are loaded when
first asked for, so that the sandbox's child processes, which live in this package too,
stay small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_worker.functions.context import CallContext, FunctionError
    from vardy_worker.functions.registry import Functions

__all__ = ["CallContext", "FunctionError", "Functions"]

_HOMES = {
    "CallContext": "vardy_worker.functions.context",
    "FunctionError": "vardy_worker.functions.context",
    "Functions": "vardy_worker.functions.registry",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415 - only whoever asks for a name pays for it

    return getattr(import_module(_HOMES[name]), name)
