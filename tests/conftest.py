"""Fixtures of the whole suite: one embedded server for each test process, a namespace for each test."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from vardy_api.embedded import EmbeddedServer
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis


IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a fresh folder is made in it
"""Where there is one, the shared server's files live here: it syncs at every write."""


@pytest.fixture(scope="session")
def redis_server() -> Iterator[EmbeddedServer]:
    """A real server. Tests share it, so they keep to their namespace and leave its settings alone."""
    place = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="vardy-tests-", dir=place) as folder, EmbeddedServer(Path(folder)) as server:
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
