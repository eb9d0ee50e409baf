"""Jobs in memory, for tests: the semantics of `redis_jobs`, step for step, under one lock."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import SETTINGS, AuditState
from vardy_worker.contracts.erasure import erased_entry, erased_event, erased_record
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.job import SCHEMA, JobPage
from vardy_worker.contracts.quota import QuotaOf
from vardy_worker.contracts.status import Status
from vardy_worker.ports import (
    KEEP,
    Changed,
    Claimed,
    Conflict,
    DueJob,
    KeyReused,
    Missing,
    NotClaimed,
    Replayed,
    Seen,
    Submitted,
)
from vardy_worker.store.codec import (
    LIVE,
    SUMMARY_FIELDS,
    decode_event,
    decode_record,
    decode_summary,
    dump_json,
    encode_changes,
    encode_event,
    encode_record,
    record_indexes,
    require_erasable,
    require_moves,
)
from vardy_worker.store.cursor import make_cursor, read_cursor
from vardy_worker.store.events import event_place, tells_status
from vardy_worker.store.keys import status_index
from vardy_worker.store.memory_accounts import MemoryAccounts
from vardy_worker.store.memory_audit import MemoryAuditTrail
from vardy_worker.store.memory_rates import MemoryBuckets
from vardy_worker.store.memory_totals import MemoryTotals
from vardy_worker.store.seen import LOOK_FIELDS, decode_seen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.job import ConsoleRecord, JobFilter, JobRecord
    from vardy_worker.contracts.journal import EffectRecord, JournalEntry
    from vardy_worker.contracts.quota import QuotaExceeded, RateExceeded, Used
    from vardy_worker.contracts.totals import CountedPlan, EffectTotals
    from vardy_worker.ports import Change, Clock, IdempotencyClaim


@dataclass(slots=True)
class _Job:
    fields: dict[str, bytes]
    indexes: frozenset[str]
    effects: dict[int, EffectRecord] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)
    events: list[bytes] = field(default_factory=list)
    console: ConsoleRecord | None = None
    expires_at_ms: int | None = None

    def number(self, name: str) -> int:
        return int(self.fields.get(name, b"0"))

    @property
    def status(self) -> Status:
        return Status(json.loads(self.fields["status"]))

    @property
    def state(self) -> AuditState:
        return AuditState(status=self.status, version=self.number("version"))

    def record(self) -> JobRecord:
        fields = {name.encode(): value for name, value in self.fields.items()}
        return decode_record(fields, [self.effects[seq].model_dump_json().encode() for seq in sorted(self.effects)])

    def put(self, **values: object) -> None:
        self.fields |= {name: dump_json(value) for name, value in values.items()}

    def tell(self, status: Status, at_ms: int) -> None:
        self.events.append(encode_event(Event(type="status", data={"status": status}, at_ms=at_ms)))


class MemoryJobStore:
    """The `JobStore` port without a server; the clock stands for the server's."""

    def __init__(self, clock: Clock, audit: MemoryAuditTrail | None = None) -> None:
        """`audit` is where entries go; by default a trail of its own."""
        self._clock = clock
        self.audit = audit or MemoryAuditTrail(clock)
        self.audit.job_is_there = lambda job_id: self._job(job_id) is not None
        self._lock = threading.RLock()
        self._jobs: dict[str, _Job] = {}
        self._due: dict[str, int] = {}
        self._next_rebuild_ms = 0
        self._claims: dict[tuple[str, str], tuple[str, str, int]] = {}
        self._totals = MemoryTotals(clock)
        self._accounts = MemoryAccounts(clock)
        self._buckets = MemoryBuckets(clock)
        self._listeners: list[Callable[[str, Status | None], None]] = []

    def on_change(self, listener: Callable[[str, Status | None], None]) -> None:
        """Calls the listener with the id of every job that changes and its status, in the changing thread."""
        with self._lock:
            self._listeners.append(listener)

    def submit(
        self,
        record: JobRecord,
        claim: IdempotencyClaim | None,
        *,
        due_at_ms: int,
        per_minute: int = 0,
        audit: Sequence[AuditNote] = (),
    ) -> Submitted | Replayed | KeyReused | QuotaExceeded | RateExceeded:
        """See `JobStore.submit`."""
        if record.status is not Status.QUEUED:
            msg = f"a new job is QUEUED, not {record.status}"
            raise ValueError(msg)
        fields = encode_record(record)
        with self._lock:
            if self._job(record.id):
                return Submitted(record.id)
            answer = (self._submitted_under(claim) if claim else None) or self._refusal(record, per_minute)
            if answer is not None:
                return answer
            if claim:
                until_ms = self._clock.now_ms() + claim.keep_seconds * 1000
                self._claims[claim.scope, claim.key] = (record.id, claim.body_sha256, until_ms)
            self._jobs[record.id] = job = _Job(fields, frozenset(record_indexes(record)))
            job.tell(record.status, record.created_at_ms)
            self._due[record.id] = due_at_ms
            self._accounts.open(record)
            self.audit.append(record.id, audit, before=None, after=AuditState(status=record.status, version=1))
            return Submitted(record.id)

    def _refusal(self, record: JobRecord, per_minute: int) -> QuotaExceeded | RateExceeded | None:
        exceeded = self._accounts.refusal(record)
        if exceeded is not None or not per_minute:
            return exceeded
        return self._buckets.take(QuotaOf.USER, record.submission.user.id, per_minute)

    def submitted_under(self, claim: IdempotencyClaim) -> Replayed | KeyReused | None:
        """See `JobStore.submitted_under`."""
        with self._lock:
            return self._submitted_under(claim)

    def _submitted_under(self, claim: IdempotencyClaim) -> Replayed | KeyReused | None:
        job_id, body, until_ms = self._claims.get((claim.scope, claim.key), ("", "", 0))
        if until_ms <= self._clock.now_ms() or not self._job(job_id):
            return None
        return Replayed(job_id) if body == claim.body_sha256 else KeyReused(job_id)

    def get(self, job_id: str) -> JobRecord | None:
        """See `JobStore.get`."""
        with self._lock:
            job = self._job(job_id)
            return job.record() if job else None

    def version(self, job_id: str) -> tuple[int, Status] | None:
        """See `JobStore.version`."""
        with self._lock:
            job = self._job(job_id)
            return (job.number("version"), job.status) if job else None

    def look(self, job_ids: Sequence[str]) -> Mapping[str, Seen | None]:
        """See `JobStore.look`."""
        with self._lock:
            return {job_id: self._seen(job_id) for job_id in job_ids}

    def _seen(self, job_id: str) -> Seen | None:
        job = self._job(job_id)
        return decode_seen([job.fields.get(name) for name in LOOK_FIELDS], len(job.events)) if job else None

    def change(self, change: Change) -> Changed | Conflict | Missing:
        """See `JobStore.change`."""
        require_moves(change.expect_status, change.to)
        fields = encode_changes(change.set)
        with self._lock:
            job = self._job(change.job_id)
            if job is None:
                return Missing()
            fence, version = job.number("fence"), job.number("version")
            cancelled_by = json.loads(job.fields.get("cancel_requested_by", b'""'))
            if (
                job.status not in change.expect_status
                or change.expect_fence not in {None, fence}
                or change.expect_version not in {None, version}
                or (change.unless_cancel_requested and cancelled_by)
            ):
                return Conflict(status=job.status, version=version, fence=fence, cancel_requested_by=cancelled_by)
            self._apply(job, change, fields)
            self._tell(change.job_id, job.status)
            return Changed(version=version + 1)

    def _apply(self, job: _Job, change: Change, fields: dict[str, bytes]) -> None:
        before = job.state
        after = AuditState(status=change.to or before.status, version=before.version + 1)
        self.audit.append(change.job_id, change.audit, before=before, after=after)
        job.fields |= fields
        job.put(version=job.number("version") + 1, status=change.to or job.status)
        job.effects |= {effect.seq: effect for effect in change.effects}
        job.journal += change.journal
        job.events += map(encode_event, change.events)
        if job.status is not before.status and not tells_status(change):
            job.tell(job.status, self._clock.now_ms())
        if change.release:
            job.put(lease_until_ms=0, deliveries=0, worker="")
        if change.due_at_ms is None:
            self._due.pop(change.job_id, None)
        elif change.due_at_ms is not KEEP:
            self._due[change.job_id] = int(change.due_at_ms)
        if change.retain_seconds:
            job.expires_at_ms = self._clock.now_ms() + change.retain_seconds * 1000
        elif change.retain_seconds == 0 or change.to in LIVE:
            job.expires_at_ms = None
        self._accounts.move(change.job_id, job.status)
        if "usage" in change.set:
            self._accounts.spend(change.job_id, change.set["usage"])
        if change.correction is not None:
            self._totals.correct(change.correction)

    def claim(
        self, job_id: str, *, expect: frozenset[Status], to: Status, worker: str, lease_ms: int
    ) -> Claimed | NotClaimed:
        """See `JobStore.claim`. Reasons: `missing`, `schema`, `status`, `leased`, `not_due`."""
        require_moves(expect, to)
        with self._lock:
            now = self._clock.now_ms()
            job = self._job(job_id)
            if job is None:
                return NotClaimed("missing")
            if job.number("schema") > SCHEMA:
                return NotClaimed("schema")
            if job.status not in expect:
                return NotClaimed("status")
            if job.number("lease_until_ms") > now:
                return NotClaimed("leased")
            if job.number("not_before_ms") > now:
                return NotClaimed("not_due")
            if job.status is not to:
                job.tell(to, now)
            job.put(
                status=to,
                version=job.number("version") + 1,
                fence=job.number("fence") + 1,
                deliveries=job.number("deliveries") + 1,
                worker=worker,
                lease_until_ms=now + lease_ms,
                started_at_ms=job.number("started_at_ms") or now,
            )
            self._due[job_id] = now + lease_ms
            self._tell(job_id, to)
            return Claimed(job.record())

    def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
        """See `JobStore.heartbeat`."""
        with self._lock:
            job = self._job(job_id)
            if job is None or job.number("fence") != fence or job.number("lease_until_ms") == 0:
                return False
            ends = self._clock.now_ms() + lease_ms
            job.put(lease_until_ms=ends)
            self._due[job_id] = ends
            return True

    def request_cancel(self, job_id: str, *, by: str, audit: Sequence[AuditNote] = ()) -> bool:
        """See `JobStore.request_cancel`."""
        with self._lock:
            job = self._job(job_id)
            if job is None or job.status is not Status.COMMITTING:
                return False
            if json.loads(job.fields.get("cancel_requested_by", b'""')):
                return True
            self.audit.append(job_id, audit, before=job.state, after=job.state)
            job.put(cancel_requested_by=by)
            if job.number("lease_until_ms") == 0:
                job.put(not_before_ms=0)
                self._due[job_id] = self._clock.now_ms()
            data = {"status": job.status, "cancel_requested_by": by}
            job.events.append(encode_event(Event(type="status", data=data, at_ms=self._clock.now_ms())))
            self._tell(job_id)
            return True

    def erase(
        self, job_id: str, *, expect_version: int, at_ms: int, audit: Sequence[AuditNote] = ()
    ) -> Changed | Conflict | Missing:
        """See `JobStore.erase`."""
        with self._lock:
            job = self._job(job_id)
            if job is None:
                return Missing()
            record = job.record()
            if record.version != expect_version:
                return Conflict(record.status, record.version, record.fence, record.cancel_requested_by)
            require_erasable(record)
            left = erased_record(record, at_ms=at_ms)
            before, job.fields = job.state, encode_record(left)
            job.indexes = frozenset(record_indexes(left))
            job.effects = {effect.seq: effect for effect in left.effects}
            job.journal = list(map(erased_entry, job.journal))
            job.events = [
                encode_event(erased_event(decode_event(place, line))) for place, line in enumerate(job.events, start=1)
            ]
            job.console = None
            self._accounts.forget(job_id)
            self.audit.erase_texts(job_id)
            self.audit.append(job_id, audit, before=before, after=job.state)
            self._tell(job_id)
            return Changed(left.version)

    def take_due(self, *, limit: int, hide_ms: int, hide_queued_ms: int | None = None) -> Sequence[DueJob]:
        """See `JobStore.take_due`."""
        with self._lock:
            now = self._clock.now_ms()
            taken = []
            for _, job_id in sorted((due, job_id) for job_id, due in self._due.items() if due <= now)[:limit]:
                job = self._job(job_id)
                if job is None:
                    self._due.pop(job_id, None)
                    continue
                hide_by_status = {Status.QUEUED: hide_ms if hide_queued_ms is None else hide_queued_ms}
                self._due[job_id] = now + hide_by_status.get(job.status, hide_ms)
                taken.append(
                    DueJob(
                        job_id=job_id,
                        status=job.status,
                        deliveries=job.number("deliveries"),
                        created_at_ms=job.number("created_at_ms"),
                    )
                )
            return taken

    def rebuild_due(self, *, grace_ms: int, every_ms: int = 0, limit: int | None = None) -> int:
        """See `JobStore.rebuild_due`."""
        with self._lock:
            now = self._clock.now_ms()
            self.audit.forget_empty()
            if now < self._next_rebuild_ms:
                return 0
            earliest = now + grace_ms
            missing = [job_id for job_id in list(self._jobs) if self._lacks_due(job_id)][:limit]
            if len(missing) != limit:
                self._next_rebuild_ms = now + every_ms
            for job_id in missing:
                expires = json.loads(self._jobs[job_id].fields.get("expires_at_ms", b"0"))
                self._due[job_id] = max(earliest, expires or 0)
            return len(missing)

    def _lacks_due(self, job_id: str) -> bool:
        job = self._job(job_id)
        return job is not None and job.status in LIVE and job_id not in self._due

    def list_jobs(self, where: JobFilter, *, cursor: str | None, limit: int) -> JobPage:
        """See `JobStore.list_jobs`."""
        if limit < 1:
            msg = "a page holds at least one job"
            raise ValueError(msg)
        after = None if cursor is None else read_cursor(cursor)
        single = {"kind": where.kind, "user": where.user, "recipe": where.recipe, "owner": where.owner}
        groups = [{f"{name}:{value}"} for name, value in single.items() if value is not None]
        if where.status:
            groups.append({status_index(status) for status in where.status})
        with self._lock:
            found = []
            for job_id in list(self._jobs):
                job = self._job(job_id)
                place = (job.number("created_at_ms"), job_id) if job else (0, "")
                if (
                    job is None
                    or (after is not None and place >= after)
                    or (where.created_after_ms is not None and place[0] <= where.created_after_ms)
                    or not all(group & {*job.indexes, status_index(job.status)} for group in groups)
                ):
                    continue
                found.append(place)
            found.sort(reverse=True)
            items = tuple(
                decode_summary(job_id, [self._jobs[job_id].fields.get(name) for name in SUMMARY_FIELDS])
                for _, job_id in found[:limit]
            )
        return JobPage(items=items, next=make_cursor(*found[limit - 1]) if len(found) > limit else None)

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """See `JobStore.journal`."""
        with self._lock:
            job = self._job(job_id)
            return tuple(job.journal) if job else ()

    def events(self, job_id: str, *, after: str = "", limit: int = 1000) -> Sequence[Event]:
        """See `JobStore.events`. Raises `RequestError` `cursor.invalid` for an id that is none."""
        first = event_place(after)
        with self._lock:
            job = self._job(job_id)
            stored = job.events[first : first + limit] if job else []
        return [decode_event(first + offset + 1, line) for offset, line in enumerate(stored)]

    def put_console(self, job_id: str, console: ConsoleRecord) -> None:
        """See `JobStore.put_console`."""
        with self._lock:
            job = self._job(job_id)
            if job and "erased_at_ms" not in job.fields:
                job.console = console

    def console(self, job_id: str) -> ConsoleRecord | None:
        """See `JobStore.console`."""
        with self._lock:
            job = self._job(job_id)
            return job.console if job else None

    def counts(self) -> Mapping[Status, int]:
        """See `JobStore.counts`."""
        with self._lock:
            jobs = [job for job_id in list(self._jobs) if (job := self._job(job_id))]
            return {status: sum(job.status is status for job in jobs) for status in Status}

    def count_plan(self, job: JobRecord, *, fence: int, totals: EffectTotals, window_hours: int) -> CountedPlan | None:
        """See `JobStore.count_plan`."""
        with self._lock:
            found = self._job(job.id)
            if found is None or found.status is not Status.COMMITTING or found.number("fence") != fence:
                return None
            user = job.submission.user.id
            counted = self._totals.count(user, job.counted, totals=totals, window_hours=window_hours)
            if job.counted is None or job.counted.before is None:
                found.fields |= encode_changes({"counted": counted})
            return counted

    def user_totals(self, user: str, *, window_hours: int, without: CountedPlan | None = None) -> EffectTotals:
        """See `JobStore.user_totals`."""
        with self._lock:
            return self._totals.read(user).window(window_hours, without=without)

    def erase_user_totals(self, user: str, *, audit: Sequence[AuditNote] = ()) -> bool:
        """See `JobStore.erase_user_totals`."""
        with self._lock:
            # Both, whatever the first one knows.
            erased = any([self._totals.erase(user), self._accounts.erase_spending(user)])
            if erased:
                self.audit.append(SETTINGS, audit, before=None, after=None)
            return erased

    def used(self, of: QuotaOf, id_: str) -> Used:
        """See `JobStore.used`."""
        with self._lock:
            return self._accounts.used(of, id_)

    def exceeded(self, job: JobRecord) -> QuotaExceeded | None:
        """See `JobStore.exceeded`."""
        with self._lock:
            return self._accounts.exceeded(job)

    def server_now_ms(self) -> int:
        """See `JobStore.server_now_ms`."""
        return self._clock.now_ms()

    def ping(self) -> None:
        """See `JobStore.ping`. Never fails."""

    def _job(self, job_id: str) -> _Job | None:
        job = self._jobs.get(job_id)
        if job and job.expires_at_ms is not None and job.expires_at_ms <= self._clock.now_ms():
            del self._jobs[job_id]
            self._accounts.forget(job_id)
            return None
        return job

    def _tell(self, job_id: str, status: Status | None = None) -> None:
        for listener in self._listeners:
            listener(job_id, status)
