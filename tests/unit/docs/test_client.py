"""`docs/client.md` says of the client what its code does."""

from __future__ import annotations

import re
from pathlib import Path

import vardy_api
from vardy_api import client_flows, client_transport
from vardy_api.client_errors import ClientError

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")


def test_every_exception_and_every_code_of_the_clients_own_is_told() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "vardy_api").glob("client*.py"))
    codes = set(re.findall(r'code="(client\.\w+)"', sources))
    assert len(codes) > 3
    assert [code for code in codes if f"`{code}`" not in TEXT] == []
    exported = [name for name in vardy_api.__all__ if isinstance(kind := getattr(vardy_api, name), type)
                and issubclass(kind, ClientError)]  # fmt: skip
    assert len(exported) > 10
    assert [name for name in exported if f"`{name}`" not in TEXT] == []


def test_everything_that_is_exported_is_there() -> None:
    assert [name for name in vardy_api.__all__ if not hasattr(vardy_api, name)] == []


def test_the_limits_of_retries_are_those_of_the_code() -> None:
    words = " ".join(TEXT.split())
    pauses = ", ".join(f"{seconds:g}" for seconds in client_flows.PAUSE_SECONDS[:-1])
    assert f"tried {len(client_flows.PAUSE_SECONDS) + 1} times at the most" in words
    assert f"pauses of {pauses} and {client_flows.PAUSE_SECONDS[-1]:g} seconds" in words
    assert f"more than {client_flows.RETRY_AFTER_SECONDS_MAX:g} seconds" in words
    assert 25 < sum(client_flows.WAITING_PAUSE_SECONDS) < 35, "half a minute"
    assert client_flows.RETRYING_SECONDS_MAX == 120, "two minutes"
    assert f"within {client_transport.CONNECT_SECONDS:g} seconds" in words
    assert f"waited for {client_transport.ANSWER_SECONDS:g} seconds" in words
