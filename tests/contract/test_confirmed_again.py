"""What is sent again, maybe over another connection, is not taken for confirmed before it is."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import queued_job
from tests.support.replication import client_of
from tests.support.worlds import job_in, submitted
from vardy_api.embedded import EmbeddedServer
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, IdempotencyClaim, Replayed, Submitted
from vardy_worker.store import scripts
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redis import Redis

ANY = frozenset(Status)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("confirming")) as found:
        yield found


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Redis]:
    with client_of(server) as found:
        yield found


def put(client: Redis) -> Callable[[Redis], Any]:
    del client
    return lambda sender: RedisDocuments(sender, "vardy").send_put("rules", "current", {"text": "x"}, "token-of-put")


def delete(client: Redis) -> Callable[[Redis], Any]:
    RedisDocuments(client, "vardy").put("recipes", "old", {})
    return lambda sender: RedisDocuments(sender, "vardy").send_delete("recipes", "old", "token-of-delete")


def submit(client: Redis) -> Callable[[Redis], Any]:
    del client
    job = queued_job()
    return lambda sender: RedisJobStore(sender, "vardy").submit(job, None, due_at_ms=0)


def submit_under_a_key(client: Redis) -> Callable[[Redis], Any]:
    del client
    claim = IdempotencyClaim(scope="shop", key="k", body_sha256="0" * 64)

    def send(sender: Redis) -> str:
        """Another job each time, and the same answer: the first one's id."""
        answer = RedisJobStore(sender, "vardy").submit(queued_job(), claim, due_at_ms=0)
        assert isinstance(answer, Submitted | Replayed)
        return answer.job_id

    return send


def claim(client: Redis) -> Callable[[Redis], Any]:
    job = submitted(RedisJobStore(client, "vardy"))
    queued = frozenset({Status.QUEUED})
    return lambda sender: RedisJobStore(sender, "vardy").send_claim(
        job.id, "token-of-claim", expect=queued, to=Status.RUNNING, worker="w", lease_ms=60_000
    )


def change(client: Redis) -> Callable[[Redis], Any]:
    job = submitted(RedisJobStore(client, "vardy"))
    return lambda sender: RedisJobStore(sender, "vardy").send_change(Change(job.id, ANY), "token-of-change")


def erase(client: Redis) -> Callable[[Redis], Any]:
    job = job_in(RedisJobStore(client, "vardy"), Status.CANCELLED)
    return lambda sender: RedisJobStore(sender, "vardy").send_erasure(
        job.id, "token-of-erasure", expect_version=job.version, at_ms=0
    )


@pytest.mark.parametrize("made", [put, delete, submit, submit_under_a_key, claim, change, erase])
def test_what_was_made_already_is_written_again_for_the_waits_behind_it(
    server: EmbeddedServer, client: Redis, made: Callable[[Redis], Callable[[Redis], Any]]
) -> None:
    send = made(client)
    with closing(connect(server.url)) as first, closing(connect(server.url)) as second:
        answer = send(first)
        before = written(client)
        assert send(second) == answer
        assert written(client) > before


def written(client: Redis) -> int:
    """How much the server has written for its append-only file and its replicas."""
    return int(client.info("replication")["master_repl_offset"])


def test_a_start_that_the_disk_does_not_have_is_not_confirmed_over_another_connection(
    server: EmbeddedServer, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "FSYNC_WAIT_MS", 200)
    job = submitted(RedisJobStore(client, "vardy"))
    durable = Change(job.id, ANY, durable=True)
    client.config_set("appendfsync", "no")
    try:
        for token in ("one", "one", "two", "two"):
            with closing(connect(server.url)) as sender, pytest.raises(StoreUnavailable, match="append-only file"):
                RedisJobStore(sender, "vardy").send_change(durable, token)
    finally:
        client.config_set("appendfsync", "always")
    with closing(connect(server.url)) as sender:
        RedisJobStore(sender, "vardy").send_change(durable, "two")
