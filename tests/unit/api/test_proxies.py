"""The address in the audit trail: the peer's, or what a proxy that is trusted says of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.api import ApiWorld, run_body
from tests.support.serving import served
from vardy_api.http.forwarded import HOPS_MAX, TrustedProxies
from vardy_worker.contracts.audit import Action, AuditFilter
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.settings import load_settings

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from tests.support.api import LoopThread


def seen(*forwarded: str, peer: str = "10.0.0.1", trusted: tuple[str, ...] = ("10.0.0.0/30", "fd00::1")) -> str:
    """The client's address as the application sees it, with these `X-Forwarded-For` lines."""
    found: list[str] = []

    async def app(scope: Scope, _: Receive, __: Send) -> None:
        found.append(scope["client"][0])

    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    scope = {"type": "http", "client": (peer, 4711), "headers": headers}
    unused: Any = None
    asyncio.run(TrustedProxies(app, trusted=trusted)(scope, unused, unused))
    return found[0]


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ((), "10.0.0.1"),
        (("203.0.113.7",), "203.0.113.7"),
        (("203.0.113.7, 10.0.0.2",), "203.0.113.7"),
        (("203.0.113.7", "10.0.0.2"), "203.0.113.7"),
        (("203.0.113.7:4711",), "203.0.113.7"),
        (("2001:db8::7",), "2001:db8::7"),
        (("[2001:db8::7]:4711",), "2001:db8::7"),
        (("::ffff:203.0.113.7",), "203.0.113.7"),
        (("203.0.113.7, fd00::1",), "203.0.113.7"),
    ],
)
def test_a_trusted_proxy_says_who_its_client_is(forwarded: tuple[str, ...], address: str) -> None:
    assert seen(*forwarded) == address


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        # What the client wrote itself stands before what the proxy added.
        (("127.0.0.1, 203.0.113.7",), "203.0.113.7"),
        (("127.0.0.1", "203.0.113.7"), "203.0.113.7"),
        (("192.0.2.1, 203.0.113.7, 10.0.0.2",), "203.0.113.7"),
        (("somebody",), "10.0.0.1"),
        (("203.0.113.7, somebody",), "10.0.0.1"),
        (("192.0.2.1, somebody, 10.0.0.2",), "10.0.0.2"),
        (("",), "10.0.0.1"),
        ((", ,",), "10.0.0.1"),
        (("203.0.113.7" + ", 10.0.0.2" * HOPS_MAX,), "10.0.0.2"),
        (("x" * 10_000,), "10.0.0.1"),
    ],
)
def test_what_the_client_writes_itself_is_not_believed(forwarded: tuple[str, ...], address: str) -> None:
    assert seen(*forwarded) == address


@pytest.mark.parametrize("peer", ["203.0.113.9", "127.0.0.1", "10.0.0.5", "fd00::2", "testclient"])
def test_who_is_no_trusted_proxy_says_nothing_of_others(peer: str) -> None:
    assert seen("192.0.2.1", peer=peer) == peer


def recorded(world: ApiWorld, **headers: str) -> str:
    """The address that the audit trail has of a submission over a real connection."""
    with served(world.app) as server:
        given = {"Authorization": f"Bearer {world.token()}", **headers}
        answer = httpx.post(f"{server.url}/v1/run", json=run_body(), headers=given)
        assert answer.status_code == 202
    [entry] = world.trail.page(AuditFilter(action=Action.JOB_SUBMITTED), cursor=None, limit=1).items
    return entry.address


FORGED = {"X-Forwarded-For": "192.0.2.1", "X-Real-Ip": "192.0.2.1", "Forwarded": "for=192.0.2.1"}


def test_without_a_trusted_proxy_the_trail_has_the_peer_whatever_it_claims(
    loop_thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from this machine, and whatever the server beneath would believe by itself."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    assert recorded(ApiWorld(loop_thread), **FORGED) == "127.0.0.1"


def test_behind_a_trusted_proxy_the_trail_has_its_client(loop_thread: LoopThread) -> None:
    assert recorded(ApiWorld(loop_thread, trusted_proxies="127.0.0.1"), **FORGED) == "192.0.2.1"


@pytest.mark.parametrize("value", ["proxy.internal", "10.0.0.300", "10.0.0.1/24", "*", "0.0.0.0/0", "10.0.0.1,::/0"])
def test_only_addresses_and_networks_can_be_trusted_and_never_everybody(value: str) -> None:
    with pytest.raises(SettingsError, match="VARDY_TRUSTED_PROXIES is wrong"):
        load_settings(trusted_proxies=value)
    assert load_settings(trusted_proxies="10.0.0.0/24, ::1").trusted_proxies == ("10.0.0.0/24", "::1")
