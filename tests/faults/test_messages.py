"""Messages that are lost or come several times: a message is only a hint that a job exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.conftest import SECONDS
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
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


def test_a_lost_message_is_made_up_for(cluster: Cluster, vardy: Vardy) -> None:
    # Nobody may take the message before it is lost.
    cluster.kill_all()
    job = cluster.submit(vardy, "lost", 'await add_line({name: "lost"}); return "added";')
    client = connect(cluster.deployment.redis.url)
    assert client.delete(cluster.queue.list_key("run")) == 1
    client.close()
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
