from __future__ import annotations

import threading

import pytest

from tests.support.factories import ANA, NOW_MS, planned_job, queued_job, submission
from tests.support.worlds import World, job_in, submitted
from vardy_worker.contracts.errors import RecordTooNew
from vardy_worker.contracts.execution import ConsoleLine
from vardy_worker.contracts.job import ConsoleRecord, JobFilter, JobKind
from vardy_worker.contracts.quota import QuotaExceeded, QuotaOf, RateExceeded
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, IdempotencyClaim, JobStore, KeyReused, Replayed, Submitted


def claim_of(body: str = "a" * 64, *, key: str = "key-1", scope: str = "shop") -> IdempotencyClaim:
    return IdempotencyClaim(scope=scope, key=key, body_sha256=body, keep_seconds=100)


def test_a_submitted_job_is_read_back_as_it_was(store: JobStore) -> None:
    job = queued_job(
        kind=JobKind.EXPLORE,
        submission=submission(
            request="who owes us money? “früh” \U0001f4b0",
            params={"big": 2**63 - 1, "nested": {"list": [1.5, None, True, ""]}},
            metadata={"ticket": "7"},
            limits={"calls_max": 3},
        ),
    )
    assert store.submit(job, None, due_at_ms=NOW_MS) == Submitted(job.id)
    assert store.get(job.id) == job
    assert store.version(job.id) == (1, Status.QUEUED)
    [told] = store.events(job.id)
    assert (told.id, told.type, told.data, told.at_ms) == ("1", "status", {"status": "QUEUED"}, job.created_at_ms)


def test_a_job_that_was_never_submitted_is_not_there(store: JobStore) -> None:
    job = queued_job()
    assert store.get(job.id) is None
    assert store.version(job.id) is None
    assert list(store.events(job.id)) == []
    assert list(store.journal(job.id)) == []
    assert store.console(job.id) is None


def test_a_job_is_found_by_every_index_and_is_due_from_the_moment_it_is_stored(store: JobStore) -> None:
    now = store.server_now_ms()
    job = queued_job(owner="shop", submission=submission(recipe="remind", user=ANA), created_at_ms=now)
    store.submit(job, None, due_at_ms=now)
    for where in (
        JobFilter(),
        JobFilter(status=(Status.QUEUED,)),
        JobFilter(kind=JobKind.RUN),
        JobFilter(user="ana"),
        JobFilter(recipe="remind"),
        JobFilter(owner="shop"),
    ):
        assert [item.id for item in store.list_jobs(where, cursor=None, limit=10).items] == [job.id]
    assert [due.job_id for due in store.take_due(limit=10, hide_ms=1000)] == [job.id]


def test_submitting_the_same_job_twice_stores_it_once(store: JobStore) -> None:
    job = submitted(store)
    assert store.submit(job, None, due_at_ms=NOW_MS) == Submitted(job.id)
    assert len(store.list_jobs(JobFilter(), cursor=None, limit=10).items) == 1


def test_submitting_again_does_not_undo_what_became_of_the_job(store: JobStore) -> None:
    job = submitted(store)
    store.change(Change(job.id, frozenset({Status.QUEUED}), Status.CANCELLED, due_at_ms=None))
    store.submit(job, claim_of(), due_at_ms=0)
    assert store.version(job.id) == (2, Status.CANCELLED)
    assert store.take_due(limit=10, hide_ms=1000) == []


def test_what_was_submitted_under_a_key_is_known_without_submitting(world: World) -> None:
    store = world.store
    assert store.submitted_under(claim_of()) is None
    job = queued_job()
    store.submit(job, claim_of(), due_at_ms=NOW_MS)
    assert store.submitted_under(claim_of()) == Replayed(job.id)
    assert store.submitted_under(claim_of("b" * 64)) == KeyReused(job.id)
    assert store.submitted_under(claim_of(scope="desk")) is None
    world.forward(100)
    assert store.submitted_under(claim_of()) is None


def test_a_key_reused_with_the_same_body_answers_with_the_first_job(store: JobStore) -> None:
    first, second = queued_job(), queued_job()
    assert store.submit(first, claim_of(), due_at_ms=NOW_MS) == Submitted(first.id)
    assert store.submit(second, claim_of(), due_at_ms=NOW_MS) == Replayed(first.id)
    assert store.get(second.id) is None


def test_a_key_reused_with_another_body_is_refused(store: JobStore) -> None:
    first, second = queued_job(), queued_job()
    store.submit(first, claim_of("a" * 64), due_at_ms=NOW_MS)
    assert store.submit(second, claim_of("b" * 64), due_at_ms=NOW_MS) == KeyReused(first.id)
    assert store.get(second.id) is None
    assert store.list_jobs(JobFilter(), cursor=None, limit=10).items[0].id == first.id


def test_a_key_sent_again_by_the_very_call_that_used_it_is_no_replay(store: JobStore) -> None:
    job = queued_job()
    assert store.submit(job, claim_of(), due_at_ms=NOW_MS) == Submitted(job.id)
    assert store.submit(job, claim_of(), due_at_ms=NOW_MS) == Submitted(job.id)


@pytest.mark.parametrize(
    ("scope", "key"), [("other", "key-1"), ("shop", "key-2"), ("shopkey", "-1"), ("shop:key", "1")]
)
def test_keys_of_different_callers_do_not_meet(store: JobStore, scope: str, key: str) -> None:
    store.submit(queued_job(), claim_of(), due_at_ms=NOW_MS)
    other = queued_job()
    assert store.submit(other, claim_of(scope=scope, key=key), due_at_ms=NOW_MS) == Submitted(other.id)


def test_a_key_is_free_again_after_its_time(world: World) -> None:
    world.store.submit(queued_job(), claim_of(), due_at_ms=NOW_MS)
    world.forward(101)
    job = queued_job()
    assert world.store.submit(job, claim_of("b" * 64), due_at_ms=NOW_MS) == Submitted(job.id)


def test_a_key_is_free_again_when_its_job_has_expired(world: World) -> None:
    first = queued_job()
    world.store.submit(first, claim_of(), due_at_ms=NOW_MS)
    world.store.change(Change(first.id, frozenset({Status.QUEUED}), Status.CANCELLED, retain_seconds=5))
    world.forward(6)
    second = queued_job()
    assert world.store.submit(second, claim_of(), due_at_ms=NOW_MS) == Submitted(second.id)


def test_of_many_callers_with_one_key_exactly_one_submits(store: JobStore) -> None:
    jobs = [queued_job() for _ in range(8)]
    start = threading.Barrier(len(jobs))
    outcomes: list[Submitted | Replayed | KeyReused] = []

    def submit(position: int) -> None:
        start.wait()
        answer = store.submit(jobs[position], claim_of(), due_at_ms=NOW_MS)
        assert not isinstance(answer, QuotaExceeded | RateExceeded)
        outcomes.append(answer)

    threads = [threading.Thread(target=submit, args=(position,)) for position in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(outcome, Submitted) for outcome in outcomes) == 1
    assert len({outcome.job_id for outcome in outcomes}) == 1
    assert len(store.list_jobs(JobFilter(), cursor=None, limit=10).items) == 1


def test_only_a_queued_job_can_be_submitted(store: JobStore) -> None:
    with pytest.raises(ValueError, match="QUEUED"):
        store.submit(planned_job(), None, due_at_ms=NOW_MS)


def test_a_record_of_a_newer_vardy_is_refused_with_both_versions(store: JobStore) -> None:
    job = submitted(store, schema=2)
    with pytest.raises(RecordTooNew, match="newer Vardy") as refused:
        store.get(job.id)
    assert refused.value.details == {"job_id": job.id, "schema": 2, "schema_max": 1}


def test_what_a_program_printed_is_kept_apart_and_as_long_as_the_job(world: World) -> None:
    store = world.store
    job = job_in(store, Status.RUNNING)
    printed = ConsoleRecord(lines=(ConsoleLine(level="log", text="7 invoices"),), truncated=True)
    store.put_console(job.id, printed)
    assert store.console(job.id) == printed
    assert store.get(job.id) == job
    store.change(Change(job.id, frozenset({Status.RUNNING}), Status.SUCCESS, retain_seconds=5))
    world.forward(6)
    assert store.console(job.id) is None


def test_what_is_printed_by_an_expiring_job_expires_with_it(world: World) -> None:
    store = world.store
    job = job_in(store, Status.SUCCESS)
    store.change(Change(job.id, frozenset({Status.SUCCESS}), retain_seconds=5))
    store.put_console(job.id, ConsoleRecord(truncated=True))
    assert store.console(job.id) is not None
    world.forward(6)
    assert store.console(job.id) is None


def test_what_a_program_printed_is_not_kept_for_a_job_that_is_gone(store: JobStore) -> None:
    job = queued_job()
    store.put_console(job.id, ConsoleRecord())
    assert store.console(job.id) is None


# --- the rate of a person -----------------------------------------------------------------


def test_jobs_above_the_rate_of_their_person_are_not_stored(store: JobStore) -> None:
    first, second = queued_job(), queued_job()
    assert store.submit(first, None, due_at_ms=NOW_MS, per_minute=1) == Submitted(first.id)
    refused = store.submit(second, claim_of(), due_at_ms=NOW_MS, per_minute=1)
    assert isinstance(refused, RateExceeded)
    assert (refused.of, refused.maximum) == (QuotaOf.USER, 1)
    assert 30_000 < refused.wait_ms <= 60_000
    assert store.get(second.id) is None
    assert store.submitted_under(claim_of()) is None
    assert store.submit(second, None, due_at_ms=NOW_MS) == Submitted(second.id)


def test_a_submission_that_is_sent_twice_or_replayed_is_one_of_its_person_s(store: JobStore) -> None:
    job, again = queued_job(), queued_job()
    for _ in range(3):
        assert store.submit(job, claim_of(), due_at_ms=NOW_MS, per_minute=2) == Submitted(job.id)
        assert store.submit(again, claim_of(), due_at_ms=NOW_MS, per_minute=2) == Replayed(job.id)
    assert store.submit(again, None, due_at_ms=NOW_MS, per_minute=2) == Submitted(again.id)
    assert isinstance(store.submit(queued_job(), None, due_at_ms=NOW_MS, per_minute=2), RateExceeded)
