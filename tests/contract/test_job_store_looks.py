"""One look at many jobs: what it tells of each, and that it costs one round trip."""

from __future__ import annotations

import pytest

from tests.support.factories import NOW_MS, effect, plan
from tests.support.worlds import RedisWorld, World, job_in, submitted
from vardy_worker.contracts.errors import DISCARDED, ErrorInfo
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.status import TRANSITIONS, Status, is_over
from vardy_worker.ports import Change, JobStore, Seen


def look(store: JobStore, job_id: str) -> Seen:
    seen = store.look([job_id])[job_id]
    assert seen is not None
    return seen


def test_a_look_tells_version_status_and_number_of_events_of_each_job(store: JobStore) -> None:
    first, second = submitted(store), job_in(store, Status.RUNNING)
    store.change(Change(second.id, frozenset({Status.RUNNING}), events=[Event(type="effect", at_ms=NOW_MS)] * 3))
    missing = new_job_id()
    assert store.look([first.id, missing, second.id]) == {
        first.id: Seen(version=1, status=Status.QUEUED, events=1, is_over=False),
        missing: None,
        second.id: Seen(version=3, status=Status.RUNNING, events=5, is_over=False),
    }
    assert store.look([]) == {}


def test_the_number_of_events_is_the_id_of_the_newest(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    store.request_cancel(job.id, by="lea")
    assert str(look(store, job.id).events) == store.events(job.id)[-1].id


@pytest.mark.parametrize("status", list(Status))
def test_a_job_is_over_when_the_table_has_no_move_or_an_operator_nothing_to_requeue(
    store: JobStore, status: Status
) -> None:
    job = job_in(store, status)
    no_plan_to_requeue = status is Status.FUNCTION_ERROR
    assert look(store, job.id).is_over is (not TRANSITIONS[status] or no_plan_to_requeue)
    assert is_over(status, has_plan=True) is (not TRANSITIONS[status])


def test_a_commit_that_failed_may_be_requeued_until_it_is_erased(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    fields = {"plan": plan(job.id, effect()), "revision": 1}
    store.change(Change(job.id, frozenset({Status.COMMITTING}), Status.FUNCTION_ERROR, set=fields))
    assert not look(store, job.id).is_over
    version = look(store, job.id).version
    store.erase(job.id, expect_version=version, at_ms=NOW_MS)
    assert look(store, job.id).is_over


def test_a_partial_job_is_over_once_its_rest_was_given_up(store: JobStore) -> None:
    job = job_in(store, Status.PARTIAL)
    assert not look(store, job.id).is_over
    given_up = {"error": ErrorInfo(code=DISCARDED, message="enough")}
    store.change(Change(job.id, frozenset({Status.PARTIAL}), set=given_up))
    assert look(store, job.id).is_over


def test_an_expired_job_is_not_there(world: World) -> None:
    job = job_in(world.store, Status.RUNNING)
    world.store.change(Change(job.id, frozenset({Status.RUNNING}), Status.SUCCESS, retain_seconds=10))
    world.forward(11)
    assert world.store.look([job.id]) == {job.id: None}


def test_a_look_at_many_jobs_is_one_transaction(redis_world: RedisWorld) -> None:
    jobs = [submitted(redis_world.store).id for _ in range(50)]

    def transactions() -> int:
        stats = redis_world.client.info(section="commandstats")
        assert isinstance(stats, dict)
        return int(stats.get("cmdstat_exec", {"calls": 0})["calls"])

    before = transactions()
    assert len(redis_world.store.look(jobs)) == 50
    assert transactions() == before + 1
