"""What `vardy api` says before it serves."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from vardy_api.app import FILES_KEPT, connections_allowed, serve
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.settings import load_settings

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is warned of; nothing listens, as there is no Redis


def said_before_serving(**settings: str) -> list[str]:
    """The events that are logged until it turns out that there is no Redis."""
    with capture_logs() as logs, pytest.raises(SettingsError, match="VARDY_REDIS_URL is not set"):
        serve(load_settings(redis_url="", **settings))
    return [line["event"] for line in logs]


def test_listening_beyond_this_machine_without_a_proxy_is_warned_of() -> None:
    assert "api.no_proxy" in said_before_serving(api_host=EVERYWHERE)
    assert "api.no_proxy" not in said_before_serving(api_host=EVERYWHERE, trusted_proxies="10.0.0.2")
    assert "api.no_proxy" not in said_before_serving(api_host="127.0.0.1")


def test_it_listens_on_this_machine_alone_and_has_no_secret_unless_told_otherwise() -> None:
    settings = load_settings()
    assert settings.api_host == "127.0.0.1"
    named = [name for name in type(settings).model_fields if "key" in name or "secret" in name or "password" in name]
    assert {name for name in named if isinstance(getattr(settings, name), str)} == set()


def test_no_more_connections_are_taken_than_files_may_be_open() -> None:
    with capture_logs() as logs:
        assert connections_allowed(5000, 65_536) == 5000
        assert connections_allowed(5000, None) == 5000
    assert logs == []
    with capture_logs() as logs:
        assert connections_allowed(5000, 1024) == 1024 - FILES_KEPT
        assert connections_allowed(5000, 10) == 1
    assert [line["event"] for line in logs] == ["api.few_open_files"] * 2
