from __future__ import annotations

import base64

import pytest

from tests.support.factories import effect, plan, submission
from tests.support.worlds import RedisWorld, World, job_in, submitted
from vardy_worker.contracts.errors import ErrorInfo, RequestError
from vardy_worker.contracts.job import JobFilter, JobKind, JobSummary
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.contracts.user import User
from vardy_worker.ports import Change, JobStore

ANYTHING = JobFilter()


def all_pages(store: JobStore, where: JobFilter, limit: int) -> list[str]:
    """The ids of every page, after checking that no page is longer than asked for."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = store.list_jobs(where, cursor=cursor, limit=limit)
        assert len(page.items) <= limit
        found += [item.id for item in page.items]
        cursor = page.next
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_pages_hold_every_job_once_newest_first(store: JobStore, limit: int) -> None:
    jobs = [submitted(store, created_at_ms=1000 + number) for number in range(12)]
    assert all_pages(store, ANYTHING, limit) == [job.id for job in reversed(jobs)]


@pytest.mark.parametrize("limit", [1, 4, 250])
def test_jobs_of_one_millisecond_are_paged_without_loss(store: JobStore, limit: int) -> None:
    jobs = [submitted(store, created_at_ms=1000) for _ in range(230 if limit == 250 else 12)]
    assert all_pages(store, ANYTHING, limit) == sorted((job.id for job in jobs), reverse=True)


def test_jobs_of_one_millisecond_in_several_statuses_are_paged_without_loss(store: JobStore) -> None:
    statuses = (Status.SUCCESS, Status.PARTIAL, Status.CANCELLED)
    jobs = [job_in(store, status, created_at_ms=1000) for status in statuses for _ in range(4)]
    job_in(store, Status.PLANNED, created_at_ms=1000)
    expected = sorted((job.id for job in jobs), reverse=True)
    for limit in (1, 2, 5):
        assert all_pages(store, JobFilter(status=statuses), limit) == expected


def test_a_job_that_arrives_between_two_pages_disturbs_neither(store: JobStore) -> None:
    jobs = [submitted(store, created_at_ms=1000 + number) for number in range(4)]
    first = store.list_jobs(ANYTHING, cursor=None, limit=2)
    submitted(store, created_at_ms=2000)
    second = store.list_jobs(ANYTHING, cursor=first.next, limit=2)
    assert [item.id for item in (*first.items, *second.items)] == [job.id for job in reversed(jobs)]


def test_a_page_goes_on_after_its_last_job_has_left_the_list(store: JobStore) -> None:
    jobs = [job_in(store, Status.PENDING_APPROVAL, created_at_ms=1000 + number) for number in range(4)]
    waiting = JobFilter(status=(Status.PENDING_APPROVAL,))
    first = store.list_jobs(waiting, cursor=None, limit=2)
    store.change(Change(jobs[2].id, frozenset({Status.PENDING_APPROVAL}), Status.CANCELLED))
    second = store.list_jobs(waiting, cursor=first.next, limit=2)
    assert [item.id for item in second.items] == [jobs[1].id, jobs[0].id]


def test_filters_combine(store: JobStore) -> None:
    def job(status: Status, user: str, owner: str, recipe: str | None, kind: JobKind) -> str:
        made = submission(user=User(id=user), **({"recipe": recipe} if recipe else {}))
        return job_in(store, status, submission=made, owner=owner, kind=kind).id

    run, explore = JobKind.RUN, JobKind.EXPLORE
    a = job(Status.SUCCESS, "ana", "shop", None, run)
    b = job(Status.PARTIAL, "ana", "shop", "remind", run)
    c = job(Status.SUCCESS, "leo", "shop", "remind", run)
    d = job(Status.SUCCESS, "ana", "bank", None, explore)
    expected = {
        ANYTHING: {a, b, c, d},
        JobFilter(user="ana"): {a, b, d},
        JobFilter(user="ana", owner="shop"): {a, b},
        JobFilter(user="ana", owner="shop", status=(Status.SUCCESS,)): {a},
        JobFilter(status=(Status.SUCCESS, Status.PARTIAL), recipe="remind"): {b, c},
        JobFilter(status=(Status.SUCCESS, Status.SUCCESS), user="ana"): {a, d},
        JobFilter(kind=explore): {d},
        JobFilter(kind=explore, recipe="remind"): set(),
        JobFilter(user="nobody"): set(),
        JobFilter(user="ana", owner="shop", recipe="remind", kind=run, status=(Status.PARTIAL,)): {b},
    }
    for where, ids in expected.items():
        assert set(all_pages(store, where, 1)) == ids, where
        assert set(all_pages(store, where, 10)) == ids, where


def test_only_jobs_after_a_time_are_listed_when_asked(store: JobStore) -> None:
    jobs = [submitted(store, created_at_ms=1000 + number) for number in range(4)]
    found = all_pages(store, JobFilter(created_after_ms=1001, user="ana"), 1)
    assert found == [jobs[3].id, jobs[2].id]
    assert all_pages(store, JobFilter(created_after_ms=1003), 1) == []


@pytest.mark.parametrize("value", ["user:x", "all", "*", "a|b", "“ü”", "a b"])
def test_odd_names_of_users_and_owners_meet_nobody_else(store: JobStore, value: str) -> None:
    submitted(store)
    job = submitted(store, submission=submission(user=User(id=value)), owner=value)
    assert all_pages(store, JobFilter(user=value), 5) == [job.id]
    assert all_pages(store, JobFilter(owner=value), 5) == [job.id]


def test_a_summary_shows_what_the_record_says_and_no_payload(store: JobStore) -> None:
    job = submitted(store, submission=submission(request="x" * 300, params={"secret": "marker"}))
    store.change(
        Change(
            job.id,
            frozenset({Status.QUEUED}),
            Status.RUNNING,
            set={"stage": Stage.PLAN, "plan": plan(job.id, effect(0), effect(1))},
        )
    )
    [running] = store.list_jobs(ANYTHING, cursor=None, limit=1).items
    assert running.stage is Stage.PLAN
    store.change(
        Change(
            job.id,
            frozenset({Status.RUNNING}),
            Status.POLICY_BLOCKED,
            set={
                "error": ErrorInfo(code="policy.blocked", message="marker"),
                "settled_at_ms": 5,
                "expires_at_ms": 6,
                "output": "marker",
            },
        )
    )
    [summary] = store.list_jobs(ANYTHING, cursor=None, limit=1).items
    assert summary == JobSummary(
        id=job.id,
        kind=JobKind.RUN,
        status=Status.POLICY_BLOCKED,
        stage=None,
        request="x" * 200,
        recipe=None,
        user="ana",
        owner="shop",
        created_at_ms=job.created_at_ms,
        settled_at_ms=5,
        expires_at_ms=6,
        error_code="policy.blocked",
        effects_total=2,
    )


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "",
        "\N{SNOWMAN}",
        "a" * 5000,
        base64.urlsafe_b64encode(b"{}").decode(),
        base64.urlsafe_b64encode(b'["1","job"]').decode(),
        base64.urlsafe_b64encode(b'[1e400,"job"]').decode(),
        base64.urlsafe_b64encode(b'[true,"job"]').decode(),
        base64.urlsafe_b64encode(b"[" * 900).decode(),
    ],
)
def test_a_cursor_that_no_page_gave_is_refused(store: JobStore, cursor: str) -> None:
    with pytest.raises(RequestError) as refused:
        store.list_jobs(ANYTHING, cursor=cursor, limit=1)
    assert refused.value.code == "cursor.invalid"


def test_a_page_holds_at_least_one_job(store: JobStore) -> None:
    with pytest.raises(ValueError, match="at least one"):
        store.list_jobs(ANYTHING, cursor=None, limit=0)


def test_expired_jobs_are_skipped_without_shortening_the_list(world: World) -> None:
    store = world.store
    jobs = [job_in(store, Status.SUCCESS, created_at_ms=1000 + number) for number in range(6)]
    for job in jobs[1::2]:
        store.change(Change(job.id, frozenset({Status.SUCCESS}), retain_seconds=1))
    world.forward(2)
    expected = [job.id for job in reversed(jobs[::2])]
    assert all_pages(store, ANYTHING, 2) == expected
    assert all_pages(store, JobFilter(status=(Status.SUCCESS,), user="ana"), 2) == expected


def test_expired_jobs_are_skipped_over_many_chunks_without_losing_others(world: World) -> None:
    store = world.store
    jobs = [submitted(store, created_at_ms=1000 + number) for number in range(230)]
    for job in jobs[1::2]:
        store.change(Change(job.id, frozenset({Status.QUEUED}), retain_seconds=1))
    world.forward(2)
    assert all_pages(store, ANYTHING, 115) == [job.id for job in reversed(jobs[::2])]


def test_no_index_keeps_an_expired_job_after_the_sweep(redis_world: RedisWorld) -> None:
    store, client, namespace = redis_world.store, redis_world.client, redis_world.namespace
    gone = job_in(store, Status.SUCCESS, submission=submission(recipe="remind", user=User(id="leo")))
    stays = job_in(store, Status.SUCCESS)
    store.change(Change(gone.id, frozenset({Status.SUCCESS}), retain_seconds=1))
    redis_world.forward(700)
    store.rebuild_due(grace_ms=0)
    left = [key for key in client.scan_iter(f"{namespace}:*") if _mentions(redis_world, key, gone.id)]
    assert left == []
    assert all_pages(store, ANYTHING, 5) == [stays.id]


def _mentions(world: RedisWorld, key: bytes, job_id: str) -> bool:
    if job_id.encode() in key:
        return True
    kind = world.client.type(key)
    if kind == b"zset":
        return world.client.zscore(key, job_id) is not None
    return kind == b"hash" and bool(world.client.hexists(key, job_id))


def test_filters_that_have_little_in_common_end_a_page_short_with_a_cursor(
    redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_worker.store.redis_listing.SCAN_BATCH", 5)
    monkeypatch.setattr("vardy_worker.store.redis_listing.SCAN_MAX", 10)
    store = redis_world.store
    wanted = submitted(store, owner="shop", submission=submission(user=User(id="leo")), created_at_ms=1000)
    for number in range(25):
        submitted(store, owner="bank", submission=submission(user=User(id="leo")), created_at_ms=2000 + number)
        submitted(store, owner="shop", submission=submission(user=User(id="ana")), created_at_ms=2000 + number)
    where = JobFilter(owner="shop", user="leo")
    first = store.list_jobs(where, cursor=None, limit=5)
    assert first.items == ()
    assert first.next is not None
    assert all_pages(store, where, 5) == [wanted.id]


def test_jobs_are_counted_by_status(store: JobStore) -> None:
    assert set(store.counts().values()) == {0}
    for status in (Status.SUCCESS, Status.SUCCESS, Status.PARTIAL):
        job_in(store, status)
    assert {status: count for status, count in store.counts().items() if count} == {
        Status.SUCCESS: 2,
        Status.PARTIAL: 1,
    }
    assert set(store.counts()) == set(Status)
