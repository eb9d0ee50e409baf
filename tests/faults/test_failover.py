"""The primary is killed under load and a replica takes over: nothing needs a restart, nothing acknowledged is lost.

Every write waits for a replica here (`VARDY_JOURNAL_REPLICAS`); what may be lost without that
is shown by the tests of the Sentinels.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.faults.conftest import ANA, SECONDS, Cluster, cluster_in
from tests.support.deployment import KEY
from tests.support.replication import PASSWORD, SENTINEL_PASSWORD, Replicated, replicated
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.client import Vardy
    from vardy_worker.contracts.view import JobView

ROUNDS = int(os.environ.get("VARDY_TEST_FAILOVERS", "1"))
"""More by hand: after each, the killed server comes back as a replica."""
HANDS = 4
UNAVAILABLE = 503


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    with replicated(tmp_path_factory.mktemp("servers"), replicas=2, sentinels=3, quorum=2) as found:
        found.configure(min_replicas_to_write="1")
        yield found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, servers: Replicated) -> Iterator[Cluster]:
    settings = {
        "VARDY_REDIS_URL": servers.url,
        "VARDY_JOURNAL_REPLICAS": "1",
        "VARDY_WORKER_CONCURRENCY": str(HANDS),
    }
    folder = tmp_path_factory.mktemp("cluster")
    with cluster_in(folder, workers=1, redis=servers.primary, settings=settings) as made:
        yield made


@pytest.fixture
def vardy(cluster: Cluster) -> Iterator[Vardy]:
    with cluster.deployment.client() as client:
        yield client


@dataclass
class Load:
    """A caller that submits without pause, and sends again under the same key what got no 202."""

    url: str
    mark: str
    stop: threading.Event = field(default_factory=threading.Event)
    accepted: list[str] = field(default_factory=list)
    refused: int = 0
    others: list[int] = field(default_factory=list)

    def run(self) -> None:
        with httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=SECONDS) as client:
            while not self.stop.is_set():
                self._submit(client)

    def _submit(self, client: httpx.Client) -> None:
        number = len(self.accepted)
        body = {"recipe": "given", "params": {"n": number}, "user": {"id": ANA.id}}
        key = {"Idempotency-Key": f"{self.mark}-{number}"}
        while True:
            answer = client.post("/v1/run", json=body, headers=key)
            if answer.status_code == httpx.codes.ACCEPTED:
                self.accepted.append(answer.json()["id"])
                return
            self.refused += answer.status_code == UNAVAILABLE
            if answer.status_code not in {UNAVAILABLE, httpx.codes.CONFLICT}:
                self.others.append(answer.status_code)
                return
            self.stop.wait(0.05)


@dataclass
class Busy:
    """Jobs that the worker has in hand at their gates, and one that waits for people."""

    asked: JobView
    running: JobView
    keyed: JobView
    unkeyed: JobView
    gates: list[str]


def occupy(cluster: Cluster, vardy: Vardy, mark: str) -> Busy:
    asked = cluster.submit(vardy, "ask", f'await add_line({{name: "ask-{mark}"}}); return 1;')
    cluster.settled(vardy, asked, Status.PENDING_APPROVAL)
    gates = [f"running-{mark}", f"after-keyed-{mark}", f"after-unkeyed-{mark}"]
    for gate in gates:
        cluster.ledger.shut(gate)
    found = Busy(
        asked=asked,
        running=cluster.submit(vardy, "running", f'return await count_lines({{name: "running-{mark}"}});'),
        keyed=cluster.submit(vardy, "keyed", f'await add_line({{name: "keyed-{mark}"}}); return 1;'),
        unkeyed=cluster.submit(vardy, "unkeyed", f'await post_letter({{name: "unkeyed-{mark}"}}); return 1;'),
        gates=gates,
    )
    for name in ("running", "keyed", "unkeyed"):
        cluster.wait_for_call(f"{name}-{mark}")
    return found


@pytest.mark.timeout(120 * ROUNDS)
def test_a_failover_under_load_loses_no_accepted_job_and_repeats_no_effect(
    cluster: Cluster, servers: Replicated, vardy: Vardy
) -> None:
    vardy.save_recipe("given", source="async function run(params) { return params; }", reviewed_by="rita")
    worker, api = (cluster.deployment.processes[name].pid for name in ("worker-1", "api"))
    with ExitStack() as revived:
        for number in range(ROUNDS):
            fail_over_once(cluster, servers, vardy, f"round-{number}")
            if number + 1 < ROUNDS:
                [killed] = [server for server in servers.servers if not server.is_running()]
                revived.callback(servers.revive(killed).stop)
                servers.settle()
        assert [cluster.deployment.processes[name].pid for name in ("worker-1", "api")] == [worker, api]
    for secret in (PASSWORD, SENTINEL_PASSWORD):
        assert secret not in cluster.deployment.log()


def fail_over_once(cluster: Cluster, servers: Replicated, vardy: Vardy, mark: str) -> None:
    busy = occupy(cluster, vardy, mark)
    load = Load(cluster.deployment.url, mark)
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(load.run)
        try:
            assert eventually(lambda: len(load.accepted) > 5, seconds=SECONDS)
            servers.kill_primary()
            servers.await_failover()
            for gate in busy.gates:
                cluster.ledger.open(gate)
            before = len(load.accepted)
            assert eventually(lambda: len(load.accepted) > before + 5, seconds=SECONDS)
        finally:
            load.stop.set()
        loading.result()

    assert load.others == []
    assert load.refused > 0
    for number, job_id in enumerate(load.accepted):
        assert cluster.settled(vardy, vardy.get(job_id), Status.SUCCESS).output == {"n": number}
    assert len(set(load.accepted)) == len(load.accepted)
    cluster.settled(vardy, busy.running, Status.SUCCESS)
    cluster.settled(vardy, busy.keyed, Status.SUCCESS)
    # Whether its outcome could still be written depends on who was first; it is never called again.
    cluster.settled(vardy, busy.unkeyed, Status.SUCCESS, Status.PARTIAL)
    approved = vardy.approve(vardy.get(busy.asked.id), user="lea", timeout_seconds=SECONDS)
    assert approved.status is Status.SUCCESS
    assert [cluster.ledger.applied(f"{name}-{mark}") for name in ("keyed", "unkeyed", "ask")] == [1, 1, 1]
    assert len(cluster.ledger.calls(f"unkeyed-{mark}")) == 1
