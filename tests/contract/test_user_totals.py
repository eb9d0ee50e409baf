"""Totals of what users' plans did: counted once, taken back without a trace, and never for less time than asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from threading import Barrier
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.support.audit import actions, check, note
from tests.support.factories import ANA, LEA, submission
from tests.support.worlds import RedisWorld, job_in
from vardy_worker.contracts.audit import SETTINGS, Action
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import WINDOW_HOURS, WINDOW_HOURS_MAX, CountedPlan, EffectTotals
from vardy_worker.ports import Change, Changed
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_audit import AuditWriter
from vardy_worker.store.redis_totals import RedisTotals
from vardy_worker.store.scripts import Scripts

if TYPE_CHECKING:
    from redis import Redis

    from tests.support.worlds import World
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import JobStore

COMMITTING = frozenset({Status.COMMITTING})
HOUR = 3600
ONE = EffectTotals(counts={"pay": 1}, sums={"pay": {"amount": Decimal("0.1")}})
NOTHING = EffectTotals()


def committing(store: JobStore, user: str = ANA.id) -> JobRecord:
    return job_in(store, Status.COMMITTING, submission=submission(user=ANA.model_copy(update={"id": user})))


def count(
    store: JobStore, job: JobRecord, totals: EffectTotals = ONE, *, window_hours: int = WINDOW_HOURS
) -> CountedPlan:
    counted = store.count_plan(job, fence=job.fence, totals=totals, window_hours=window_hours)
    assert counted is not None
    return counted


def found(store: JobStore, job: JobRecord) -> JobRecord:
    record = store.get(job.id)
    assert record is not None
    return record


def total(store: JobStore, user: str = ANA.id, *, hours: int = WINDOW_HOURS) -> int:
    return store.user_totals(user, window_hours=hours).counts.get("pay", 0)


def settle(store: JobStore, job: JobRecord, *, to: Status, totals: EffectTotals = NOTHING) -> Change:
    """The change that ends a commit and makes its plan count for `totals`."""
    counted = found(store, job).counted
    assert counted is not None
    correction = counted.correction(job.submission.user.id, totals)
    note = None if totals == NOTHING else counted.model_copy(update={"totals": totals, "before": None})
    change = Change(job.id, COMMITTING, to, set={"counted": note}, correction=correction)
    assert isinstance(store.change(change), Changed)
    return change


# --- counting ----------------------------------------------------------------------------


def test_each_plan_sees_those_that_were_counted_before_it(store: JobStore) -> None:
    seen = [count(store, committing(store)).before for _ in range(4)]
    assert [before.counts.get("pay", 0) for before in seen if before] == [0, 1, 2, 3]
    assert seen[3] is not None
    assert seen[3].sums == {"pay": {"amount": Decimal("0.3")}}
    assert store.user_totals(ANA.id, window_hours=24).sums == {"pay": {"amount": Decimal("0.4")}}


def test_users_do_not_see_each_other(store: JobStore) -> None:
    count(store, committing(store))
    assert count(store, committing(store, LEA.id)).before == NOTHING
    assert total(store, "nobody") == 0


def test_what_was_counted_is_noted_in_the_job(store: JobStore) -> None:
    job = committing(store)
    counted = count(store, job)
    assert found(store, job).counted == counted
    assert (counted.totals, counted.window_hours) == (ONE, WINDOW_HOURS)


def test_a_plan_is_counted_once_and_sees_the_same_however_often_its_commit_begins(store: JobStore) -> None:
    job = committing(store)
    first = count(store, job)
    count(store, committing(store))
    assert count(store, found(store, job)) == first
    assert total(store) == 2


def test_a_commit_that_begins_again_under_another_window_reads_it_anew(world: World) -> None:
    store = world.store
    count(store, committing(store))
    world.forward(50 * HOUR)
    job = committing(store)
    assert count(store, job).before == NOTHING
    again = count(store, found(store, job), window_hours=100)
    assert (again.before, again.window_hours) == (ONE, 100)
    assert total(store) == 1


def test_a_plan_is_counted_for_its_own_worker_alone(store: JobStore) -> None:
    job = committing(store)
    assert store.count_plan(job, fence=job.fence + 1, totals=ONE, window_hours=24) is None
    settled = job_in(store, Status.PENDING_APPROVAL)
    assert store.count_plan(settled, fence=settled.fence, totals=ONE, window_hours=24) is None
    gone = job.model_copy(update={"id": "job_gone"})
    assert store.count_plan(gone, fence=job.fence, totals=ONE, window_hours=24) is None
    assert total(store) == 0
    assert found(store, job).counted is None


def test_a_plan_that_is_committed_again_later_moves_to_the_present_hour(world: World) -> None:
    store = world.store
    job = committing(store)
    count(store, job)
    settle(store, job, to=Status.PARTIAL, totals=ONE)
    count(store, committing(store))
    world.forward(20 * HOUR)
    store.change(Change(job.id, frozenset({Status.PARTIAL}), Status.COMMITTING))
    again = count(store, found(store, job))
    assert again.before == ONE
    assert total(store) == 2
    world.forward(20 * HOUR)
    assert total(store) == 1


@pytest.mark.parametrize("plans", [12])
def test_of_plans_that_are_counted_at_once_each_sees_another_number(store: JobStore, plans: int) -> None:
    jobs = [committing(store) for _ in range(plans)]
    barrier = Barrier(plans)

    def at_once(job: JobRecord) -> int:
        barrier.wait()
        before = count(store, job).before
        return before.counts.get("pay", 0) if before else -1

    with ThreadPoolExecutor(plans) as threads:
        seen = sorted(threads.map(at_once, jobs))
    assert seen == list(range(plans))
    assert total(store) == plans


# --- taking back -------------------------------------------------------------------------


def test_a_plan_that_is_taken_back_leaves_nothing_behind(store: JobStore) -> None:
    kept, job = committing(store), committing(store)
    count(store, kept)
    count(store, job)
    settle(store, job, to=Status.POLICY_BLOCKED)
    assert store.user_totals(ANA.id, window_hours=24) == ONE
    assert found(store, job).counted is None
    assert count(store, committing(store)).before == ONE
    assert total(store) == 2


def test_a_change_that_is_refused_takes_nothing_back(store: JobStore) -> None:
    job = committing(store)
    counted = count(store, job)
    refused = Change(
        job.id, COMMITTING, Status.CANCELLED, expect_fence=9, correction=counted.correction(ANA.id, NOTHING)
    )
    assert not isinstance(store.change(refused), Changed)
    assert total(store) == 1


def test_a_sum_that_was_not_known_is_known_once_it_is_corrected(store: JobStore) -> None:
    job = committing(store)
    count(store, job, EffectTotals(counts={"pay": 1}, unknown={"pay": {"amount": 1}}))
    assert store.user_totals(ANA.id, window_hours=24).unknown == {"pay": {"amount": 1}}
    settle(store, job, to=Status.SUCCESS, totals=ONE)
    assert store.user_totals(ANA.id, window_hours=24) == ONE
    assert count(store, committing(store)).before == ONE


def test_totals_without_the_plan_at_hand_are_those_of_the_others(store: JobStore) -> None:
    job = committing(store)
    count(store, job, EffectTotals(counts={"pay": 5}))
    count(store, committing(store))
    assert store.user_totals(ANA.id, window_hours=24, without=found(store, job).counted) == ONE


# --- time --------------------------------------------------------------------------------


def test_a_window_is_never_shorter_than_asked_and_at_most_an_hour_longer(world: World) -> None:
    store = world.store
    count(store, committing(store))
    world.forward(23 * HOUR)
    assert [total(store, hours=hours) for hours in (1, 22, 24, 25)] == [0, 0, 1, 1]
    world.forward(2 * HOUR)
    assert [total(store, hours=hours) for hours in (24, 26, WINDOW_HOURS_MAX)] == [0, 1, 1]


def test_totals_are_kept_for_the_longest_window_and_no_longer(world: World) -> None:
    store = world.store
    count(store, committing(store))
    world.forward((WINDOW_HOURS_MAX - 1) * HOUR)
    count(store, committing(store))
    assert total(store, hours=WINDOW_HOURS_MAX) == 2
    world.forward(2 * HOUR)
    assert total(store, hours=WINDOW_HOURS_MAX) == 1
    late = committing(store)
    assert count(store, late, window_hours=WINDOW_HOURS_MAX).before == ONE
    world.forward((WINDOW_HOURS_MAX + 3) * HOUR)
    assert total(store, hours=WINDOW_HOURS_MAX) == 0


def test_what_is_taken_back_after_its_hour_is_forgotten_lowers_nothing(world: World) -> None:
    store = world.store
    old = committing(store)
    count(store, old)
    world.forward((WINDOW_HOURS_MAX - 1) * HOUR)
    count(store, committing(store))
    world.forward(3 * HOUR)
    settle(store, old, to=Status.FUNCTION_ERROR)
    assert total(store, hours=WINDOW_HOURS_MAX) == 1
    assert count(store, committing(store), window_hours=WINDOW_HOURS_MAX).before == ONE


# --- erasure -----------------------------------------------------------------------------


def test_a_users_totals_can_be_erased(store: JobStore) -> None:
    count(store, committing(store))
    count(store, committing(store, LEA.id))
    assert store.erase_user_totals(ANA.id)
    assert not store.erase_user_totals(ANA.id)
    assert (total(store), total(store, LEA.id)) == (0, 1)


def test_only_an_erasure_that_erased_something_is_noted(world: World) -> None:
    noted = [note(Action.TOTALS_ERASED, at_ms=0, subject=ANA.id)]
    assert not world.store.erase_user_totals(ANA.id, audit=noted)
    count(world.store, committing(world.store))
    assert world.store.erase_user_totals(ANA.id, audit=noted)
    assert not world.store.erase_user_totals(ANA.id, audit=noted)
    world.documents.put("keys", "k", {}, audit=[note(Action.KEY_CREATED, at_ms=0)])
    assert actions(world.trail, SETTINGS) == ["totals.erased", "key.created"]
    assert check(world.trail)[SETTINGS].ok


def test_a_plan_that_was_counted_before_the_erasure_lowers_nothing_after_it(store: JobStore) -> None:
    job, late = committing(store), committing(store)
    count(store, job)
    count(store, late)
    store.erase_user_totals(ANA.id)
    settle(store, late, to=Status.POLICY_BLOCKED)
    assert not store.erase_user_totals(ANA.id), "something of the person came back"
    count(store, committing(store))
    settle(store, job, to=Status.POLICY_BLOCKED)
    assert total(store) == 1
    assert count(store, committing(store)).before == ONE


# --- what only a server can show -----------------------------------------------------------


def test_a_count_that_is_sent_twice_counts_once(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = committing(store)
    keys = Keys(redis_world.namespace)
    totals = RedisTotals(redis_world.client, keys, Scripts(redis_world.client), AuditWriter(redis_world.client, keys))
    stored = totals.read(ANA.id, window_hours=24)
    counting = stored.counting(None, ONE, 24, version="v1")
    assert totals.send_count(job.id, ANA.id, job.fence, stored, counting) == b"counted"
    assert totals.send_count(job.id, ANA.id, job.fence, stored, counting) == b"counted"
    assert total(store) == 1
    other = committing(store)
    late = replace(counting, counted=counting.counted.model_copy(update={"hour": 1}))
    assert totals.send_count(other.id, ANA.id, other.fence, stored, late) == b"moved"
    assert total(store) == 1


@pytest.mark.parametrize("clock_seconds", [0.0, 1e11])
def test_a_machine_whose_clock_is_wrong_reads_the_same_totals(
    redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch, clock_seconds: float
) -> None:
    store = redis_world.store
    job = committing(store)
    count(store, job)
    redis_world.forward(3 * HOUR)
    monkeypatch.setattr("vardy_worker.store.redis_totals.time", SimpleNamespace(time=lambda: clock_seconds))
    assert total(store) == 1
    assert total(store, hours=2) == 0
    assert count(store, committing(store)).before == ONE
    settle(store, job, to=Status.FUNCTION_ERROR)
    assert total(store) == 1


def test_hours_that_left_the_longest_window_are_dropped(redis_client: Redis, redis_world: RedisWorld) -> None:
    store, keys = redis_world.store, Keys(redis_world.namespace)
    jobs = [committing(store) for _ in range(3)]
    for job in jobs:
        count(store, job)
        redis_world.forward(300 * HOUR)
    count(store, committing(store))
    settle(store, jobs[0], to=Status.FUNCTION_ERROR)
    count(store, committing(store))
    hours = [field for field in redis_client.hkeys(keys.totals(ANA.id)) if field.isdigit()]
    assert len(hours) == 3


def test_a_change_that_is_sent_twice_takes_back_once(redis_world: RedisWorld) -> None:
    store = redis_world.store
    count(store, committing(store))
    job = committing(store)
    counted = count(store, job)
    change = Change(
        job.id, COMMITTING, Status.CANCELLED, set={"counted": None}, correction=counted.correction(ANA.id, NOTHING)
    )
    assert store.send_change(change, "token") == store.send_change(change, "token")
    assert total(store) == 1


def test_totals_are_as_large_after_many_plans_as_after_few_and_end_by_themselves(
    redis_client: Redis, redis_world: RedisWorld
) -> None:
    store, keys = redis_world.store, Keys(redis_world.namespace)

    def size() -> int:
        stored = redis_client.hgetall(keys.totals(ANA.id))
        assert isinstance(stored, dict)
        return sum(len(field) + len(value) for field, value in stored.items())

    count(store, committing(store))
    small = size()
    for _ in range(50):
        job = committing(store)
        count(store, job)
        settle(store, job, to=Status.SUCCESS, totals=ONE)
        settled = committing(store)
        count(store, settled)
        settle(store, settled, to=Status.FUNCTION_ERROR)
    assert total(store) == 51
    # An hour more where it began meanwhile; digits more for the larger numbers.
    assert size() < 2 * small + 20
    assert redis_client.llen(keys.corrections(ANA.id)) == 1
    for key in (keys.totals(ANA.id), keys.corrections(ANA.id)):
        assert 0 < int(redis_client.ttl(key)) <= (WINDOW_HOURS_MAX + 2) * HOUR
