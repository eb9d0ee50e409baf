from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest

from tests.support.factories import NOW_MS, effect, plan, submission
from tests.support.worlds import World, held, job_in, statuses_told, submitted
from vardy_worker.contracts.errors import ErrorInfo, RequestError
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobFilter, Usage
from vardy_worker.contracts.journal import EffectRecord, EffectState, JournalEntry
from vardy_worker.contracts.status import TRANSITIONS, Stage, Status, can_move
from vardy_worker.ports import Change, Changed, Conflict, JobStore, Missing

COMMITTING = frozenset({Status.COMMITTING})
QUEUED = frozenset({Status.QUEUED})
RUNNING = frozenset({Status.RUNNING})


def entry(seq: int, state: EffectState, attempt: int = 1) -> JournalEntry:
    return JournalEntry(
        at_ms=NOW_MS,
        seq=seq,
        state=state,
        attempt=attempt,
        fence=1,
        worker="w1",
        idempotency_key=f"vdy_{seq}",
        args_sha256="0" * 64,
    )


# --- the table ----------------------------------------------------------------------------


@pytest.mark.parametrize("before", list(Status))
def test_a_job_moves_exactly_where_the_table_lets_it(store: JobStore, before: Status) -> None:
    for after in Status:
        job = job_in(store, before)
        change = Change(job.id, frozenset({before}), after)
        if can_move(before, after):
            assert store.change(change) == Changed(job.version + 1)
            assert store.version(job.id) == (job.version + 1, after)
        else:
            with pytest.raises(ValueError, match="no move from"):
                store.change(change)
            assert store.version(job.id) == (job.version, before)


@pytest.mark.parametrize("before", list(Status))
def test_a_change_that_expects_another_status_changes_nothing(store: JobStore, before: Status) -> None:
    job = job_in(store, before)
    told = list(store.events(job.id))
    others = frozenset(Status) - {before}
    refused = store.change(
        Change(
            job.id,
            others,
            set={"output": "never"},
            effects=[EffectRecord(seq=0)],
            journal=[entry(0, EffectState.STARTED)],
            events=[Event(type="effect", at_ms=NOW_MS)],
            due_at_ms=1,
            release=True,
            retain_seconds=1,
        )
    )
    assert refused == Conflict(status=before, version=job.version, fence=0)
    assert store.get(job.id) == job
    assert list(store.journal(job.id)) == []
    assert list(store.events(job.id)) == told


@pytest.mark.parametrize(
    ("before", "after"), [(before, after) for before in Status for after in sorted(TRANSITIONS[before])]
)
def test_every_new_status_is_told_once_whoever_forgets_to_tell_of_it(
    store: JobStore, before: Status, after: Status
) -> None:
    job = job_in(store, before)
    told = statuses_told(store, job.id)
    assert (told[0], told[-1]) == ("QUEUED", before)
    assert all(can_move(Status(earlier), Status(later)) for earlier, later in pairwise(told))
    store.change(Change(job.id, frozenset({before}), after))
    assert statuses_told(store, job.id) == (told if before is after else [*told, after])


def test_a_change_that_tells_of_its_status_itself_is_told_in_its_words_alone(store: JobStore) -> None:
    job = job_in(store, Status.RUNNING)
    told = Event(type="status", data={"status": "SUCCESS", "code": "x"}, at_ms=NOW_MS)
    store.change(Change(job.id, frozenset({Status.RUNNING}), Status.SUCCESS, events=[told]))
    assert [event.data for event in store.events(job.id)][-2:] == [{"status": "RUNNING"}, told.data]


def test_a_move_is_refused_if_any_expected_status_cannot_make_it(store: JobStore) -> None:
    job = submitted(store)
    with pytest.raises(ValueError, match="SUCCESS to RUNNING"):
        store.change(Change(job.id, frozenset({Status.QUEUED, Status.SUCCESS}), Status.RUNNING))


def test_a_change_must_expect_a_status(store: JobStore) -> None:
    with pytest.raises(ValueError, match="at least one status"):
        store.change(Change(submitted(store).id, frozenset()))


def test_a_change_of_a_job_that_is_not_there_says_so(store: JobStore) -> None:
    assert store.change(Change(new_job_id(), QUEUED, Status.RUNNING)) == Missing()


def test_a_job_is_listed_under_its_present_status_alone(store: JobStore) -> None:
    job = job_in(store, Status.PENDING_APPROVAL)
    listed = [status for status in Status if store.list_jobs(JobFilter(status=(status,)), cursor=None, limit=10).items]
    assert listed == [Status.PENDING_APPROVAL]
    assert store.list_jobs(JobFilter(status=(Status.PENDING_APPROVAL,)), cursor=None, limit=10).items[0].id == job.id


# --- fence and version --------------------------------------------------------------------


def test_a_worker_with_an_old_fence_can_write_nothing(world: World) -> None:
    store = world.store
    job = submitted(store)
    claim: dict[str, Any] = {"expect": QUEUED | RUNNING, "to": Status.RUNNING, "lease_ms": 1000}
    assert held(store.claim(job.id, worker="w1", **claim)) == (1, 1)
    world.forward(2)
    assert held(store.claim(job.id, worker="w2", **claim)) == (2, 2)
    before = store.get(job.id)
    stale = store.change(Change(job.id, RUNNING, Status.SUCCESS, expect_fence=1, set={"output": "stale"}))
    assert stale == Conflict(status=Status.RUNNING, version=3, fence=2)
    assert store.get(job.id) == before
    assert isinstance(store.change(Change(job.id, RUNNING, Status.SUCCESS, expect_fence=2)), Changed)


def test_of_two_changes_of_one_version_the_second_is_refused(store: JobStore) -> None:
    job = job_in(store, Status.PENDING_APPROVAL)
    change = Change(job.id, frozenset({Status.PENDING_APPROVAL}), Status.PENDING_APPROVAL, expect_version=job.version)
    assert store.change(change) == Changed(job.version + 1)
    assert store.change(change) == Conflict(Status.PENDING_APPROVAL, job.version + 1, fence=0)


def test_of_many_threads_that_change_one_version_exactly_one_succeeds(store: JobStore) -> None:
    job = job_in(store, Status.PENDING_APPROVAL)
    start = threading.Barrier(8)
    outcomes: list[Changed | Conflict | Missing] = []

    def decide() -> None:
        start.wait()
        waiting = frozenset({Status.PENDING_APPROVAL})
        outcomes.append(store.change(Change(job.id, waiting, Status.COMMITTING, expect_version=job.version)))

    threads = [threading.Thread(target=decide) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(outcome, Changed) for outcome in outcomes) == 1
    assert store.version(job.id) == (job.version + 1, Status.COMMITTING)


def test_a_change_can_refuse_a_job_whose_cancelling_was_asked_for(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    start = Change(job.id, COMMITTING, effects=[EffectRecord(seq=0)], unless_cancel_requested=True)
    assert store.change(start) == Changed(job.version + 1)
    store.request_cancel(job.id, by='le"a')
    version = job.version + 1
    assert store.change(start) == Conflict(Status.COMMITTING, version, fence=0, cancel_requested_by='le"a')
    assert store.change(Change(job.id, COMMITTING, Status.CANCELLED)) == Changed(version + 1)


# --- what a change sets -------------------------------------------------------------------


def test_a_change_sets_what_it_names_and_leaves_the_rest(store: JobStore) -> None:
    job = job_in(store, Status.RUNNING, submission=submission(params={"days": 30}))
    made = plan(job.id, effect(0), effect(1))
    values: dict[str, Any] = {
        "stage": Stage.POLICY,
        "output": {"text": "“ü” \U0001f4b0", "rows": [1, 2.5, None]},
        "warnings": ("one", "two"),
        "plan": made,
        "usage": Usage(model="m", prompt_tokens=3),
        "error": ErrorInfo(code="policy.blocked", message="Because.", details={"rule": "r"}),
        "settled_at_ms": NOW_MS,
        "revision": 1,
    }
    store.change(Change(job.id, RUNNING, set=values))
    assert store.get(job.id) == job.model_copy(update={**values, "version": job.version + 1})


def test_a_field_can_be_set_back_to_nothing(store: JobStore) -> None:
    job = job_in(store, Status.RUNNING)
    store.change(Change(job.id, RUNNING, set={"error": ErrorInfo(code="job.cancelled", message="x"), "output": 1}))
    store.change(Change(job.id, RUNNING, set={"error": None, "output": None}))
    found = store.get(job.id)
    assert found is not None
    assert (found.error, found.output) == (None, None)
    assert store.list_jobs(JobFilter(), cursor=None, limit=1).items[0].error_code is None


@pytest.mark.parametrize(
    "name",
    ["id", "version", "fence", "deliveries", "lease_until_ms", "worker", "status", "owner", "effects", "nonsense"],
)
def test_a_change_cannot_set_what_the_store_keeps(store: JobStore, name: str) -> None:
    job = submitted(store)
    with pytest.raises(ValueError, match=name):
        store.change(Change(job.id, QUEUED, set={name: 1}))
    assert store.get(job.id) == job


@pytest.mark.parametrize(("name", "value"), [("plan", "text"), ("revision", "one"), ("stage", "lunch")])
def test_a_value_that_does_not_fit_its_field_is_refused_before_anything_is_sent(
    store: JobStore, name: str, value: object
) -> None:
    job = submitted(store)
    with pytest.raises(ValueError, match="validation error"):
        store.change(Change(job.id, QUEUED, set={name: value}))
    assert store.get(job.id) == job


def test_a_redacted_submission_shows_in_listings_at_once(store: JobStore) -> None:
    job = job_in(store, Status.SUCCESS, submission=submission(request="secret question"))
    redacted = submission(request="(erased)")
    store.change(Change(job.id, frozenset({Status.SUCCESS}), set={"submission": redacted}))
    assert store.list_jobs(JobFilter(), cursor=None, limit=1).items[0].request == "(erased)"


def test_a_thousand_effects_fit_into_one_change(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    effects = [EffectRecord(seq=seq, idempotency_key=f"k{seq}") for seq in range(1000)]
    store.change(Change(job.id, COMMITTING, effects=effects))
    found = store.get(job.id)
    assert found is not None
    assert list(found.effects) == effects


# --- effects, journal, events -------------------------------------------------------------


def test_an_effect_is_replaced_by_position_and_the_others_stay(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    store.change(Change(job.id, COMMITTING, effects=[EffectRecord(seq=seq) for seq in (2, 0, 10, 1)]))
    done = EffectRecord(seq=2, state=EffectState.SUCCEEDED, attempts=1, result={"id": 7})
    store.change(Change(job.id, COMMITTING, effects=[done]))
    found = store.get(job.id)
    assert found is not None
    assert found.effects == (EffectRecord(seq=0), EffectRecord(seq=1), done, EffectRecord(seq=10))


def test_the_journal_keeps_every_entry_in_order(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    states = (EffectState.STARTED, EffectState.FAILED, EffectState.STARTED, EffectState.SUCCEEDED)
    entries = [entry(0, state, attempt) for attempt, state in enumerate(states)]
    for one in entries[:2]:
        store.change(Change(job.id, COMMITTING, journal=[one]))
    store.change(Change(job.id, COMMITTING, journal=entries[2:]))
    assert list(store.journal(job.id)) == entries


def test_events_are_read_after_an_id_in_order_and_by_pages(store: JobStore) -> None:
    job = job_in(store, Status.COMMITTING)
    before = store.events(job.id)[-1].id
    told = [Event(type="effect", data={"seq": seq}, at_ms=NOW_MS + seq) for seq in range(5)]
    store.change(Change(job.id, COMMITTING, events=told[:2]))
    store.change(Change(job.id, COMMITTING, events=told[2:]))
    everything = store.events(job.id, after=before)
    assert [event.model_copy(update={"id": ""}) for event in everything] == told
    first, second = store.events(job.id, after=before, limit=3), store.events(job.id, after=everything[2].id, limit=3)
    assert [*first, *second] == list(everything)
    assert list(store.events(job.id, after=everything[-1].id)) == []


@pytest.mark.parametrize("after", ["x", "-1", "1-0", "\u0663", "9" * 40])
def test_an_event_id_that_is_none_is_refused(store: JobStore, after: str) -> None:
    job = submitted(store)
    with pytest.raises(RequestError) as refused:
        store.events(job.id, after=after)
    assert refused.value.code == "cursor.invalid"


# --- lease, expiry ------------------------------------------------------------------------


def test_release_gives_the_lease_back_and_forgets_the_deliveries(store: JobStore) -> None:
    job = submitted(store)
    store.claim(job.id, expect=QUEUED, to=Status.RUNNING, worker="w1", lease_ms=60_000)
    store.change(Change(job.id, RUNNING, Status.COMMITTING, expect_fence=1, release=True))
    found = store.get(job.id)
    assert found is not None
    assert (found.worker, found.lease_until_ms, found.deliveries, found.fence) == ("", 0, 0, 1)
    claimed = store.claim(job.id, expect=COMMITTING, to=Status.COMMITTING, worker="w2", lease_ms=1000)
    assert held(claimed) == (2, 1)


def test_a_change_without_release_keeps_the_lease(store: JobStore) -> None:
    job = submitted(store)
    store.claim(job.id, expect=QUEUED, to=Status.RUNNING, worker="w1", lease_ms=60_000)
    held = store.get(job.id)
    store.change(Change(job.id, RUNNING, Status.RUNNING, set={"stage": Stage.EXECUTE}))
    found = store.get(job.id)
    assert held is not None
    assert found is not None
    assert (found.worker, found.lease_until_ms, found.deliveries) == ("w1", held.lease_until_ms, 1)


def test_an_expired_job_is_gone_with_everything_that_belonged_to_it(world: World) -> None:
    store = world.store
    job = job_in(store, Status.COMMITTING)
    store.change(
        Change(
            job.id,
            COMMITTING,
            Status.SUCCESS,
            effects=[EffectRecord(seq=0)],
            journal=[entry(0, EffectState.SUCCEEDED)],
            events=[Event(type="status", at_ms=NOW_MS)],
            retain_seconds=10,
            due_at_ms=None,
        )
    )
    world.forward(9)
    assert store.get(job.id) is not None
    world.forward(2)
    assert store.get(job.id) is None
    assert store.version(job.id) is None
    assert list(store.journal(job.id)) == []
    assert list(store.events(job.id)) == []
    assert store.change(Change(job.id, frozenset({Status.SUCCESS}))) == Missing()
    assert store.list_jobs(JobFilter(), cursor=None, limit=10).items == ()


def test_parts_that_are_added_to_an_expiring_job_expire_with_it(world: World) -> None:
    store = world.store
    job = job_in(store, Status.COMMITTING)
    store.change(Change(job.id, COMMITTING, Status.PARTIAL, retain_seconds=10))
    partial = frozenset({Status.PARTIAL})
    store.change(Change(job.id, partial, journal=[entry(0, EffectState.SKIPPED)], effects=[EffectRecord(seq=0)]))
    world.forward(11)
    assert list(store.journal(job.id)) == []
    assert store.get(job.id) is None


def test_a_job_that_comes_back_to_life_no_longer_expires(world: World) -> None:
    store = world.store
    job = job_in(store, Status.COMMITTING)
    store.change(Change(job.id, COMMITTING, Status.PARTIAL, journal=[entry(0, EffectState.FAILED)], retain_seconds=10))
    store.change(Change(job.id, frozenset({Status.PARTIAL}), Status.COMMITTING))
    world.forward(11)
    assert store.version(job.id) == (job.version + 2, Status.COMMITTING)
    assert len(store.journal(job.id)) == 1
    store.rebuild_due(grace_ms=0)
    assert len(store.list_jobs(JobFilter(), cursor=None, limit=10).items) == 1


def test_an_expiry_can_be_taken_back(world: World) -> None:
    store = world.store
    job = job_in(store, Status.SUCCESS)
    success = frozenset({Status.SUCCESS})
    store.change(Change(job.id, success, retain_seconds=10))
    store.change(Change(job.id, success, retain_seconds=0))
    world.forward(11)
    assert store.get(job.id) is not None


def test_an_expiry_can_be_put_off(world: World) -> None:
    store = world.store
    job = job_in(store, Status.SUCCESS)
    success = frozenset({Status.SUCCESS})
    store.change(Change(job.id, success, retain_seconds=10))
    store.change(Change(job.id, success, retain_seconds=20))
    world.forward(15)
    store.rebuild_due(grace_ms=0)
    assert [item.id for item in store.list_jobs(JobFilter(), cursor=None, limit=5).items] == [job.id]
