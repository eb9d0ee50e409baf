from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.support.worlds import RedisWorld, World, held, job_in, statuses_told, submitted
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Claimed, DueJob, JobStore, NotClaimed
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_jobs import RedisJobStore

QUEUED = frozenset({Status.QUEUED})
TO_RUN = frozenset({Status.QUEUED, Status.RUNNING})
COMMITTING = frozenset({Status.COMMITTING})


def claim(store: JobStore, job_id: str, worker: str = "w1", lease_ms: int = 5000) -> Claimed | NotClaimed:
    return store.claim(job_id, expect=TO_RUN, to=Status.RUNNING, worker=worker, lease_ms=lease_ms)


# --- claiming -----------------------------------------------------------------------------


def test_the_first_claim_starts_the_job_and_tells_of_it(store: JobStore) -> None:
    job = submitted(store)
    assert held(claim(store, job.id)) == (1, 1)
    found = store.get(job.id)
    assert found is not None
    assert (found.status, found.version, found.fence, found.deliveries) == (Status.RUNNING, 2, 1, 1)
    assert found.worker == "w1"
    assert found.started_at_ms is not None
    assert found.lease_until_ms == found.started_at_ms + 5000
    told = store.events(job.id)
    assert [(event.type, event.data, event.at_ms) for event in told] == [
        ("status", {"status": "QUEUED"}, found.created_at_ms),
        ("status", {"status": "RUNNING"}, found.started_at_ms),
    ]


def test_a_claim_answers_the_record_as_it_left_it(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    effects = [EffectRecord(seq=seq, state=EffectState.STARTED) for seq in (10, 2, 0, 11, 1)]
    store.change(Change(job.id, COMMITTING, set={"output": {"naïve": ["\0", 1.5]}}, effects=effects))
    claimed = store.claim(job.id, expect=COMMITTING, to=Status.COMMITTING, worker="w1", lease_ms=5000)
    assert isinstance(claimed, Claimed)
    assert claimed.job == store.get(job.id)
    assert [effect.seq for effect in claimed.job.effects] == [0, 1, 2, 10, 11]


def test_a_claim_after_a_lost_lease_keeps_the_start_and_tells_nothing_new(world: World) -> None:
    store = world.store
    job = submitted(store)
    claim(store, job.id)
    first = store.get(job.id)
    world.forward(6)
    assert held(claim(store, job.id, "w2")) == (2, 2)
    second = store.get(job.id)
    assert first is not None
    assert second is not None
    assert second.started_at_ms == first.started_at_ms
    assert second.worker == "w2"
    assert statuses_told(store, job.id) == ["QUEUED", "RUNNING"]


def test_a_live_lease_keeps_others_away_until_it_ends(world: World) -> None:
    job = submitted(world.store)
    claim(world.store, job.id)
    assert claim(world.store, job.id, "w2") == NotClaimed("leased")
    world.forward(4)
    assert claim(world.store, job.id, "w2") == NotClaimed("leased")
    world.forward(1.5)
    assert isinstance(claim(world.store, job.id, "w2"), Claimed)


def test_of_many_workers_that_claim_at_once_exactly_one_holds_the_job(store: JobStore) -> None:
    jobs = [submitted(store) for _ in range(5)]
    start = threading.Barrier(8)
    won: list[tuple[str, str]] = []

    def work(worker: str) -> None:
        start.wait()
        won.extend((job.id, worker) for job in jobs if isinstance(claim(store, job.id, worker), Claimed))

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(job_id for job_id, _ in won) == sorted(job.id for job in jobs)
    for job_id, worker in won:
        found = store.get(job_id)
        assert found is not None
        assert (found.worker, found.fence) == (worker, 1)


@pytest.mark.parametrize("status", sorted(set(Status) - TO_RUN))
def test_a_late_message_cannot_claim_a_job_in_another_status(store: JobStore, status: Status) -> None:
    job = job_in(store, status)
    assert claim(store, job.id) == NotClaimed("status")
    assert store.get(job.id) == job


def test_a_message_for_a_job_that_is_gone_claims_nothing(store: JobStore) -> None:
    job_id = new_job_id()
    assert claim(store, job_id) == NotClaimed("missing")
    assert store.get(job_id) is None
    assert store.take_due(limit=10, hide_ms=1000) == []


def test_a_job_of_a_newer_vardy_is_left_to_a_worker_that_can_read_it(store: JobStore) -> None:
    job = submitted(store, schema=2)
    assert claim(store, job.id) == NotClaimed("schema")
    assert store.version(job.id) == (1, Status.QUEUED)
    assert [due.deliveries for due in store.take_due(limit=1, hide_ms=0)] == [0]


def test_a_commit_that_waits_for_a_retry_is_not_claimed_early(world: World) -> None:
    store = world.store
    job = job_in(store, Status.COMMITTING)
    retry_at = store.server_now_ms() + 3000
    store.change(Change(job.id, COMMITTING, set={"not_before_ms": retry_at}, due_at_ms=retry_at, release=True))

    def commit() -> Claimed | NotClaimed:
        return store.claim(job.id, expect=COMMITTING, to=Status.COMMITTING, worker="w1", lease_ms=1000)

    assert commit() == NotClaimed("not_due")
    world.forward(4)
    assert held(commit()) == (1, 1)


def test_a_claim_must_be_a_move_of_the_table(store: JobStore) -> None:
    job = submitted(store)
    with pytest.raises(ValueError, match="no move from QUEUED to COMMITTING"):
        store.claim(job.id, expect=QUEUED, to=Status.COMMITTING, worker="w1", lease_ms=1000)


# --- heartbeats and cancelling ------------------------------------------------------------


def test_a_heartbeat_prolongs_the_lease_and_changes_no_version(world: World) -> None:
    store = world.store
    job = submitted(store)
    claim(store, job.id)
    world.forward(4)
    assert store.heartbeat(job.id, fence=1, lease_ms=5000)
    assert store.version(job.id) == (2, Status.RUNNING)
    world.forward(4)
    assert claim(store, job.id, "w2") == NotClaimed("leased")
    assert store.take_due(limit=10, hide_ms=1000) == []
    world.forward(2)
    assert [due.job_id for due in store.take_due(limit=10, hide_ms=1000)] == [job.id]


def test_a_heartbeat_of_an_old_fence_says_that_the_job_is_lost(world: World) -> None:
    store = world.store
    job = submitted(store)
    claim(store, job.id)
    world.forward(6)
    claim(store, job.id, "w2")
    held = store.get(job.id)
    assert not store.heartbeat(job.id, fence=1, lease_ms=60_000)
    assert store.get(job.id) == held


def test_a_heartbeat_does_not_take_back_a_lease_that_was_given_up(store: JobStore) -> None:
    job = submitted(store)
    claim(store, job.id)
    store.change(Change(job.id, frozenset({Status.RUNNING}), Status.PENDING_APPROVAL, release=True, due_at_ms=None))
    assert not store.heartbeat(job.id, fence=1, lease_ms=5000)
    assert store.take_due(limit=10, hide_ms=1000) == []


def test_a_heartbeat_for_a_job_that_is_gone_is_refused(store: JobStore) -> None:
    assert not store.heartbeat(new_job_id(), fence=0, lease_ms=5000)
    assert store.take_due(limit=10, hide_ms=1000) == []


def test_asking_to_cancel_marks_the_job_once_and_changes_no_version(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    assert store.request_cancel(job.id, by='le"a')
    assert store.request_cancel(job.id, by="leo")
    assert store.get(job.id) == job.model_copy(update={"cancel_requested_by": 'le"a'})
    assert [event.data for event in store.events(job.id)][-2:] == [
        {"status": "COMMITTING"},
        {"status": "COMMITTING", "cancel_requested_by": 'le"a'},
    ]


def test_a_commit_that_waits_for_its_next_try_is_due_at_once_when_it_is_cancelled(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    much_later = store.server_now_ms() + 86_400_000
    waiting = Change(
        job.id,
        frozenset({Status.COMMITTING}),
        set={"not_before_ms": much_later},
        due_at_ms=much_later,
        release=True,
    )
    store.change(waiting)
    assert store.take_due(limit=10, hide_ms=0) == []
    assert store.request_cancel(job.id, by="lea")
    assert [due.job_id for due in store.take_due(limit=10, hide_ms=0)] == [job.id]
    taken = store.claim(job.id, expect=COMMITTING, to=Status.COMMITTING, worker="w1", lease_ms=5000)
    assert isinstance(taken, Claimed)


def test_asking_to_cancel_leaves_a_lease_and_its_due_time_alone(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    commit: dict[str, Any] = {"expect": COMMITTING, "to": Status.COMMITTING, "lease_ms": 5000}
    assert isinstance(store.claim(job.id, worker="w1", **commit), Claimed)
    assert store.request_cancel(job.id, by="lea")
    assert store.take_due(limit=10, hide_ms=0) == []
    assert store.claim(job.id, worker="w2", **commit) == NotClaimed("leased")


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.COMMITTING}))
def test_a_job_that_does_not_commit_is_not_marked(store: JobStore, status: Status) -> None:
    job = job_in(store, status)
    assert not store.request_cancel(job.id, by="lea")
    assert store.get(job.id) == job


def test_a_job_that_is_not_there_is_not_marked(store: JobStore) -> None:
    assert not store.request_cancel(new_job_id(), by="lea")


# --- due times ----------------------------------------------------------------------------


def test_a_due_job_is_taken_once_and_again_after_it_was_hidden(world: World) -> None:
    store = world.store
    job = submitted(store)
    taken = store.take_due(limit=10, hide_ms=5000)
    assert [due.job_id for due in taken] == [job.id]
    assert store.take_due(limit=10, hide_ms=5000) == []
    world.forward(6)
    assert [due.job_id for due in store.take_due(limit=10, hide_ms=5000)] == [job.id]


def test_a_due_job_says_where_it_stands(world: World) -> None:
    store = world.store
    job = submitted(store)
    claim(store, job.id)
    world.forward(6)
    [due] = store.take_due(limit=10, hide_ms=5000)
    assert due == DueJob(job_id=job.id, status=Status.RUNNING, deliveries=1, created_at_ms=job.created_at_ms)


def test_what_is_due_longest_is_taken_first(store: JobStore) -> None:
    now = store.server_now_ms()
    jobs = [submitted(store) for _ in range(4)]
    for ago, job in zip((10, 40, 20, 30), jobs, strict=True):
        store.change(Change(job.id, QUEUED, due_at_ms=now - ago))
    first, second = store.take_due(limit=2, hide_ms=60_000), store.take_due(limit=9, hide_ms=60_000)
    assert [due.job_id for due in first] == [jobs[1].id, jobs[3].id]
    assert [due.job_id for due in second] == [jobs[2].id, jobs[0].id]


def test_of_many_reconcilers_each_due_job_is_taken_by_one(store: JobStore) -> None:
    jobs = {submitted(store).id for _ in range(40)}
    start = threading.Barrier(4)
    taken: list[str] = []

    def look() -> None:
        start.wait()
        while due := store.take_due(limit=3, hide_ms=60_000):
            taken.extend(job.job_id for job in due)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(jobs)
    assert set(taken) == jobs


def test_a_change_can_keep_move_or_end_the_due_time(store: JobStore) -> None:
    job = submitted(store)
    store.change(Change(job.id, QUEUED, set={"warnings": ("kept",)}))
    assert len(store.take_due(limit=10, hide_ms=0)) == 1
    store.change(Change(job.id, QUEUED, due_at_ms=store.server_now_ms() + 60_000))
    assert store.take_due(limit=10, hide_ms=0) == []
    store.change(Change(job.id, QUEUED, due_at_ms=store.server_now_ms()))
    assert len(store.take_due(limit=10, hide_ms=0)) == 1
    store.change(Change(job.id, QUEUED, Status.CANCELLED, due_at_ms=None))
    assert store.take_due(limit=10, hide_ms=0) == []


def test_a_job_that_expired_while_due_is_forgotten(world: World) -> None:
    store = world.store
    job = submitted(store)
    store.change(Change(job.id, QUEUED, Status.CANCELLED, retain_seconds=1))
    world.forward(2)
    assert store.take_due(limit=10, hide_ms=0) == []


@pytest.mark.parametrize("status", list(Status))
def test_live_jobs_without_a_due_time_get_one_back(world: World, status: Status) -> None:
    store = world.store
    job = job_in(store, status)
    store.change(Change(job.id, frozenset({status}), due_at_ms=None))
    submitted(store)
    live = status in {
        Status.QUEUED,
        Status.RUNNING,
        Status.COMMITTING,
        Status.PENDING_APPROVAL,
        Status.PLANNED,
    }
    assert store.rebuild_due(grace_ms=3000) == int(live)
    assert store.rebuild_due(grace_ms=3000) == 0
    assert job.id not in [due.job_id for due in store.take_due(limit=10, hide_ms=0)]
    world.forward(4)
    assert (job.id in [due.job_id for due in store.take_due(limit=10, hide_ms=0)]) == live


def test_a_plan_that_waits_for_people_is_due_again_when_it_expires(world: World) -> None:
    store = world.store
    job = job_in(store, Status.PENDING_APPROVAL)
    expires = store.server_now_ms() + 60_000
    waiting = frozenset({Status.PENDING_APPROVAL})
    store.change(Change(job.id, waiting, set={"expires_at_ms": expires}, due_at_ms=None))
    assert store.rebuild_due(grace_ms=1000) == 1
    world.forward(30)
    assert store.take_due(limit=10, hide_ms=0) == []
    world.forward(31)
    assert [due.job_id for due in store.take_due(limit=10, hide_ms=0)] == [job.id]


def test_a_queued_job_may_be_hidden_for_longer_than_the_others(world: World) -> None:
    queued, running = submitted(world.store), submitted(world.store)
    claim(world.store, running.id)
    world.forward(3600)
    assert len(world.store.take_due(limit=10, hide_ms=1000, hide_queued_ms=60_000)) == 2
    world.forward(2)
    assert [due.job_id for due in world.store.take_due(limit=10, hide_ms=1000)] == [running.id]
    world.forward(60)
    assert queued.id in [due.job_id for due in world.store.take_due(limit=10, hide_ms=1000)]


def test_live_jobs_are_looked_through_in_parts_whoever_asks(redis_world: RedisWorld) -> None:
    stores = [redis_world.store, RedisJobStore(redis_world.client, redis_world.namespace)]
    jobs = [submitted(stores[0]).id for _ in range(7)]
    redis_world.client.delete(Keys(redis_world.namespace).due)
    found = [store.rebuild_due(grace_ms=0, every_ms=60_000, limit=2) for store in stores * 3]
    # Two of them, of each further status none, and then a pause.
    assert found == [2, 2, 2, 1, 0, 0]
    assert sorted(due.job_id for due in stores[0].take_due(limit=10, hide_ms=0)) == sorted(jobs)
    redis_world.client.delete(Keys(redis_world.namespace).due)
    assert [store.rebuild_due(grace_ms=0, every_ms=60_000, limit=2) for store in stores] == [0, 0]


def test_jobs_that_move_on_while_they_are_looked_through_keep_no_other_from_being_found(
    redis_world: RedisWorld,
) -> None:
    store = redis_world.store
    jobs = [submitted(store, created_at_ms=1000 + number).id for number in range(6)]
    redis_world.client.delete(Keys(redis_world.namespace).due)
    assert store.rebuild_due(grace_ms=60_000, limit=2) == 2
    for job_id in jobs[:2]:
        claim(store, job_id)
    assert store.rebuild_due(grace_ms=60_000) == 4


def test_only_so_many_expired_jobs_are_removed_at_once(redis_world: RedisWorld) -> None:
    store, expiring = redis_world.store, Keys(redis_world.namespace).expiring
    for _ in range(5):
        job = submitted(store)
        store.change(Change(job.id, frozenset({Status.QUEUED}), retain_seconds=1))
    redis_world.forward(2)
    left = []
    for _ in range(3):
        store.rebuild_due(grace_ms=0, limit=2)
        left.append(redis_world.client.zcard(expiring))
    assert left == [3, 1, 0]


def test_a_pass_over_live_jobs_begins_again_after_a_while(world: World) -> None:
    store = world.store
    assert store.rebuild_due(grace_ms=0, every_ms=60_000) == 0
    job = submitted(store)
    store.change(Change(job.id, frozenset({Status.QUEUED}), due_at_ms=None))
    assert store.rebuild_due(grace_ms=0, every_ms=60_000) == 0
    world.forward(61)
    assert store.rebuild_due(grace_ms=0, every_ms=60_000) == 1
