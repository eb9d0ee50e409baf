"""Messages that are lost or come several times: a message is only a hint that a job exists."""

from __future__ import annotations

import base64
import json
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.faults.conftest import SECONDS
from tests.support.waiting import eventually
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.status import Status
from vardy_worker.store.connection import connect
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from tests.faults.conftest import Cluster
    from vardy_api.client import Vardy
    from vardy_worker.contracts.job import QueueName

COPIES = 20


def repeat(cluster: Cluster, queue_name: QueueName, job_id: str) -> None:
    """Publishes a job's message many times more, and waits until workers took every copy."""
    refusal = f'"event": "{queue_name}.not_claimed", "job_id": "{job_id}"'
    refused = cluster.deployment.log().count(refusal) + COPIES
    for _ in range(COPIES):
        cluster.queue.publish(queue_name, job_id)
    assert eventually(lambda: cluster.deployment.log().count(refusal) >= refused, seconds=SECONDS)
    assert cluster.queue.depth(queue_name) == 0


@contextmanager
def redis_of(cluster: Cluster) -> Iterator[Redis]:
    client = connect(cluster.deployment.redis.url)
    yield client
    client.close()


def test_a_lost_message_is_made_up_for(cluster: Cluster, vardy: Vardy) -> None:
    # Nobody may take the message before it is lost.
    cluster.kill_all()
    job = cluster.submit(vardy, "lost", 'await add_line({name: "lost"}); return "added";')
    with redis_of(cluster) as client:
        assert client.delete(cluster.queue.list_key("run")) == 1
    cluster.add_worker()
    cluster.settled(vardy, job, Status.SUCCESS)
    assert cluster.ledger.applied("lost") == 1


def test_a_run_message_that_comes_again_while_the_job_runs_changes_nothing(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("again")
    job = cluster.submit(vardy, "again", 'return await count_lines({name: "again"});')
    cluster.wait_for_call("again")
    repeat(cluster, "run", job.id)
    cluster.ledger.open("again")
    cluster.settled(vardy, job, Status.SUCCESS)
    repeat(cluster, "run", job.id)
    assert len(cluster.ledger.calls("again")) == 1


def test_a_commit_message_that_comes_again_calls_nothing_twice(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("before-twice")
    job = cluster.submit(vardy, "twice", 'await post_letter({name: "twice"}); return "posted";')
    cluster.wait_for_call("twice")
    repeat(cluster, "commit", job.id)
    cluster.ledger.open("before-twice")
    cluster.settled(vardy, job, Status.SUCCESS)
    repeat(cluster, "commit", job.id)
    assert cluster.ledger.applied("twice") == 1
    assert len(cluster.ledger.calls("twice")) == 1


@pytest.mark.parametrize("queue_name", ["run", "commit"])
def test_messages_that_come_when_all_is_over_change_nothing(
    cluster: Cluster, vardy: Vardy, queue_name: QueueName
) -> None:
    name = f"ask-late-{queue_name}"
    body = f'await post_letter({{name: "{name}"}}); return 1;'
    denied = vardy.wait(cluster.submit(vardy, name, body))
    vardy.deny(denied, user="lea", reason="no")
    cancelled = vardy.cancel(vardy.wait(cluster.submit(vardy, name, body)))
    over = [cluster.settled(vardy, denied, Status.POLICY_BLOCKED), cluster.settled(vardy, cancelled, Status.CANCELLED)]
    for job in over:
        repeat(cluster, queue_name, job.id)
        assert vardy.get(job.id) == job
    assert cluster.ledger.calls(name) == []


@pytest.mark.parametrize("queue_name", ["run", "commit"])
def test_messages_of_a_job_that_is_gone_change_nothing(cluster: Cluster, vardy: Vardy, queue_name: QueueName) -> None:
    name = f"gone-{queue_name}"
    job = cluster.submit(vardy, name, f'return await count_lines({{name: "{name}"}});')
    cluster.settled(vardy, job, Status.SUCCESS)
    with redis_of(cluster) as client:
        # As its retention does.
        assert client.delete(Keys(cluster.deployment.namespace).job(job.id)) == 1
    for job_id in (job.id, new_job_id()):
        repeat(cluster, queue_name, job_id)
    assert len(cluster.ledger.calls(name)) == 1


def test_messages_for_a_parked_plan_commit_nothing(cluster: Cluster, vardy: Vardy) -> None:
    job = vardy.wait(cluster.submit(vardy, "ask-not-yet", 'await post_letter({name: "ask-not-yet"}); return 1;'))
    repeat(cluster, "commit", job.id)
    repeat(cluster, "run", job.id)
    assert vardy.get(job.id) == job
    assert cluster.ledger.calls("ask-not-yet") == []


def message(payload: bytes = b'[["job_of_nobody"], {}, {}]', **changed: object) -> bytes:
    """A message as Celery writes it, with some parts changed."""
    properties = {
        "delivery_info": {"exchange": "", "routing_key": "vardy.run"},
        "delivery_tag": uuid.uuid4().hex,
        "body_encoding": "base64",
        "correlation_id": "1",
    }
    whole: dict[str, object] = {
        "body": base64.b64encode(payload).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"task": "vardy.run_job", "id": "1"},
        "properties": properties,
    }
    return json.dumps(whole | changed).encode()


def garbage() -> list[bytes]:
    """What somebody else, or another release, may leave in a queue."""
    return [
        b"hello",
        b"\xff\xfe\x00",
        b"",
        b"5",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        message(payload=b"no JSON"),
        message(payload=b"5"),
        message(payload=b"[[], {}, {}]"),
        message(payload=b"[[1, 2, 3], {}, {}]"),
        message(payload=b'[[{"id": 1}], {}, {}]'),
        message(payload=b'[["\\ud800"], {}, {}]'),
        message(body="%%%"),
        message().replace(b"application/json", b"application/x-python-serialize"),
        message(headers=None),
        message(headers=[1]),
        message(headers={}),
        message(headers={"task": "vardy.run_job"}),
        message(headers={"task": "somebody.else", "id": "1"}),
        message(headers={"task": ["vardy.run_job"], "id": "1"}),
        message(headers={"task": "vardy.run_job", "id": "1", "eta": "one day"}),
        message(headers={"task": "vardy.run_job", "id": "1", "expires": {"in": 1}}),
        message(headers={"task": "vardy.run_job", "id": "1", "compression": "of its own"}),
        message(properties={}),
        message(properties=None),
    ]


@pytest.mark.parametrize("queue_name", ["run", "commit"])
def test_garbage_in_a_queue_ends_no_worker_and_holds_up_no_job(
    cluster: Cluster, vardy: Vardy, queue_name: QueueName
) -> None:
    before = {name: process.pid for name, process in cluster.deployment.processes.items()}
    unacked = f"{cluster.deployment.namespace}:unacked"
    with redis_of(cluster) as client:
        # Workers that other tests killed leave messages, which come back minutes later.
        left = client.hkeys(unacked)
        # Often enough that every worker gets some of each, and more than a worker takes ahead.
        client.lpush(cluster.queue.list_key(queue_name), *(line for _ in range(8) for line in garbage()))
        name = f"amid-garbage-{queue_name}"
        job = cluster.submit(vardy, name, f'await post_letter({{name: "{name}"}}); return 1;')
        cluster.settled(vardy, job, Status.SUCCESS)
        assert eventually(lambda: cluster.queue.depth(queue_name) == 0, seconds=SECONDS)
        assert eventually(lambda: set(client.hkeys(unacked)) <= set(left), seconds=SECONDS), client.hgetall(unacked)
    assert {name: process.pid for name, process in cluster.deployment.processes.items()} == before
    assert all(process.poll() is None for process in cluster.deployment.processes.values())
    assert '"event": "worker.message_unreadable"' in cluster.deployment.log()
    assert '"event": "reconcile.crashed"' not in cluster.deployment.log()
    assert cluster.ledger.applied(name) == 1
