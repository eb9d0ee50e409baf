"""The API, client, CLI and panel of Vardy.

`from vardy_api import Vardy, Decision` gives the Python client without loading a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_api.client import Decision, Vardy

__all__ = ["Decision", "Vardy"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from vardy_api import client  # noqa: PLC0415 - the server imports this package too, and needs no client

        return getattr(client, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
