"""The API, client, CLI and panel of Vardy.

`from vardy_api import Vardy` gives the Python client without loading a server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_api.client import Decision, Vardy
    from vardy_api.client_asyncio import AsyncVardy
    from vardy_api.client_errors import (
        ClientError,
        Conflict,
        Forbidden,
        Invalid,
        InvalidArguments,
        NotFound,
        PlanChanged,
        RateLimited,
        ServiceFailed,
        Unauthorized,
        Unreachable,
        VardyProblem,
        WaitTimeout,
    )

__all__ = [
    "AsyncVardy",
    "ClientError",
    "Conflict",
    "Decision",
    "Forbidden",
    "Invalid",
    "InvalidArguments",
    "NotFound",
    "PlanChanged",
    "RateLimited",
    "ServiceFailed",
    "Unauthorized",
    "Unreachable",
    "Vardy",
    "VardyProblem",
    "WaitTimeout",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    # The server imports this package, too, and needs no client; who blocks needs no asyncio.
    match name:
        case "Vardy" | "Decision":
            place = "client"
        case "AsyncVardy":
            place = "client_asyncio"
        case _:
            place = "client_errors"
    return getattr(import_module(f"vardy_api.{place}"), name)
