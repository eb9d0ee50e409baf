"""Connections over a path that died: none of them is used again, and a crowd does not wait in turn."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tests.support.relay import Relay
from tests.support.replication import port_of
from vardy_worker.settings import Settings
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from vardy_api.embedded import EmbeddedServer

TIMEOUT_SECONDS = 1.5
CROWD = 10


@pytest.fixture
def relay(redis_server: EmbeddedServer) -> Iterator[Relay]:
    with Relay(port_of(redis_server)) as found:
        yield found


@pytest.fixture(params=[False, True], ids=["wary", "hasty"])
def hasty(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def client(redis_server: EmbeddedServer, relay: Relay, hasty: bool) -> Iterator[Redis]:
    url = redis_server.url.replace(f":{port_of(redis_server)}/", f":{relay.port}/")
    client = connect(url, socket_timeout_seconds=TIMEOUT_SECONDS, hasty=hasty)
    with ExitStack() as held:
        pool = client.connection_pool
        for connection in [pool.get_connection() for _ in range(CROWD)]:
            held.callback(pool.release, connection)
    yield client
    client.close()


def test_after_a_lost_connection_no_idle_one_is_trusted(client: Redis, relay: Relay) -> None:
    assert relay.connections == CROWD
    relay.freeze()
    with pytest.raises(RedisTimeoutError):
        client.ping()
    pool = client.connection_pool
    held = [pool.get_connection() for _ in range(CROWD)]
    for connection in held:
        connection.send_command("PING")  # type: ignore[no-untyped-call] # redis-py has no types here
        assert connection.read_response() == b"PONG"
        pool.release(connection)
    assert relay.connections == 2 * CROWD


def test_a_crowd_waits_for_a_lost_server_once_where_the_pool_is_hasty(
    client: Redis,
    relay: Relay,
    hasty: bool,
) -> None:
    relay.swallow()
    with pytest.raises(RedisTimeoutError):
        client.ping()
    gone = relay.connections

    def fails(_: int) -> bool:
        try:
            client.ping()
        except RedisError:
            return True
        return False

    began = time.monotonic()
    with ThreadPoolExecutor(CROWD) as pool:
        assert all(pool.map(fails, range(CROWD)))
    tries = relay.connections - gone
    assert tries < CROWD / 2 if hasty else tries == CROWD
    assert time.monotonic() - began < 10 * TIMEOUT_SECONDS
    relay.restore()
    assert client.ping()


@pytest.mark.parametrize("hasty", [True], indirect=True)
def test_those_who_wait_go_on_as_soon_as_the_server_is_found_to_be_back(client: Redis, relay: Relay) -> None:
    relay.freeze()
    with pytest.raises(RedisTimeoutError):
        client.ping()
    # The server is back, and one caller already tries it.
    trying, proceed = threading.Event(), threading.Event()

    def try_slowly() -> None:
        connection = client.connection_pool.get_connection()
        trying.set()
        assert proceed.wait(10)
        client.connection_pool.release(connection)

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(try_slowly)
        assert trying.wait(10)
        with pytest.raises(RedisTimeoutError):
            client.ping()
        proceed.set()
        slow.result()
        assert pool.submit(client.ping).result()


def test_every_job_in_hand_has_a_connection_of_its_own(client: Redis) -> None:
    pool = client.connection_pool
    most: int = Settings.model_fields["worker_concurrency"].default
    with ExitStack() as held:
        connections = [pool.get_connection() for _ in range(most)]
        for connection in connections:
            held.callback(pool.release, connection)
        assert len({id(connection) for connection in connections}) == most
