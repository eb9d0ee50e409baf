"""The API, client, CLI and panel of Vardy.

`from vardy_api import Vardy` gives the Python client without loading a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_api.client import AsyncVardy, Decision, Vardy
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
    if name in __all__:
        # The server imports this package, too, and needs no client.
        from vardy_api import client, client_errors  # noqa: PLC0415 - for the reason above

        return getattr(client if hasattr(client, name) else client_errors, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
