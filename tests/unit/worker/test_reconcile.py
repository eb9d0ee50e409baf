from typing import Any

import pytest

from tests.support.audit import entries, note
from tests.support.factories import NOW_MS, StillClock, planned_job, queued_job
from tests.support.waiting import eventually
from vardy_worker.contracts.audit import SETTINGS, AuditState
from vardy_worker.contracts.errors import RecordTooNew
from vardy_worker.contracts.job import JobRecord, QueueName
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed, Claimed
from vardy_worker.reconcile import (
    BACKLOG_DEPTH,
    BEAT_SECONDS,
    DUE_BATCH,
    EXPIRED_MAX,
    HIDE_MS,
    TRIM_BATCH,
    TRIM_SECONDS,
    Reconciler,
)
from vardy_worker.settings import load_settings
from vardy_worker.store.memory_documents import MemoryPresence
from vardy_worker.store.memory_jobs import MemoryJobStore
from vardy_worker.store.memory_queue import MemoryQueue
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS

RUNNABLE = frozenset({Status.QUEUED, Status.RUNNING})


class Around:
    """A reconciler on memory stores."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.store = MemoryJobStore(self.clock)
        self.queue = MemoryQueue(self.clock)
        self.presence = MemoryPresence(self.clock)
        self.reconciler = self.another("w1")

    def another(self, name: str, clock: StillClock | None = None) -> Reconciler:
        return Reconciler(
            store=self.store,
            audit=self.store.audit,
            queue=self.queue,
            presence=self.presence,
            clock=clock or self.clock,
            settings=load_settings(),
            worker=name,
        )

    def submit(self, **fields: Any) -> JobRecord:
        job = queued_job(created_at_ms=self.clock.now_ms(), **fields)
        self.store.submit(job, None, due_at_ms=self.clock.now_ms() + PUBLISH_GRACE_MS)
        return job

    def claim(self, job: JobRecord) -> Claimed:
        claimed = self.store.claim(job.id, expect=RUNNABLE, to=Status.RUNNING, worker="lost", lease_ms=5000)
        assert isinstance(claimed, Claimed)
        return claimed

    def claim_for_good(self, job_id: str) -> None:
        """Somebody works on the job and keeps its lease."""
        day_ms = 86_400_000
        self.store.claim(job_id, expect=RUNNABLE, to=Status.RUNNING, worker="busy", lease_ms=day_ms)

    def status(self, job: JobRecord) -> Status:
        found = self.store.get(job.id)
        assert found is not None
        return found.status


@pytest.fixture
def around() -> Around:
    return Around()


def test_a_job_whose_message_was_lost_is_published_again(around: Around) -> None:
    job = around.submit()
    around.clock.forward(PUBLISH_GRACE_MS / 1000)
    assert around.reconciler.look() == 1
    assert around.queue.take("run") == job.id


def test_a_fresh_job_is_left_to_its_own_message(around: Around) -> None:
    around.submit()
    assert around.reconciler.look() == 0


def test_a_backlog_causes_no_storm(around: Around) -> None:
    for _ in range(50):
        around.queue.publish("run", around.submit().id)
    around.clock.forward(60)
    assert around.reconciler.look() == 0
    assert around.queue.depth("run") == 50


def test_a_job_of_a_lost_worker_is_found_in_a_long_backlog(around: Around) -> None:
    lost = around.submit()
    around.claim(lost)
    for _ in range(BACKLOG_DEPTH + 1):
        around.queue.publish("run", around.submit().id)
    around.clock.forward(6)
    assert around.reconciler.look() == 1


def test_the_jobs_of_a_long_backlog_are_not_looked_at_again_at_once(around: Around) -> None:
    for _ in range(BACKLOG_DEPTH + 1):
        around.queue.publish("run", around.submit().id)
    around.clock.forward(6)
    around.reconciler.look()
    around.clock.forward(HIDE_MS / 1000 + 1)
    assert around.store.take_due(limit=10, hide_ms=0) == []


def test_a_lost_job_is_found_behind_newer_messages(around: Around) -> None:
    lost = around.submit()
    around.clock.forward(10)
    around.queue.publish("run", around.submit().id)
    assert around.reconciler.look() == 1
    waiting = [around.queue.take("run") for _ in range(2)]
    assert lost.id in waiting


def test_a_job_of_a_lost_worker_is_published_when_its_lease_is_over(around: Around) -> None:
    job = around.submit()
    around.claim(job)
    around.clock.forward(4)
    assert around.reconciler.look() == 0
    around.clock.forward(2)
    assert around.reconciler.look() == 1
    assert around.queue.take("run") == job.id


def test_a_job_that_is_worked_on_is_left_alone(around: Around) -> None:
    job = around.submit()
    fence = around.claim(job).fence
    for _ in range(10):
        around.clock.forward(3)
        assert around.store.heartbeat(job.id, fence=fence, lease_ms=5000)
        assert around.reconciler.look() == 0


def test_two_copies_publish_a_lost_job_once(around: Around) -> None:
    around.submit()
    around.clock.forward(10)
    assert around.reconciler.look() + around.another("w2").look() == 1


def test_a_job_that_stays_lost_is_published_again_and_again(around: Around) -> None:
    around.submit()
    published = 0
    for _ in range(5):
        around.clock.forward(HIDE_MS / 1000 + 1)
        published += around.reconciler.look()
        around.queue.take("run")
    assert published == 5


def _put(around: Around, status: Status, **fields: Any) -> JobRecord:
    made = planned_job(status, **fields)
    job = around.submit(id=made.id)
    written = {"plan": made.plan, "policy": made.policy, "expires_at_ms": made.expires_at_ms}
    steps = [Status.RUNNING, Status.COMMITTING] if status is Status.COMMITTING else [status]
    before = Status.QUEUED
    for after in steps:
        due = made.expires_at_ms if after in {Status.PENDING_APPROVAL, Status.PLANNED} else NOW_MS
        change = Change(job.id, frozenset({before}), after, set=written, due_at_ms=due, release=True)
        assert isinstance(around.store.change(change), Changed)
        before = after
    return job


def test_an_approved_plan_without_a_message_is_published_to_the_commit_queue(around: Around) -> None:
    job = _put(around, Status.COMMITTING)
    assert around.reconciler.look() == 1
    assert around.queue.take("commit") == job.id


@pytest.mark.parametrize("status", [Status.PENDING_APPROVAL, Status.PLANNED])
def test_a_plan_that_nobody_decided_on_expires_and_is_never_run_again(around: Around, status: Status) -> None:
    job = _put(around, status)
    around.reconciler.look()
    assert around.status(job) is status
    around.clock.forward(86_400)
    around.reconciler.look()
    assert around.status(job) is Status.POLICY_BLOCKED
    assert around.queue.depth("run") == around.queue.depth("commit") == 0


def test_a_live_job_without_a_due_time_is_found_within_a_minute(around: Around) -> None:
    job = around.submit()
    around.store.change(Change(job.id, frozenset({Status.QUEUED}), due_at_ms=None))
    around.clock.forward(61)
    around.reconciler.look()
    around.clock.forward(HIDE_MS / 1000 + 1)
    around.reconciler.look()
    assert around.queue.take("run") == job.id


def test_a_settled_job_is_never_published(around: Around) -> None:
    job = around.submit()
    change = Change(job.id, frozenset({Status.QUEUED}), Status.CANCELLED, due_at_ms=None)
    assert isinstance(around.store.change(change), Changed)
    around.clock.forward(3600)
    assert around.reconciler.look() == 0


def test_a_worker_is_seen_while_it_reconciles_and_gone_when_it_stops(around: Around) -> None:
    around.reconciler.look()
    assert [seen.worker for seen in around.presence.seen()] == ["w1"]
    around.reconciler.stop()
    assert around.presence.seen() == []


class Unreadable(MemoryJobStore):
    """A store with records of a newer version."""

    def __init__(self, clock: StillClock) -> None:
        super().__init__(clock)
        self.newer: set[str] = set()

    def get(self, job_id: str) -> JobRecord | None:
        if job_id in self.newer:
            raise RecordTooNew("This job was written by a newer Vardy.")
        return super().get(job_id)


def test_a_record_that_cannot_be_read_keeps_no_other_job_from_being_found(around: Around) -> None:
    store = Unreadable(around.clock)
    around.store = store
    around.reconciler = around.another("w1")
    parked = around.submit()
    done = store.change(
        Change(
            parked.id,
            frozenset({Status.QUEUED}),
            Status.PLANNED,
            set={"expires_at_ms": around.clock.now_ms()},
            due_at_ms=around.clock.now_ms(),
        )
    )
    assert isinstance(done, Changed)
    store.newer.add(parked.id)
    lost = around.submit()
    around.clock.forward(PUBLISH_GRACE_MS / 1000)
    assert around.reconciler.look() == 1
    assert around.queue.take("run") == lost.id


def test_each_beat_says_how_confined_the_sandbox_is_by_then(around: Around) -> None:
    known: list[bool | None] = [None]
    reconciler = Reconciler(
        store=around.store,
        audit=around.store.audit,
        queue=around.queue,
        presence=around.presence,
        clock=around.clock,
        settings=load_settings(),
        worker="w1",
        confined=lambda: known[-1],
    )
    said = []
    for state in (None, True, False):
        known.append(state)
        reconciler.look()
        said += [worker.confined for worker in around.presence.seen()]
        around.clock.forward(BEAT_SECONDS)
    assert said == [None, True, False]


def test_the_reconciler_outlives_what_nobody_foresaw(around: Around) -> None:
    looks: list[int] = []

    class Odd(MemoryQueue):
        def depth(self, queue: QueueName) -> int:
            looks.append(1)
            raise ValueError(queue)

    around.queue = Odd(around.clock)
    reconciler = Reconciler(
        store=around.store,
        audit=around.store.audit,
        queue=around.queue,
        presence=around.presence,
        clock=around.clock,
        settings=load_settings(reconcile_seconds=0.001),
        worker="w1",
    )
    reconciler.start()
    assert eventually(lambda: len(looks) > 1)
    reconciler.stop()


def test_a_server_whose_clock_jumps_ahead_loses_no_young_audit_entry(around: Around) -> None:
    machine = StillClock(around.clock.now_ms())
    reconciler = around.another("w2", machine)
    around.store.audit.append(SETTINGS, [note(at_ms=NOW_MS)], before=None, after=AuditState(version=1))
    keep_seconds = load_settings().audit_retention_seconds
    around.clock.forward(keep_seconds + 60)
    reconciler.look()
    assert len(entries(around.store.audit, SETTINGS)) == 1
    machine.forward(keep_seconds + 60)
    reconciler.look()
    assert entries(around.store.audit, SETTINGS) == []


def test_old_audit_entries_are_trimmed_batch_by_batch(around: Around) -> None:
    job = around.submit()
    noted = Change(job.id, frozenset(Status), audit=[note(at_ms=NOW_MS)] * (TRIM_BATCH + 1))
    assert isinstance(around.store.change(noted), Changed)
    around.reconciler.look()
    around.clock.forward(400 * 86_400 + 1)
    around.store.change(Change(job.id, frozenset(Status), audit=[note(at_ms=around.clock.now_ms())]))
    left = []
    for _ in range(3):
        around.reconciler.look()
        left.append(len(entries(around.store.audit, job.id)))
    assert left == [2, 1, 1]
    around.clock.forward(400 * 86_400 - TRIM_SECONDS)
    around.reconciler.look()
    assert len(entries(around.store.audit, job.id)) == 1
    around.clock.forward(TRIM_SECONDS + 1)
    around.reconciler.look()
    assert entries(around.store.audit, job.id) == []
    assert entries(around.store.audit, SETTINGS) == []


def test_a_worker_says_when_it_last_looked_to_the_end(around: Around, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked() -> int | None:
        [seen] = around.presence.seen()
        return seen.looked_at_ms

    around.reconciler.look()
    assert looked() is None
    first = around.clock.now_ms()
    around.clock.forward(BEAT_SECONDS)
    around.reconciler.look()
    assert looked() == first
    second = around.clock.now_ms()

    def broken(**_: Any) -> None:
        message = "a look that ends early"
        raise RuntimeError(message)

    monkeypatch.setattr(around.store, "take_due", broken)
    for _ in range(2):
        around.clock.forward(BEAT_SECONDS)
        with pytest.raises(RuntimeError):
            around.reconciler.look()
    assert looked() == second


def test_messages_lost_all_at_once_are_made_up_for_by_few_in_each_look_and_once_each(around: Around) -> None:
    jobs = [around.submit().id for _ in range(2 * BACKLOG_DEPTH)]
    around.clock.forward(10)
    assert around.reconciler.look() == BACKLOG_DEPTH
    taken: list[str] = []
    while around.queue.depth("run"):
        # The workers are slower than the reconciler.
        for _ in range(min(100, around.queue.depth("run"))):
            job_id = around.queue.take("run") or ""
            around.claim_for_good(job_id)
            taken.append(job_id)
        around.clock.forward(HIDE_MS / 1000 + 1)
        assert around.reconciler.look() <= BACKLOG_DEPTH
    assert sorted(taken) == sorted(jobs)


def test_a_commit_whose_message_waits_is_not_published_again_and_again(around: Around) -> None:
    job = _put(around, Status.COMMITTING)
    published = 0
    for _ in range(5):
        around.clock.forward(HIDE_MS / 1000 + 1)
        published += around.reconciler.look()
    assert published == around.queue.depth("commit") == 1
    assert around.queue.take("commit") == job.id
    around.clock.forward(HIDE_MS / 1000 + 1)
    assert around.reconciler.look() == 1


def test_a_lost_job_does_not_wait_behind_thousands_of_plans_that_expire(around: Around) -> None:
    parked = [_put(around, Status.PENDING_APPROVAL, expires_at_ms=NOW_MS + 1000) for _ in range(EXPIRED_MAX + 50)]
    around.clock.forward(2)
    lost = around.submit()
    around.clock.forward(10)
    assert around.reconciler.look() == EXPIRED_MAX + 1
    assert around.queue.take("run") == lost.id
    around.clock.forward(HIDE_MS / 1000 + 1)
    around.reconciler.look()
    assert {around.status(job) for job in parked} == {Status.POLICY_BLOCKED}


def test_one_look_takes_no_more_than_so_many_jobs(around: Around, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vardy_worker.reconcile.TAKEN_MAX", DUE_BATCH)
    for _ in range(2 * DUE_BATCH):
        around.submit()
    around.clock.forward(10)
    assert [around.reconciler.look() for _ in range(3)] == [DUE_BATCH, DUE_BATCH, 0]
