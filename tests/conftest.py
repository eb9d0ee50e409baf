"""Fixtures of the whole suite: one embedded server for each test process, a namespace for each test."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from vardy_api.embedded import EmbeddedServer
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A real server. Tests share it, so they keep to their namespace and leave its settings alone."""
    with EmbeddedServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def redis_url(redis_server: EmbeddedServer) -> str:
    return redis_server.url


@pytest.fixture
def namespace() -> str:
    """A prefix of keys that no other test uses."""
    return f"t{secrets.token_hex(6)}"


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[Redis]:
    client = connect(redis_url)
    yield client
    client.close()
