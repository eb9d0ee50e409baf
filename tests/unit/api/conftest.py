"""One application over memory stores for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.api import ApiWorld, LoopThread
from tests.support.logs import configure_test_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    configure_test_logs("info")


@pytest.fixture(scope="session")
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture
def api(loop_thread: LoopThread) -> ApiWorld:
    return ApiWorld(loop_thread)


@pytest.fixture
def http(api: ApiWorld) -> Iterator[httpx.Client]:
    """A client whose key has every scope and may name any user."""
    with api.http() as client:
        yield client
