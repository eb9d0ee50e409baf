"""A server that is killed again and again under load: nothing acknowledged is lost, nothing is applied twice."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

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
                assert isinstance(store.change(self._entry(number)), Changed)
            except StoreUnavailable:
                self.refused.append(number)
            else:
                self.acknowledged.append(number)

    def _entry(self, number: int) -> Change:
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
