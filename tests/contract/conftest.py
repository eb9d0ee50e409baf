"""The worlds that contract suites run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.worlds import MemoryWorld, RedisWorld

if TYPE_CHECKING:
    from redis import Redis

    from tests.support.worlds import World
    from vardy_worker.ports import JobStore


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "memory":
        return MemoryWorld()
    world: RedisWorld = request.getfixturevalue("redis_world")
    return world


@pytest.fixture
def store(world: World) -> JobStore:
    return world.store


@pytest.fixture
def redis_world(redis_client: Redis, namespace: str) -> RedisWorld:
    return RedisWorld(redis_client, namespace)
