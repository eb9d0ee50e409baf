"""What only a real server can show: commands sent twice, refusals, durability, a lost server."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from tests.support.factories import NOW_MS, queued_job
from tests.support.relay import Relay
from tests.support.worlds import RedisWorld, held, job_in, statuses_told, submitted
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.contracts.errors import SettingsError, StoreUnavailable, VardyError
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.job import JobFilter
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed, Claimed, Conflict, IdempotencyClaim, NotClaimed
from vardy_worker.store.connection import connect
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_jobs import RedisJobStore
from vardy_worker.store.scripts import script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from vardy_worker.contracts.job import JobRecord

QUEUED = frozenset({Status.QUEUED})
RUNNING = frozenset({Status.RUNNING})
COMMITTING = frozenset({Status.COMMITTING})
LUA = sorted(path.stem for path in (Path(__file__).parents[2] / "vardy_worker/store/lua").glob("*.lua"))


# --- sent twice ---------------------------------------------------------------------------


def test_a_change_sent_twice_is_applied_once_and_answered_alike(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = job_in(store, Status.COMMITTING)
    change = Change(
        job.id,
        COMMITTING,
        Status.PENDING_APPROVAL,
        effects=[EffectRecord(seq=0, state=EffectState.STARTED)],
        events=[Event(type="effect", at_ms=NOW_MS)],
        expect_version=job.version,
    )
    assert store.send_change(change, "token") == Changed(job.version + 1)
    once = store.get(job.id)
    assert store.send_change(change, "token") == Changed(job.version + 1)
    assert store.get(job.id) == once
    assert [event.type for event in store.events(job.id)][-3:] == ["status", "effect", "status"]
    assert statuses_told(store, job.id)[-2:] == ["COMMITTING", "PENDING_APPROVAL"]


def test_a_change_sent_again_after_later_ones_undoes_none_of_them(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = job_in(store, Status.COMMITTING)
    started = Change(job.id, COMMITTING, effects=[EffectRecord(seq=0, state=EffectState.STARTED)])
    done = Change(job.id, COMMITTING, effects=[EffectRecord(seq=0, state=EffectState.SUCCEEDED)])
    store.send_change(started, "token-1")
    store.send_change(done, "token-2")
    assert store.send_change(started, "token-1") == Changed(job.version + 1)
    found = store.get(job.id)
    assert found is not None
    assert [effect.state for effect in found.effects] == [EffectState.SUCCEEDED]
    assert found.version == job.version + 2


def test_a_refused_change_that_is_sent_again_is_judged_anew(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = job_in(store, Status.QUEUED)
    change = Change(job.id, RUNNING, Status.SUCCESS)
    assert isinstance(store.send_change(change, "token"), Conflict)
    store.change(Change(job.id, QUEUED, Status.RUNNING))
    assert isinstance(store.send_change(change, "token"), Changed)


def test_a_claim_sent_twice_counts_once_and_is_answered_alike(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = submitted(store)
    claim: dict[str, Any] = {"expect": QUEUED | RUNNING, "to": Status.RUNNING, "worker": "w1", "lease_ms": 5000}
    first = store.send_claim(job.id, "token", **claim)
    assert held(first) == (1, 1)
    assert store.send_claim(job.id, "token", **claim) == first
    store.change(Change(job.id, RUNNING, set={"warnings": ("meanwhile",)}))
    again = store.send_claim(job.id, "token", **claim)
    assert held(again) == (1, 1)
    assert again == Claimed(_found(store, job.id))
    assert statuses_told(store, job.id) == ["QUEUED", "RUNNING"]
    assert store.version(job.id) == (3, Status.RUNNING)


def test_a_claim_whose_reply_was_lost_is_sent_again_and_counted_once(redis_url: str, namespace: str) -> None:
    direct = RedisJobStore(connect(redis_url), namespace)
    first, job = submitted(direct), submitted(direct)
    claim: dict[str, Any] = {"expect": QUEUED | RUNNING, "to": Status.RUNNING, "lease_ms": 60_000}
    direct.claim(first.id, worker="the script is loaded", **claim)
    port = redis_url.rpartition(":")[2].partition("/")[0]
    with Relay(int(port)) as relay:
        store = RedisJobStore(connect(redis_url.replace(f":{port}/", f":{relay.port}/")), namespace)
        store.ping()
        relay.cut_instead_of_answering(b"the-marked-worker")
        claimed = store.claim(job.id, worker="the-marked-worker", **claim)
        assert held(claimed) == (1, 1)
        assert relay.connections == 2
    assert claimed == Claimed(_found(direct, job.id))
    assert statuses_told(direct, job.id) == ["QUEUED", "RUNNING"]


def test_a_claim_of_a_record_that_cannot_be_read_raises_and_is_counted(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = submitted(store)
    key = Keys(redis_world.namespace).job(job.id)
    redis_world.client.hset(key, "submission", "{}")
    for deliveries in (1, 2):
        with pytest.raises(ValidationError, match="submission"):
            store.claim(job.id, expect=QUEUED | RUNNING, to=Status.RUNNING, worker="w", lease_ms=5000)
        assert redis_world.client.hget(key, "deliveries") == str(deliveries).encode()
        redis_world.forward(6)


def _found(store: RedisJobStore, job_id: str) -> JobRecord:
    found = store.get(job_id)
    assert found is not None
    return found


def test_a_claim_sent_again_after_another_worker_took_over_is_refused(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = submitted(store)
    claim: dict[str, Any] = {"expect": QUEUED | RUNNING, "to": Status.RUNNING, "lease_ms": 5000}
    store.send_claim(job.id, "token-1", worker="w1", **claim)
    redis_world.forward(6)
    store.send_claim(job.id, "token-2", worker="w2", **claim)
    assert store.send_claim(job.id, "token-1", worker="w1", **claim) == NotClaimed("leased")
    found = store.get(job.id)
    assert found is not None
    assert (found.worker, found.fence) == ("w2", 2)


def test_due_jobs_whose_reply_was_lost_are_due_again_after_the_hiding(redis_world: RedisWorld) -> None:
    store = redis_world.store
    jobs = [submitted(store).id for _ in range(4)]
    lost = [due.job_id for due in store.take_due(limit=2, hide_ms=5000)]
    second = [due.job_id for due in store.take_due(limit=2, hide_ms=5000)]
    assert sorted(lost + second) == sorted(jobs)
    redis_world.forward(6)
    assert sorted(due.job_id for due in store.take_due(limit=10, hide_ms=5000)) == sorted(jobs)


def test_receipts_do_not_pile_up(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = job_in(store, Status.COMMITTING)
    change = Change(job.id, COMMITTING, events=[Event(type="effect", at_ms=NOW_MS)])
    for number in range(60):
        store.send_change(change, f"{number:016x}")
    receipts = redis_world.client.hget(Keys(redis_world.namespace).job(job.id), "_receipts")
    assert isinstance(receipts, bytes)
    assert len(receipts) <= 512
    told = len(store.events(job.id))
    for number in range(45, 60):
        store.send_change(change, f"{number:016x}")
    assert len(store.events(job.id)) == told


@pytest.mark.parametrize("name", LUA)
def test_every_script_says_its_keys_arguments_result_and_why_it_may_be_sent_twice(name: str) -> None:
    header = script(name)[0].partition("\n\n")[0]
    for part in ("KEYS[1", "ARGV[1]", "Result:"):
        assert part in header
    assert "twice" in header


def test_a_server_that_forgot_the_scripts_gets_them_again(redis_world: RedisWorld) -> None:
    redis_world.client.script_flush()
    job = submitted(redis_world.store)
    redis_world.client.script_flush()
    assert redis_world.store.change(Change(job.id, QUEUED, Status.RUNNING, durable=True)) == Changed(2)


# --- durability ---------------------------------------------------------------------------


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def own_client(own_server: EmbeddedServer) -> Iterator[Redis]:
    client = connect(own_server.url)
    yield client
    client.close()


def test_a_durable_change_waits_for_the_append_only_file(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = submitted(store)
    assert store.fsync is None
    assert store.change(Change(job.id, QUEUED, Status.RUNNING, durable=True)) == Changed(2)
    assert store.fsync is True


def test_a_server_without_an_append_only_file_is_noticed_and_used_all_the_same(own_client: Redis) -> None:
    own_client.config_set("appendonly", "no")
    store = RedisJobStore(own_client, "vardy")
    job = submitted(store)
    assert store.change(Change(job.id, QUEUED, Status.RUNNING, durable=True)) == Changed(2)
    assert store.fsync is False
    assert store.change(Change(job.id, RUNNING, Status.SUCCESS, durable=True)) == Changed(3)


def test_jobs_survive_a_server_that_is_killed(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        store = RedisJobStore(connect(server.url), "vardy")
        job = job_in(store, Status.PENDING_APPROVAL)
        server.kill()
    with EmbeddedServer(tmp_path) as server:
        store = RedisJobStore(connect(server.url), "vardy")
        assert store.get(job.id) == job
        assert [due.job_id for due in store.take_due(limit=5, hide_ms=0)] == [job.id]


# --- refusals and lost servers ------------------------------------------------------------


def test_a_full_server_refuses_writes_with_a_clear_reason_and_still_reads(own_client: Redis) -> None:
    store = RedisJobStore(own_client, "vardy")
    job = submitted(store)
    own_client.config_set("maxmemory", "1")
    with pytest.raises(StoreUnavailable, match="full") as refused:
        store.change(Change(job.id, QUEUED, Status.RUNNING))
    assert refused.value.__cause__ is not None
    with pytest.raises(StoreUnavailable, match="full"):
        store.submit(queued_job(), None, due_at_ms=NOW_MS)
    with pytest.raises(StoreUnavailable, match="full"):
        store.change(Change(job.id, QUEUED, Status.RUNNING, durable=True))
    assert store.get(job.id) == job
    own_client.config_set("maxmemory", "0")
    assert store.change(Change(job.id, QUEUED, Status.RUNNING)) == Changed(2)


def test_a_read_only_replica_refuses_with_a_clear_reason(own_client: Redis) -> None:
    store = RedisJobStore(own_client, "vardy")
    job = submitted(store)
    own_client.replicaof("127.0.0.1", "1")
    with pytest.raises(StoreUnavailable, match="read-only replica"):
        store.change(Change(job.id, QUEUED, Status.RUNNING))
    with pytest.raises(StoreUnavailable, match="read-only replica"):
        store.change(Change(job.id, QUEUED, Status.RUNNING, durable=True))


def test_a_replica_that_has_nothing_to_write_is_not_taken_for_the_primary(own_client: Redis) -> None:
    store = RedisJobStore(own_client, "vardy", replicas=1)
    job, claim = queued_job(), IdempotencyClaim(scope="s", key="k", body_sha256="b")
    with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
        store.submit(job, claim, due_at_ms=NOW_MS)
    own_client.replicaof("127.0.0.1", "1")
    old_connection = own_client.client_id()
    with pytest.raises(StoreUnavailable, match="read-only replica"):
        store.submit(job, claim, due_at_ms=NOW_MS)
    assert own_client.client_id() != old_connection


def test_after_a_failover_new_connections_are_made(own_client: Redis) -> None:
    store = RedisJobStore(own_client, "vardy")
    job = submitted(store)
    old_connection = own_client.client_id()
    own_client.replicaof("127.0.0.1", "1")
    with pytest.raises(StoreUnavailable):
        store.change(Change(job.id, QUEUED, Status.RUNNING))
    assert own_client.client_id() != old_connection
    own_client.replicaof("NO", "ONE")
    assert store.change(Change(job.id, QUEUED, Status.RUNNING)) == Changed(2)


def test_a_wrong_password_is_named_and_not_repeated(redis_url: str) -> None:
    store = RedisJobStore(connect(redis_url.replace("redis://:", "redis://:wrong-")), "vardy")
    with pytest.raises(StoreUnavailable, match="credentials") as refused:
        store.ping()
    assert "wrong-" not in refused.value.message


def test_a_key_of_another_type_is_an_internal_error_without_values(redis_world: RedisWorld) -> None:
    job = queued_job()
    redis_world.client.set(Keys(redis_world.namespace).job(job.id), "secret")
    with pytest.raises(VardyError, match="does not expect") as refused:
        redis_world.store.get(job.id)
    assert refused.value.code == "internal"
    assert "secret" not in refused.value.message


def test_a_closed_port_is_reported_by_every_call(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        store = RedisJobStore(connect(server.url), "vardy")
        job = submitted(store)
    calls = (
        store.ping,
        store.server_now_ms,
        lambda: store.get(job.id),
        lambda: store.version(job.id),
        lambda: store.submit(job, None, due_at_ms=0),
        lambda: store.change(Change(job.id, QUEUED)),
        lambda: store.change(Change(job.id, QUEUED, durable=True)),
        lambda: store.claim(job.id, expect=QUEUED, to=Status.RUNNING, worker="w", lease_ms=1),
        lambda: store.heartbeat(job.id, fence=1, lease_ms=1),
        lambda: store.request_cancel(job.id, by="x"),
        lambda: store.erase(job.id, expect_version=1, at_ms=0),
        lambda: store.take_due(limit=1, hide_ms=1),
        lambda: store.rebuild_due(grace_ms=1),
        lambda: store.list_jobs(JobFilter(user="a", owner="b"), cursor=None, limit=1),
        lambda: store.journal(job.id),
        lambda: store.events(job.id),
        lambda: store.console(job.id),
    )
    for call in calls:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            call()


def test_a_server_that_never_answers_is_reported_after_one_timeout() -> None:
    with _silent_server() as port:
        store = RedisJobStore(connect(f"redis://127.0.0.1:{port}/0", socket_timeout_seconds=0.1), "vardy")
        with pytest.raises(StoreUnavailable, match="in time"):
            store.ping()


def test_the_store_works_again_when_the_server_is_back(tmp_path: Path) -> None:
    port = free_port()
    with EmbeddedServer(tmp_path, port=port, password="made-up") as server:
        store = RedisJobStore(connect(server.url), "vardy")
        job = submitted(store)
    with pytest.raises(StoreUnavailable):
        store.get(job.id)
    with EmbeddedServer(tmp_path, port=port, password="made-up"):
        assert store.get(job.id) == job


@contextmanager
def _silent_server() -> Iterator[int]:
    """A server that accepts connections and never answers; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_change_whose_reply_was_lost_is_sent_again_and_applied_once(redis_url: str, namespace: str) -> None:
    direct = RedisJobStore(connect(redis_url), namespace)
    job = submitted(direct)
    direct.change(Change(job.id, QUEUED, set={"warnings": ("scripts are loaded",)}))
    port = redis_url.rpartition(":")[2].partition("/")[0]
    with Relay(int(port)) as relay:
        store = RedisJobStore(connect(redis_url.replace(f":{port}/", f":{relay.port}/")), namespace)
        store.ping()
        relay.cut_instead_of_answering(b"the-marked-change")
        change = Change(
            job.id,
            QUEUED,
            Status.RUNNING,
            set={"warnings": ("the-marked-change",)},
            events=[Event(type="status", data={"status": "RUNNING"}, at_ms=NOW_MS)],
        )
        assert store.change(change) == Changed(3)
        assert relay.connections == 2
    assert direct.version(job.id) == (3, Status.RUNNING)
    assert statuses_told(direct, job.id) == ["QUEUED", "RUNNING"]


@pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", "", "redis://host:port", "redis://[::1"])
def test_an_address_that_is_none_is_refused_by_the_setting(url: str) -> None:
    with pytest.raises(SettingsError, match="VARDY_REDIS_URL"):
        connect(url)
