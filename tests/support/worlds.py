"""A store and its time, on memory or on a real server, so that one suite runs on both."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from tests.support.factories import NOW_MS, StillClock, queued_job
from vardy_worker.contracts.quota import DAY_SECONDS
from vardy_worker.contracts.status import TRANSITIONS, Status
from vardy_worker.contracts.totals import HOUR_MS
from vardy_worker.ports import Change, Changed, Claimed, JobStore
from vardy_worker.store.keys import Keys
from vardy_worker.store.memory_documents import MemoryDocuments
from vardy_worker.store.memory_jobs import MemoryJobStore
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from redis import Redis

    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import AuditTrail, Documents, NotClaimed
    from vardy_worker.store.memory_audit import MemoryAuditTrail

DAY_MS = DAY_SECONDS * 1000
MIDNIGHT_MS = NOW_MS - NOW_MS % DAY_MS


class World(Protocol):
    """What a suite needs: a store, and time that passes when the test says so."""

    @property
    def store(self) -> JobStore: ...

    @property
    def documents(self) -> Documents: ...

    @property
    def trail(self) -> AuditTrail: ...

    def forward(self, seconds: float) -> None: ...


class MemoryWorld:
    """The memory store with a still clock."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self._clock = StillClock(now_ms)
        self._store = MemoryJobStore(self._clock)
        self._documents = MemoryDocuments(self._store.audit)

    @property
    def store(self) -> MemoryJobStore:
        return self._store

    @property
    def documents(self) -> MemoryDocuments:
        return self._documents

    @property
    def trail(self) -> MemoryAuditTrail:
        return self._store.audit

    def forward(self, seconds: float) -> None:
        self._clock.forward(seconds)


@dataclass
class RedisWorld:
    """The Redis store. The server's clock cannot be moved, so every stored time is moved back."""

    client: Redis
    namespace: str

    def __post_init__(self) -> None:
        self._keys = Keys(self.namespace)
        self._passed_ms = 0
        self._store = RedisJobStore(self.client, self.namespace)

    @property
    def store(self) -> RedisJobStore:
        return self._store

    @property
    def documents(self) -> RedisDocuments:
        return RedisDocuments(self.client, self.namespace)

    @property
    def trail(self) -> RedisAuditTrail:
        return RedisAuditTrail(self.client, self.namespace)

    def forward(self, seconds: float) -> None:
        milliseconds = int(seconds * 1000)
        for key in cast("list[bytes]", list(self.client.scan_iter(f"{self.namespace}:*"))):
            left = self.client.pttl(key)
            if left >= 0:
                self.client.pexpire(key, max(left - milliseconds, 0))
        log = cast("list[tuple[bytes, Any]]", self.client.xrange(self._keys.audit_log))
        self.client.delete(self._keys.audit_log)
        for place, fields in log:
            at_ms, _, order = place.decode().partition("-")
            self.client.xadd(self._keys.audit_log, fields, id=f"{int(at_ms) - milliseconds}-{order}")
        for index in (self._keys.due, self._keys.expiring):
            for job_id in cast("list[bytes]", self.client.zrange(index, 0, -1)):
                self.client.zincrby(index, -milliseconds, job_id)
        if self.client.hexists(self._keys.rebuilding, "rest_until"):
            self.client.hincrby(self._keys.rebuilding, "rest_until", -milliseconds)
        for job_id in cast("list[bytes]", self.client.zrange(self._keys.index("all"), 0, -1)):
            record = self._keys.job(job_id.decode())
            for field in ("lease_until_ms", "not_before_ms"):
                if int(cast("bytes | None", self.client.hget(record, field)) or 0):
                    self.client.hincrby(record, field, -milliseconds)
        self._totals_back(milliseconds // HOUR_MS)
        days = (self._passed_ms + milliseconds) // DAY_MS - self._passed_ms // DAY_MS
        self._passed_ms += milliseconds
        self._spending_back(days)

    def _spending_back(self, days: int) -> None:
        """Moves what was spent back by whole days; the first one begins with this world."""
        names = list(self.client.scan_iter(f"{self._keys.account_prefix}*:spent:*")) if days else []
        for name in sorted(cast("list[bytes]", names)):
            account, _, day = name.decode().rpartition(":")
            self.client.rename(name, f"{account}:{int(day) - days}")

    def _totals_back(self, hours: int) -> None:
        """Moves what was counted back by whole hours: in totals, their corrections, and the notes of jobs."""
        for totals in cast("list[bytes]", list(self.client.scan_iter(f"{self.namespace}:totals:*", _type="hash"))):
            by_hour = {
                field: value
                for field, value in cast("dict[bytes, bytes]", self.client.hgetall(totals)).items()
                if field.isdigit()
            }
            if by_hour:
                self.client.hdel(totals, *by_hour)
                self.client.hset(totals, mapping={int(hour) - hours: value for hour, value in by_hour.items()})
                self.client.hincrby(totals, "_last", -hours)
        for corrections in cast("list[bytes]", list(self.client.scan_iter(f"{self.namespace}:totals:*", _type="list"))):
            for place, line in enumerate(cast("list[bytes]", self.client.lrange(corrections, 0, -1))):
                self.client.lset(corrections, place, _hours_back(line, hours))
        for job_id in cast("list[bytes]", self.client.zrange(self._keys.index("all"), 0, -1)):
            record = self._keys.job(job_id.decode())
            counted = cast("bytes | None", self.client.hget(record, "counted"))
            if counted and counted != b"null":
                self.client.hset(record, "counted", _hours_back(counted, hours))


def _hours_back(stored: bytes, hours: int) -> str:
    """A stored object whose `hour` lies so much earlier."""
    value = json.loads(stored)
    return json.dumps({**value, "hour": value["hour"] - hours})


def submitted(store: JobStore, **fields: Any) -> JobRecord:
    """A new job, due now, created now by the store's clock unless the test says otherwise."""
    fields.setdefault("created_at_ms", store.server_now_ms())
    job = queued_job(**fields)
    store.submit(job, None, due_at_ms=store.server_now_ms())
    return job


def held(claim: Claimed | NotClaimed) -> tuple[int, int]:
    """Fence and deliveries of a claim that was not refused."""
    assert isinstance(claim, Claimed)
    return claim.fence, claim.deliveries


def statuses_told(store: JobStore, job_id: str) -> list[str]:
    """The statuses that a job's events tell of, oldest first."""
    return [event.data["status"] for event in store.events(job_id) if event.type == "status"]


def job_in(store: JobStore, status: Status, **fields: Any) -> JobRecord:
    """A job that was led to a status through moves that the table allows."""
    job = submitted(store, **fields)
    for before, after in _way_to(status):
        changed = store.change(Change(job.id, frozenset({before}), after))
        assert isinstance(changed, Changed)
    found = store.get(job.id)
    assert found is not None
    return found


def _way_to(status: Status) -> list[tuple[Status, Status]]:
    ways: dict[Status, list[tuple[Status, Status]]] = {Status.QUEUED: []}
    waiting = deque([Status.QUEUED])
    while waiting:
        before = waiting.popleft()
        for after in sorted(TRANSITIONS[before] - ways.keys()):
            ways[after] = [*ways[before], (before, after)]
            waiting.append(after)
    return ways[status]
