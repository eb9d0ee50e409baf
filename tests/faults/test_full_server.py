"""A server without room (`noeviction`): clear refusals, nothing lost, and all goes on when there is room again."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.faults.conftest import ANA, HANDS, SECONDS, Cluster
from tests.support.deployment import KEY
from tests.support.replication import client_of
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.client import Vardy


@pytest.fixture
def cluster(troubled: Cluster) -> Cluster:
    return troubled


@pytest.fixture
def vardy(cluster: Cluster) -> Iterator[Vardy]:
    with cluster.deployment.client() as client:
        yield client


@contextmanager
def full(cluster: Cluster) -> Iterator[None]:
    """While the block runs, the server has no room."""
    with client_of(cluster.deployment.redis) as client:
        client.config_set("maxmemory", "1")
        try:
            yield
        finally:
            client.config_set("maxmemory", "0")


def refusals(cluster: Cluster) -> int:
    """How often the worker gave up a commit because the server had no room."""
    return cluster.deployment.log("worker-1").count("Redis is full")


def test_callers_are_told_and_nothing_is_half_stored(cluster: Cluster, vardy: Vardy) -> None:
    vardy.save_recipe("given", source="async function run(params) { return params; }", reviewed_by="rita")
    body = {"recipe": "given", "user": {"id": "full"}}
    writes = [
        ("POST", "/v1/run", body),
        ("PUT", "/v1/recipes/other", {"source": "async function run() { return 1; }", "reviewed_by": "rita"}),
        ("POST", "/v1/keys", {"name": "x", "scopes": ["read"]}),
        ("PUT", "/v1/rules", {"text": "default: block\n"}),
    ]
    with httpx.Client(
        base_url=cluster.deployment.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=SECONDS
    ) as client:
        keys = len(client.get("/v1/keys").json()["items"])
        with full(cluster):
            for method, path, document in writes:
                answer = client.request(method, path, json=document)
                assert (answer.status_code, answer.json()["code"]) == (503, "service.unavailable"), answer.text
                assert int(answer.headers["retry-after"]) > 0
            assert client.get("/v1/jobs?user=full").json()["items"] == []
            lines = cluster.deployment.log("api").splitlines()
            assert any("request.unavailable" in line and "Redis is full" in line for line in lines)
            assert client.get("/readyz").status_code == httpx.codes.OK
        assert len(client.get("/v1/keys").json()["items"]) == keys
        assert client.get("/v1/recipes/other").status_code == httpx.codes.NOT_FOUND
        assert client.get("/v1/rules").json()["text"] != "default: block\n"
        assert client.post("/v1/run", json=body).status_code == httpx.codes.ACCEPTED


def test_a_worker_waits_for_room_and_takes_every_message_then(cluster: Cluster, vardy: Vardy) -> None:
    """Celery notes a message that it takes; refused, it ended the worker, and lost the message."""
    worker = cluster.deployment.processes["worker-1"]
    worker.send_signal(signal.SIGSTOP)
    jobs = [vardy.run(recipe="given", params={"n": n}, user=ANA, wait=False) for n in range(HANDS * 2)]
    with full(cluster):
        worker.send_signal(signal.SIGCONT)
        assert eventually(lambda: "worker.broker_refuses" in cluster.deployment.log("worker-1"), seconds=SECONDS)
    for number, job in enumerate(jobs):
        assert cluster.settled(vardy, job, Status.SUCCESS).output == {"n": number}
    assert worker.poll() is None


def test_a_commit_makes_no_call_whose_start_could_not_be_written(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("after-first")
    body = 'await add_line({name: "first"}); await post_letter({name: "second"}); return 1;'
    job = cluster.submit(vardy, "two", body)
    cluster.wait_for_call("first")
    before = refusals(cluster)
    with full(cluster):
        cluster.ledger.open("after-first")
        assert eventually(lambda: refusals(cluster) > before, seconds=SECONDS)
        assert cluster.ledger.calls("second") == []
    cluster.settled(vardy, job, Status.SUCCESS)
    assert [cluster.ledger.applied(name) for name in ("first", "second")] == [1, 1]
    assert len(cluster.ledger.calls("second")) == 1


def test_a_call_whose_outcome_could_not_be_written_is_not_repeated(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("after-letter")
    job = cluster.submit(vardy, "letter", 'await post_letter({name: "letter"}); return 1;')
    cluster.wait_for_call("letter")
    before = refusals(cluster)
    with full(cluster):
        cluster.ledger.open("after-letter")
        assert eventually(lambda: refusals(cluster) > before, seconds=SECONDS)
    cluster.settled(vardy, job, Status.SUCCESS, Status.PARTIAL)
    assert len(cluster.ledger.calls("letter")) == 1
