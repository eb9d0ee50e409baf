"""Redis and everything else is killed and comes back: nothing that was accepted is lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.faults.conftest import ANA, SECONDS, Cluster, cluster_in
from tests.support.deployment import KEY
from tests.support.waiting import eventually
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.client import Vardy

HANDS = 3
QUEUED = 4
ANSWER_SECONDS_MAX = 10
PASSWORD = "a-password-of-the-tests"


class Restartable:
    """A server that comes back at the same address, on the same folder."""

    def __init__(self, cluster: Cluster, port: int) -> None:
        self._cluster = cluster
        self._port = port

    def kill(self) -> None:
        self._cluster.deployment.redis.kill()

    def start(self) -> None:
        folder = self._cluster.deployment.redis.log_path.parent
        self._cluster.deployment.redis = EmbeddedServer(folder, port=self._port, password=PASSWORD)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One worker with few hands, over a server of its own."""
    folder = tmp_path_factory.mktemp("restarts")
    port = free_port()
    settings = {"VARDY_WORKER_CONCURRENCY": str(HANDS)}
    first = EmbeddedServer(folder / "redis", port=port, password=PASSWORD)
    with cluster_in(folder, workers=1, redis=first, settings=settings) as made:
        try:
            yield made
        finally:
            made.deployment.stop_all()
            made.deployment.redis.stop()


@pytest.fixture
def server(cluster: Cluster) -> Restartable:
    port = int(cluster.deployment.redis.url.rpartition(":")[2].partition("/")[0])
    return Restartable(cluster, port)


@pytest.fixture
def vardy(cluster: Cluster) -> Iterator[Vardy]:
    with cluster.deployment.client() as client:
        yield client


def test_killing_redis_loses_no_job_in_any_status(cluster: Cluster, server: Restartable, vardy: Vardy) -> None:
    asked = cluster.submit(vardy, "ask-1", 'await add_line({name: "ask-1"}); return 1;')
    cluster.settled(vardy, asked, Status.PENDING_APPROVAL)
    for gate in ("running", "after-keyed", "after-unkeyed"):
        cluster.ledger.shut(gate)
    running = cluster.submit(vardy, "running", 'return await count_lines({name: "running"});')
    keyed = cluster.submit(vardy, "keyed", 'await add_line({name: "keyed"}); return 1;')
    unkeyed = cluster.submit(vardy, "unkeyed", 'await post_letter({name: "unkeyed"}); return 1;')
    for name in ("running", "keyed", "unkeyed"):
        cluster.wait_for_call(name)
    # Every hand is taken, so these stay in the queue.
    vardy.save_recipe("count", source="async function run(params) { return params; }", reviewed_by="rita")
    queued = [vardy.run(recipe="count", params={"n": n}, user=ANA, wait=False) for n in range(QUEUED)]

    server.kill()
    assert eventually(lambda: not cluster.deployment.api_is_ready(), seconds=SECONDS)
    assert eventually(lambda: "lease.not_renewed" in cluster.deployment.log(), seconds=SECONDS)
    began = time.monotonic()
    answer = httpx.get(
        f"{cluster.deployment.url}/v1/jobs/{asked.id}", headers={"Authorization": f"Bearer {KEY}"}, timeout=SECONDS
    )
    assert (answer.status_code, answer.json()["code"]) == (503, "service.unavailable")
    assert "Retry-After" in answer.headers
    assert time.monotonic() - began < ANSWER_SECONDS_MAX
    server.start()
    assert eventually(cluster.deployment.api_is_ready, seconds=SECONDS)
    for gate in ("running", "after-keyed", "after-unkeyed"):
        cluster.ledger.open(gate)

    for number, job in enumerate(queued):
        assert cluster.settled(vardy, job, Status.SUCCESS).output == {"n": number}
    cluster.settled(vardy, running, Status.SUCCESS)
    cluster.settled(vardy, keyed, Status.SUCCESS)
    # Whether its worker or another was first after the restart is open; it is never called again.
    cluster.settled(vardy, unkeyed, Status.SUCCESS, Status.PARTIAL)
    pending = cluster.settled(vardy, asked, Status.PENDING_APPROVAL)
    approved = vardy.approve(pending, user="lea", timeout_seconds=SECONDS)
    assert approved.status is Status.SUCCESS
    assert [cluster.ledger.applied(name) for name in ("keyed", "unkeyed", "ask-1")] == [1, 1, 1]
    assert len(cluster.ledger.calls("unkeyed")) == 1


def test_the_outcome_of_a_call_outlasts_an_outage_longer_than_the_lease(
    cluster: Cluster, server: Restartable, vardy: Vardy
) -> None:
    cluster.ledger.shut("after-first")
    body = 'await post_letter({name: "first"}); await post_letter({name: "second"}); return 1;'
    job = cluster.submit(vardy, "outage", body)
    cluster.wait_for_call("first")
    renewals = cluster.deployment.log().count("lease.not_renewed")
    server.kill()
    # The lease is two seconds long, and a renewal is tried each second.
    assert eventually(lambda: cluster.deployment.log().count("lease.not_renewed") >= renewals + 3, seconds=SECONDS)
    cluster.ledger.open("after-first")
    assert eventually(lambda: "store.waiting" in cluster.deployment.log(), seconds=SECONDS)
    server.start()
    cluster.settled(vardy, job, Status.SUCCESS)
    for name in ("first", "second"):
        assert (len(cluster.ledger.calls(name)), cluster.ledger.applied(name)) == (1, 1)


def test_an_approval_survives_the_end_of_everything(cluster: Cluster, server: Restartable, vardy: Vardy) -> None:
    asked = cluster.submit(vardy, "ask-2", 'await add_line({name: "ask-2"}); return 1;')
    before = cluster.settled(vardy, asked, Status.PENDING_APPROVAL)
    server.kill()
    cluster.kill_all()
    cluster.deployment.processes["api"].kill()
    cluster.deployment.processes.pop("api").wait()

    server.start()
    cluster.add_worker()
    cluster.deployment.start("api")
    after = vardy.get(asked.id)
    assert after == before
    approved = vardy.approve(after, user="lea", timeout_seconds=SECONDS)
    assert approved.status is Status.SUCCESS
    assert cluster.ledger.applied("ask-2") == 1
