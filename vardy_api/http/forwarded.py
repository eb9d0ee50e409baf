"""The address of the client behind proxies that the deployment trusts.

It goes into the audit trail, so nobody may choose it: `X-Forwarded-For` counts only where the
connection itself comes from a trusted proxy, and is read from its end, where that proxy wrote.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from ipaddress import IPv4Address, IPv6Address

    from starlette.types import ASGIApp, Receive, Scope, Send

HOPS_MAX = 32
"""Entries looked at, from the end."""


class TrustedProxies:
    """Puts the client's address into the place of the proxy's. Nothing else that a proxy says is believed."""

    def __init__(self, app: ASGIApp, *, trusted: Iterable[str]) -> None:
        """`trusted`: addresses and networks. Raises `ValueError` for anything else."""
        self._app = app
        self._trusted = tuple(ip_network(text) for text in trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if self._trusted and scope["type"] == "http" and scope.get("client"):
            peer = scope["client"][0]
            address = self._behind(peer, ",".join(Headers(scope=scope).getlist("x-forwarded-for")))
            if address != peer:
                scope = {**scope, "client": (address, 0)}
        await self._app(scope, receive, send)

    def _behind(self, peer: str, forwarded: str) -> str:
        """The first address from the end that is no trusted proxy; what is no address ends the search before it."""
        nearest = peer
        for entry in reversed(forwarded.split(",")[-HOPS_MAX:]):
            if not self._is_trusted(nearest):
                break
            address = _address(entry.strip())
            if address is None:
                break
            nearest = str(address)
        return nearest

    def _is_trusted(self, text: str) -> bool:
        address = _address(text)
        return address is not None and any(address in network for network in self._trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The address that an entry names, with or without a port; an IPv4 address in IPv6 clothes as IPv4."""
    host = text
    if text.startswith("["):
        host = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address
