"""A server that is killed again and again under load: nothing acknowledged is lost, nothing is applied twice."""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.audit import check, entries, note
from tests.support.factories import NOW_MS
from tests.support.waiting import eventually
from tests.support.worlds import job_in
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.journal import EffectState, JournalEntry
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 3
KILLS = 4
WRITES_BETWEEN_KILLS = 40


@dataclass
class Writer:
    """Appends numbered entries to the journal of a job of its own, one change each."""

    url: str
    stop: threading.Event
    acknowledged: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    job_id: str = ""

    def run(self) -> None:
        store = RedisJobStore(connect(self.url), "vardy")
        self.job_id = job_in(store, Status.COMMITTING).id
        number = 0
        while not self.stop.is_set():
            number += 1
            try:
                assert isinstance(store.change(self.entry(number)), Changed)
            except StoreUnavailable:
                self.refused.append(number)
            else:
                self.acknowledged.append(number)

    def entry(self, number: int) -> Change:
        entry = JournalEntry(
            at_ms=NOW_MS,
            seq=number,
            state=EffectState.STARTED,
            attempt=1,
            fence=0,
            worker="w1",
            idempotency_key="key",
            args_sha256="0" * 64,
        )
        noted = note(at_ms=NOW_MS, details={"number": number})
        return Change(
            self.job_id, frozenset({Status.COMMITTING}), journal=[entry], audit=[noted], durable=number % 2 == 0
        )


def all_reached(writers: list[Writer], goals: list[int]) -> bool:
    return all(len(writer.acknowledged) >= goal for writer, goal in zip(writers, goals, strict=True))


def test_no_acknowledged_change_is_lost_or_applied_twice_over_crashes(tmp_path: Path) -> None:
    port, stop = free_port(), threading.Event()
    server = EmbeddedServer(tmp_path, port=port, password="made-up")
    writers = [Writer(server.url, stop) for _ in range(WRITERS)]
    threads = [threading.Thread(target=writer.run) for writer in writers]
    for thread in threads:
        thread.start()
    for _ in range(KILLS):
        goals = [len(writer.acknowledged) + WRITES_BETWEEN_KILLS for writer in writers]
        assert eventually(partial(all_reached, writers, goals), seconds=60)
        server.kill()
        server = EmbeddedServer(tmp_path, port=port, password="made-up")
    stop.set()
    for thread in threads:
        thread.join()
    store = RedisJobStore(connect(server.url), "vardy")
    trail = RedisAuditTrail(connect(server.url), "vardy")
    for writer in writers:
        written = Counter(entry.seq for entry in store.journal(writer.job_id))
        assert set(writer.acknowledged) <= set(written)
        assert set(written) <= {*writer.acknowledged, *writer.refused}
        assert max(written.values()) == 1
        assert [entry.seq for entry in store.journal(writer.job_id)] == sorted(written)
        # Each change with its audit entry, or neither.
        assert [entry.details["number"] for entry in entries(trail, writer.job_id)] == sorted(written)
    assert all(chain.ok for chain in check(trail).values())
    server.stop()


@pytest.mark.parametrize("cut_bytes", [1, 40, 400])
def test_a_file_that_was_torn_at_its_end_loses_the_last_write_whole(tmp_path: Path, cut_bytes: int) -> None:
    """As a power cut in the middle of a write leaves it: nobody had been told of that write yet."""
    with EmbeddedServer(tmp_path) as server, closing(connect(server.url)) as client:
        store = RedisJobStore(client, "vardy")
        kept, torn = job_in(store, Status.PENDING_APPROVAL), job_in(store, Status.COMMITTING)
        before = store.get(torn.id)
        entry = Writer(server.url, threading.Event(), job_id=torn.id).entry(1)
        assert isinstance(store.change(replace(entry, to=Status.PARTIAL, set={"warnings": ("torn" * 100,)})), Changed)
        server.kill()
    [file] = (tmp_path / "appendonlydir").glob("*.incr.aof")
    os.truncate(file, file.stat().st_size - cut_bytes)
    with EmbeddedServer(tmp_path) as server, closing(connect(server.url)) as client:
        store = RedisJobStore(client, "vardy")
        assert store.get(kept.id) == kept
        assert store.get(torn.id) == before
        assert store.journal(torn.id) == []
        assert {status: number for status, number in store.counts().items() if number} == {
            Status.PENDING_APPROVAL: 1,
            Status.COMMITTING: 1,
        }
        assert isinstance(store.change(entry), Changed)
        assert [found.seq for found in store.journal(torn.id)] == [1]
