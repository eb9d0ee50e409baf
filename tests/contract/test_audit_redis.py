"""What only a real server can show of the audit trail: entries sent twice, lost answers, a full server, its speed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import actions, check, entries, note
from tests.support.factories import NOW_MS, queued_job
from tests.support.relay import Relay
from tests.support.worlds import RedisWorld, job_in, submitted
from vardy_api.embedded import EmbeddedServer
from vardy_worker.contracts.audit import SETTINGS, Action, AuditFilter
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed
from vardy_worker.store import redis_audit
from vardy_worker.store.connection import connect
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_audit import AuditWriter, RedisAuditTrail
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis

ANY = frozenset(Status)


def test_a_change_sent_twice_leaves_one_entry(redis_world: RedisWorld) -> None:
    job = submitted(redis_world.store)
    change = Change(job.id, ANY, audit=[note(at_ms=NOW_MS)])
    first = redis_world.store.send_change(change, "token")
    assert redis_world.store.send_change(change, "token") == first
    assert len(entries(redis_world.trail, job.id)) == 1


def test_a_change_sent_again_after_later_entries_leaves_no_second_one(redis_world: RedisWorld) -> None:
    job = submitted(redis_world.store)
    change = Change(job.id, ANY, audit=[note(at_ms=NOW_MS)])
    redis_world.store.send_change(change, "token-1")
    redis_world.store.send_change(change, "token-2")
    redis_world.store.send_change(change, "token-1")
    assert len(entries(redis_world.trail, job.id)) == 2
    assert check(redis_world.trail)[job.id].ok


def test_a_chain_that_is_known_by_its_name_alone_does_not_hold(redis_world: RedisWorld) -> None:
    job = submitted(redis_world.store)
    redis_world.store.change(Change(job.id, ANY, audit=[note(at_ms=NOW_MS)]))
    keys = Keys(redis_world.namespace)
    redis_world.client.delete(keys.audit_chain(job.id))
    redis_world.client.hdel(keys.audit_heads, job.id)
    broken = check(redis_world.trail)[job.id].broken
    assert broken is not None
    assert (broken.n, "known by name only" in broken.message) == (1, True)


def test_documents_sent_twice_leave_one_entry_each(redis_client: Redis, namespace: str) -> None:
    documents, trail = RedisDocuments(redis_client, namespace), RedisAuditTrail(redis_client, namespace)
    saved, gone = note(Action.RECIPE_SAVED, at_ms=NOW_MS), note(Action.RECIPE_DELETED, at_ms=NOW_MS)
    for _ in range(2):
        documents.send_put("recipes", "a", {}, "token-1", audit=[saved])
    for _ in range(2):
        documents.send_delete("recipes", "a", "token-2", audit=[gone])
    assert actions(trail, SETTINGS) == ["recipe.saved", "recipe.deleted"]


def test_a_change_whose_answer_was_lost_leaves_one_entry(redis_url: str, namespace: str) -> None:
    direct = RedisJobStore(connect(redis_url), namespace)
    job = submitted(direct)
    direct.change(Change(job.id, ANY, audit=[note(at_ms=NOW_MS)]))
    port = redis_url.rpartition(":")[2].partition("/")[0]
    with Relay(int(port)) as relay:
        store = RedisJobStore(connect(redis_url.replace(f":{port}/", f":{relay.port}/")), namespace)
        store.ping()
        relay.cut_instead_of_answering(b"the-marked-note")
        noted = note(at_ms=NOW_MS, subject="the-marked-note")
        assert store.change(Change(job.id, ANY, audit=[noted])) == Changed(3)
        assert relay.connections == 2
    trail = RedisAuditTrail(connect(redis_url), namespace)
    assert [entry.subject for entry in entries(trail, job.id)] == ["", "the-marked-note"]


def interrupted(monkeypatch: pytest.MonkeyPatch, method: str, meanwhile: list[Any]) -> None:
    """Lets each of these happen between making the entries of a change and sending it."""
    made = getattr(AuditWriter, method)
    inside: list[bool] = []

    def make(self: AuditWriter, *args: Any, **fields: Any) -> Any:
        part = made(self, *args, **fields)
        if meanwhile and not inside:
            inside.append(True)
            meanwhile.pop(0)()
            inside.clear()
        return part

    monkeypatch.setattr(AuditWriter, method, make)


def test_a_change_that_another_one_overtakes_tells_what_it_really_led_from(
    redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = redis_world.store
    job = job_in(store, Status.PENDING_APPROVAL)
    silent = Change(job.id, ANY - {Status.RUNNING})
    other = Change(job.id, ANY, audit=[note(at_ms=NOW_MS, by="leo")])
    meanwhile = [lambda: store.change(silent), lambda: store.change(other)]
    interrupted(monkeypatch, "of_job", meanwhile)
    moved = Change(job.id, frozenset({Status.PENDING_APPROVAL}), Status.COMMITTING, audit=[note(at_ms=NOW_MS)])
    assert isinstance(store.change(moved), Changed)
    assert meanwhile == []
    found = entries(redis_world.trail, job.id)
    assert [entry.by for entry in found] == ["leo", "lea"]
    assert found[1].before is not None
    assert found[1].before.version == job.version + 2
    assert check(redis_world.trail)[job.id].ok


def test_a_change_that_is_refused_after_it_was_overtaken_leaves_no_entry(
    redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = redis_world.store
    job = job_in(store, Status.PENDING_APPROVAL)
    ended = Change(job.id, frozenset({Status.PENDING_APPROVAL}), Status.CANCELLED)
    interrupted(monkeypatch, "of_job", [lambda: store.change(ended)])
    wanted = Change(job.id, frozenset({Status.PENDING_APPROVAL}), Status.COMMITTING, audit=[note(at_ms=NOW_MS)])
    assert not isinstance(store.change(wanted), Changed)
    assert entries(redis_world.trail, job.id) == []


def test_a_writer_that_always_comes_second_gives_up_with_a_reason(
    redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = redis_world.store
    job = submitted(store)
    monkeypatch.setattr(redis_audit, "TRIES_MAX", 3)
    interrupted(monkeypatch, "of_job", [lambda: store.change(Change(job.id, ANY))] * 10)
    with pytest.raises(StoreUnavailable, match="audit trail"):
        store.change(Change(job.id, ANY, audit=[note(at_ms=NOW_MS)]))
    assert entries(redis_world.trail, job.id) == []


def test_a_full_server_takes_neither_a_change_nor_its_entry(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        client = connect(server.url)
        store, trail = RedisJobStore(client, "vardy"), RedisAuditTrail(client, "vardy")
        job = submitted(store)
        client.config_set("maxmemory", "1")
        change = Change(job.id, ANY, audit=[note(at_ms=NOW_MS)])
        with pytest.raises(StoreUnavailable, match="full"):
            store.change(change)
        with pytest.raises(StoreUnavailable, match="full"):
            store.submit(queued_job(), None, due_at_ms=NOW_MS, audit=[note(at_ms=NOW_MS)])
        assert (trail.count(), store.version(job.id)) == (0, (1, Status.QUEUED))
        client.config_set("maxmemory", "0")
        assert store.change(change) == Changed(2)
        assert check(trail)[job.id].ok


def test_a_trail_survives_a_server_that_is_killed(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        client = connect(server.url)
        job = submitted(RedisJobStore(client, "vardy"))
        RedisJobStore(client, "vardy").change(Change(job.id, ANY, audit=[note(at_ms=NOW_MS)]))
        before = entries(RedisAuditTrail(client, "vardy"), job.id)
        server.kill()
    with EmbeddedServer(tmp_path) as server:
        trail = RedisAuditTrail(connect(server.url), "vardy")
        assert entries(trail, job.id) == before
        assert check(trail)[job.id].ok


def test_a_wish_to_cancel_that_another_entry_overtakes_is_noted_once(
    redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = redis_world.store
    job = job_in(store, Status.COMMITTING)
    other = Change(job.id, ANY, audit=[note(at_ms=NOW_MS)])
    interrupted(monkeypatch, "of_mark", [lambda: store.change(other)])
    wish = note(Action.JOB_CANCEL_REQUESTED, at_ms=NOW_MS)
    assert store.request_cancel(job.id, by="lea", audit=[wish])
    assert actions(redis_world.trail, job.id) == ["decision.approve", "job.cancel_requested"]


def test_what_is_written_holds_no_key_that_nobody_trims(redis_world: RedisWorld) -> None:
    job = submitted(redis_world.store)
    told = [note(at_ms=NOW_MS, reason="r")]
    redis_world.store.change(
        Change(job.id, frozenset({Status.QUEUED}), to=Status.CANCELLED, retain_seconds=60, audit=told)
    )
    redis_world.forward(86_400)
    redis_world.trail.trim(older_than_ms=1000, limit=10)
    redis_world.store.rebuild_due(grace_ms=0)
    left = {key.decode() for key in redis_world.client.scan_iter(f"{redis_world.namespace}:*")}
    keys = Keys(redis_world.namespace)
    # An empty stream keeps its newest place, so that no place is given out twice.
    assert left == {keys.audit_log, keys.audit_trimmed}
    assert redis_world.client.xlen(keys.audit_log) == 0


@pytest.mark.parametrize("number", [200, 2000])
def test_a_page_reads_as_little_of_a_long_trail_as_of_a_short_one(redis_world: RedisWorld, number: int) -> None:
    documents = redis_world.documents
    noted = [note(at_ms=redis_world.store.server_now_ms(), subject=str(turn)) for turn in range(number)]
    for first in range(0, number, 100):
        documents.put("keys", "k", {}, audit=noted[first : first + 100])
    client = redis_world.client
    for where in (AuditFilter(), AuditFilter(chain=SETTINGS), AuditFilter(by="lea")):
        client.config_resetstat()
        page = redis_world.trail.page(where, cursor=None, limit=20)
        stats: Any = client.info("commandstats")
        assert len(page.items) == 20
        assert stats.get("cmdstat_lindex", {"calls": 0})["calls"] <= 20
        assert stats.get("cmdstat_lrange", {"calls": 0})["calls"] <= 1
