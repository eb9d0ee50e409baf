"""What keys and people use: jobs at once, tokens and money of a day, and their ceilings, in both stores."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import note
from tests.support.factories import ANA, NOW_MS, queued_job, submission
from tests.support.worlds import DAY_MS, job_in, submitted
from vardy_api.embedded import free_port
from vardy_worker.contracts.audit import Action
from vardy_worker.contracts.audit_chain import START
from vardy_worker.contracts.erasure import ERASED
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.job import JudgeUsage, Usage
from vardy_worker.contracts.quota import DAY_SECONDS, Quota, QuotaExceeded, QuotaOf, Quotas, Used
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import TRANSITIONS, UNSETTLED, Status
from vardy_worker.contracts.user import User
from vardy_worker.ports import Change, Changed, Claimed, IdempotencyClaim, KeyReused, Replayed, Submitted
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from tests.support.worlds import RedisWorld, World
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import JobStore

KEY, OTHER_KEY = "key_1", "key_2"
LEO = User(id="leo")
RUNNING = frozenset({Status.RUNNING})
CLAIM = IdempotencyClaim("shop", "k1", "a" * 64)


def usage(tokens: int, cost_usd: float = 0.0, *, judge: int = 0) -> Usage:
    spent = JudgeUsage(prompt_tokens=judge, cost_usd=0.25 if judge else 0, calls=int(judge > 0))
    return Usage(prompt_tokens=tokens - tokens // 10, completion_tokens=tokens // 10, cost_usd=cost_usd, judge=spent)


def ceilings(of: QuotaOf = QuotaOf.USER, **fields: Any) -> Quotas:
    return Quotas(**{of.value: Quota(**fields)})


def user_used(store: JobStore, user: User = ANA) -> Used:
    return store.used(QuotaOf.USER, user.id)


def key_used(store: JobStore, key: str = KEY) -> Used:
    return store.used(QuotaOf.KEY, key)


def running(store: JobStore, **fields: Any) -> JobRecord:
    return job_in(store, Status.RUNNING, **{"key_id": KEY, **fields})


def spend(store: JobStore, job: JobRecord, taken: Usage, to: Status | None = None) -> None:
    assert isinstance(store.change(Change(job.id, RUNNING, to, set={"usage": taken})), Changed)


def try_another(store: JobStore, quotas: Quotas, **fields: Any) -> object:
    job = queued_job(**{"key_id": KEY, "quotas": quotas, **fields})
    answer = store.submit(job, None, due_at_ms=NOW_MS)
    assert (store.get(job.id) is None) is isinstance(answer, QuotaExceeded), "a refused job leaves nothing"
    return answer


# --- jobs at once ---------------------------------------------------------------------------


def test_a_submitted_job_counts_for_its_key_and_its_person_alone(store: JobStore) -> None:
    submitted(store, key_id=KEY)
    submitted(store, key_id=KEY, submission=submission(user=LEO))
    assert key_used(store).jobs == 2
    assert (user_used(store).jobs, user_used(store, LEO).jobs) == (1, 1)
    assert (key_used(store, OTHER_KEY), user_used(store, User(id=KEY))) == (Used(), Used())


@pytest.mark.parametrize(
    ("before", "after"), [(before, after) for before in Status for after in sorted(TRANSITIONS[before])]
)
def test_a_job_counts_while_it_is_unsettled_whatever_way_it_went(
    store: JobStore, before: Status, after: Status
) -> None:
    job = job_in(store, before, key_id=KEY)
    assert (key_used(store).jobs, user_used(store).jobs) == (int(before in UNSETTLED),) * 2
    store.change(Change(job.id, frozenset({before}), after))
    assert (key_used(store).jobs, user_used(store).jobs) == (int(after in UNSETTLED),) * 2


def test_a_claim_leaves_the_count_as_it_is(store: JobStore) -> None:
    job = submitted(store, key_id=KEY)
    queued = frozenset({Status.QUEUED})
    assert isinstance(store.claim(job.id, expect=queued, to=Status.RUNNING, worker="w", lease_ms=1), Claimed)
    assert key_used(store).jobs == 1


def test_a_change_that_is_refused_counts_nothing(store: JobStore) -> None:
    job = running(store)
    store.change(Change(job.id, RUNNING, Status.SUCCESS, expect_fence=7, set={"usage": usage(100)}))
    assert key_used(store) == Used(jobs=1)


def test_a_job_that_expired_or_was_erased_does_not_count(world: World) -> None:
    store = world.store
    expired = running(store)
    store.change(Change(expired.id, RUNNING, Status.SUCCESS, retain_seconds=10))
    erased = job_in(store, Status.SUCCESS, key_id=KEY)
    store.erase(erased.id, expect_version=erased.version, at_ms=NOW_MS)
    world.forward(11)
    store.rebuild_due(grace_ms=0)
    assert store.get(expired.id) is None
    assert (key_used(store), user_used(store)) == (Used(), Used())


@pytest.mark.parametrize("of", QuotaOf)
def test_one_job_too_many_at_once_is_refused_until_one_has_settled(store: JobStore, of: QuotaOf) -> None:
    quotas = ceilings(of, jobs_max=2)
    first = running(store, quotas=quotas)
    submitted(store, key_id=KEY, quotas=quotas)
    refused = QuotaExceeded(of=of, limit="jobs_max", maximum=2, used=2, retry_after_seconds=5)
    assert try_another(store, quotas) == refused
    store.change(Change(first.id, RUNNING, Status.SUCCESS))
    assert isinstance(try_another(store, quotas), Submitted)
    assert try_another(store, quotas) == refused


def test_of_submissions_that_race_as_many_pass_as_the_ceiling_allows(store: JobStore) -> None:
    start = threading.Barrier(8)
    answers: list[object] = []

    def submit(user: User) -> None:
        start.wait()
        quotas, asked = ceilings(QuotaOf.KEY, jobs_max=5), submission(user=user)
        answers.extend(try_another(store, quotas, submission=asked) for _ in range(3))

    threads = [threading.Thread(target=submit, args=(User(id=f"u{number}"),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sum(isinstance(answer, kind) for answer in answers) for kind in (Submitted, QuotaExceeded)] == [5, 19]
    assert key_used(store).jobs == 5


def test_the_ceiling_of_one_key_or_person_is_no_other_ones(store: JobStore) -> None:
    quotas = Quotas(key=Quota(jobs_max=1), user=Quota(jobs_max=1))
    submitted(store, key_id=KEY, quotas=quotas)
    assert isinstance(try_another(store, quotas, key_id=OTHER_KEY, submission=submission(user=LEO)), Submitted)


def test_what_holds_is_what_the_new_job_says_and_not_earlier_ones(store: JobStore) -> None:
    submitted(store, key_id=KEY, quotas=ceilings(jobs_max=1))
    assert isinstance(try_another(store, Quotas()), Submitted)
    assert isinstance(try_another(store, ceilings(jobs_max=3)), Submitted)
    assert isinstance(try_another(store, ceilings(jobs_max=3)), QuotaExceeded)


def test_only_a_submission_is_refused_and_never_what_leads_a_job_on(store: JobStore) -> None:
    quotas = ceilings(jobs_max=1, tokens_per_day=1)
    parked = job_in(store, Status.PENDING_APPROVAL, key_id=KEY, quotas=quotas)
    failed = job_in(store, Status.FUNCTION_ERROR, key_id=KEY, quotas=Quotas())
    for job in (parked, failed):
        assert isinstance(store.change(Change(job.id, frozenset({job.status}), Status.COMMITTING)), Changed)
    assert user_used(store).jobs == 2


def test_a_replay_comes_before_every_ceiling(store: JobStore) -> None:
    quotas = ceilings(jobs_max=1)
    first = queued_job(key_id=KEY, quotas=quotas)
    store.submit(first, CLAIM, due_at_ms=NOW_MS)
    again = queued_job(key_id=KEY, quotas=quotas)
    assert store.submit(again, CLAIM, due_at_ms=NOW_MS) == Replayed(first.id)
    other = IdempotencyClaim("shop", "k1", "b" * 64)
    assert store.submit(again, other, due_at_ms=NOW_MS) == KeyReused(first.id)


def test_a_refused_submission_does_not_take_its_idempotency_key(store: JobStore) -> None:
    quotas = ceilings(jobs_max=1)
    first = running(store, quotas=quotas)
    job = queued_job(key_id=KEY, quotas=quotas)
    assert isinstance(store.submit(job, CLAIM, due_at_ms=NOW_MS), QuotaExceeded)
    assert store.submitted_under(CLAIM) is None
    store.change(Change(first.id, RUNNING, Status.SUCCESS))
    assert store.submit(job, CLAIM, due_at_ms=NOW_MS) == Submitted(job.id)


def test_a_refused_submission_is_in_no_listing_and_no_audit_trail(world: World) -> None:
    quotas = ceilings(jobs_max=1)
    submitted(world.store, quotas=quotas)
    refused = queued_job(quotas=quotas)
    told = [note(Action.JOB_SUBMITTED, at_ms=NOW_MS)]
    assert isinstance(world.store.submit(refused, None, due_at_ms=NOW_MS, audit=told), QuotaExceeded)
    assert world.store.counts()[Status.QUEUED] == 1
    assert refused.id not in world.trail.chains(after="", limit=10)
    assert refused.id not in [due.job_id for due in world.store.take_due(limit=10, hide_ms=0)]


# --- what was spent -------------------------------------------------------------------------


def test_a_day_holds_what_the_usage_of_its_jobs_grew_by(store: JobStore) -> None:
    job = running(store)
    spend(store, job, usage(100, 0.5))
    assert key_used(store) == user_used(store) == Used(jobs=1, tokens=100, cost_usd=0.5)
    spend(store, job, usage(100, 0.5))
    spend(store, job, usage(130, 0.500_001, judge=20), Status.SUCCESS)
    spent = Used(tokens=150, cost_usd=0.750_001)
    assert (key_used(store), user_used(store)) == (spent, spent)
    spend(store, running(store, submission=submission(user=LEO)), usage(7))
    assert (key_used(store).tokens, user_used(store).tokens, user_used(store, LEO).tokens) == (157, 150, 7)


def test_sums_of_money_are_exact(store: JobStore) -> None:
    for _ in range(10):
        spend(store, running(store), usage(0, 0.1), Status.SUCCESS)
    assert key_used(store).cost_usd == 1.0


def test_a_change_that_writes_no_usage_or_less_of_it_counts_nothing(store: JobStore) -> None:
    job = running(store)
    spend(store, job, usage(100, 0.5))
    store.change(Change(job.id, RUNNING, set={"output": 1}))
    spend(store, job, usage(60, 0.1))
    assert key_used(store) == Used(jobs=1, tokens=100, cost_usd=0.5)
    spend(store, job, usage(110, 0.1))
    spend(store, job, usage(90, 0.6))
    assert key_used(store) == Used(jobs=1, tokens=110, cost_usd=0.6), "tokens and money each at their highest"


def test_a_day_ends_at_midnight_and_the_next_begins_with_nothing(world: World) -> None:
    store = world.store
    job = running(store)
    spend(store, job, usage(100, 0.5))
    world.forward(DAY_SECONDS)
    assert key_used(store) == Used(jobs=1)
    spend(store, job, usage(130, 0.5))
    assert key_used(store) == Used(jobs=1, tokens=30), "what it took before midnight is of the day before"


@pytest.mark.parametrize("of", QuotaOf)
@pytest.mark.parametrize(
    ("limit", "maximum", "below", "above"),
    [
        ("tokens_per_day", 100, usage(99, 7.0), usage(100, 7.0)),
        ("cost_usd_per_day", 0.5, usage(7, 0.499_999), usage(7, 0.5)),
    ],
)
def test_a_day_that_is_spent_up_takes_no_further_job(
    world: World, of: QuotaOf, limit: str, maximum: float, below: Usage, above: Usage
) -> None:
    store, quotas = world.store, ceilings(of, **{limit: maximum})
    job = running(store, quotas=quotas)
    spend(store, job, below)
    assert isinstance(try_another(store, quotas), Submitted)
    spend(store, job, above)
    left = DAY_SECONDS - store.server_now_ms() // 1000 % DAY_SECONDS
    refused = try_another(store, quotas)
    assert isinstance(refused, QuotaExceeded)
    assert (refused.of, refused.limit, refused.maximum, refused.used) == (of, limit, maximum, maximum)
    assert left - 2 <= refused.retry_after_seconds <= left
    assert isinstance(try_another(store, Quotas()), Submitted)
    world.forward(DAY_SECONDS)
    assert isinstance(try_another(store, quotas), Submitted)


@pytest.mark.parametrize("judge", [False, True])
def test_a_spent_up_day_refuses_a_recipe_only_where_it_has_the_judge(store: JobStore, judge: bool) -> None:
    quotas = ceilings(tokens_per_day=1)
    spend(store, running(store), usage(1))
    recipe = Recipe(name="days", source="", judge=judge)
    answer = try_another(store, quotas, recipe=recipe, submission=submission(recipe="days"))
    assert isinstance(answer, QuotaExceeded if judge else Submitted)


def test_a_ceiling_below_the_smallest_amount_is_one(store: JobStore) -> None:
    quotas = ceilings(cost_usd_per_day=0.000_000_1)
    job = running(store, quotas=quotas)
    spend(store, job, usage(7, 0.000_001))
    assert isinstance(try_another(store, quotas), QuotaExceeded)


# --- what a worker is told before a call of a model -----------------------------------------


@pytest.mark.parametrize("of", QuotaOf)
def test_a_worker_is_told_of_a_ceiling_that_all_jobs_together_have_reached(store: JobStore, of: QuotaOf) -> None:
    quotas = ceilings(of, tokens_per_day=100)
    one, other = (running(store, quotas=quotas) for _ in range(2))
    spend(store, one, usage(60))
    assert store.exceeded(other) is None
    spend(store, other, usage(40))
    for job in (one, other):
        told = store.exceeded(job.model_copy(update={"usage": usage(60 if job is one else 40)}))
        assert told is not None
        assert (told.of, told.limit, told.used) == (of, "tokens_per_day", 100)
    assert store.exceeded(running(store)) is None, "a job without a ceiling"


def test_what_a_job_spent_and_did_not_write_yet_counts_too_and_only_once(store: JobStore) -> None:
    job = running(store, quotas=ceilings(tokens_per_day=100))
    in_hand = job.model_copy(update={"usage": usage(99)})
    assert store.exceeded(in_hand) is None
    spend(store, job, usage(99))
    assert store.exceeded(in_hand) is None
    told = store.exceeded(job.model_copy(update={"usage": usage(105)}))
    assert told is not None
    assert told.used == 105


def test_jobs_at_once_are_no_reason_to_ask_no_model(store: JobStore) -> None:
    job = running(store, quotas=ceilings(jobs_max=1))
    running(store)
    assert store.exceeded(job) is None


# --- erasing, and records of older versions -------------------------------------------------


def test_erasing_a_persons_totals_erases_what_the_person_spent_and_not_what_the_key_did(world: World) -> None:
    store = world.store
    job, other = running(store), running(store, submission=submission(user=LEO))
    spend(store, job, usage(100, 0.5))
    spend(store, other, usage(1))
    world.forward(DAY_SECONDS)
    spend(store, job, usage(150, 0.5))
    told = [note(Action.TOTALS_ERASED, at_ms=NOW_MS)]
    assert store.erase_user_totals(ANA.id, audit=told) is True
    assert user_used(store) == Used(jobs=1)
    assert store.erase_user_totals(ANA.id, audit=told) is False
    assert key_used(store).tokens == 50
    spend(store, job, usage(160, 0.5))
    assert user_used(store).tokens == 10, "only what came after"
    assert len(world.trail.chain("settings", after=START, limit=10).lines) == 1


def test_yesterdays_spending_is_erased_too(world: World) -> None:
    spend(world.store, running(world.store), usage(100))
    world.forward(DAY_SECONDS)
    assert world.store.erase_user_totals(ANA.id) is True
    assert world.store.erase_user_totals(ANA.id) is False


def test_an_erased_job_counts_nothing_any_more(store: JobStore) -> None:
    job = running(store)
    spend(store, job, usage(100), Status.CANCELLED)
    cancelled = store.get(job.id)
    assert cancelled is not None
    store.erase(job.id, expect_version=cancelled.version, at_ms=NOW_MS)
    store.change(Change(job.id, frozenset({Status.CANCELLED}), set={"usage": usage(150)}))
    assert user_used(store).tokens == 100
    assert store.used(QuotaOf.USER, ERASED) == Used()


def _as_an_older_version_stored_it(redis_world: RedisWorld, job: JobRecord) -> None:
    redis_world.client.hdel(f"{redis_world.namespace}:job:{job.id}", "key_id", "quotas", "_accounts", "_spent")


def test_a_job_of_an_older_version_goes_its_way_uncounted(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = job_in(store, Status.RUNNING)
    _as_an_older_version_stored_it(redis_world, job)
    old = store.get(job.id)
    assert old is not None
    assert (old.key_id, old.quotas, store.exceeded(old)) == ("", Quotas(), None)
    spend(store, job, usage(100), Status.FUNCTION_ERROR)
    store.change(Change(job.id, frozenset({Status.FUNCTION_ERROR}), Status.COMMITTING))
    assert user_used(store).tokens == 0


def test_jobs_that_a_worker_of_an_older_version_settled_block_nobody(redis_world: RedisWorld) -> None:
    """It knows no accounts, and so leaves the job among the unsettled ones."""
    store, quotas = redis_world.store, ceilings(jobs_max=2)
    for status in (b'"SUCCESS"', None):
        job = submitted(store, quotas=quotas)
        name = f"{redis_world.namespace}:job:{job.id}"
        redis_world.client.hset(name, "status", status) if status else redis_world.client.delete(name)
    assert user_used(store).jobs == 2
    assert isinstance(try_another(store, quotas), Submitted)
    assert user_used(store).jobs == 1


# --- what only a server shows ---------------------------------------------------------------


def test_every_change_that_is_sent_twice_counts_once(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = running(store)
    change = Change(job.id, RUNNING, Status.SUCCESS, set={"usage": usage(100, 0.5)})
    requeue = Change(job.id, frozenset({Status.SUCCESS}), set={"usage": usage(120, 0.5)})
    for _ in range(2):
        store.send_change(change, "token-1")
    assert key_used(store) == Used(tokens=100, cost_usd=0.5)
    for sent, token in ((requeue, "token-2"), (change, "token-1"), (requeue, "token-2")):
        store.send_change(sent, token)
    assert key_used(store) == Used(tokens=120, cost_usd=0.5)


def test_a_submission_that_is_sent_again_is_no_second_job_and_not_refused(redis_world: RedisWorld) -> None:
    store = redis_world.store
    job = queued_job(key_id=KEY, quotas=ceilings(jobs_max=1))
    for _ in range(2):
        assert store.submit(job, None, due_at_ms=NOW_MS) == Submitted(job.id)
    assert key_used(store).jobs == 1


def test_a_job_without_a_ceiling_of_a_day_costs_no_round_trip() -> None:
    nobody = RedisJobStore(connect(f"redis://127.0.0.1:{free_port()}/0"), "t")
    assert nobody.exceeded(queued_job(key_id=KEY, quotas=ceilings(jobs_max=1))) is None
    with pytest.raises(StoreUnavailable):
        nobody.exceeded(queued_job(key_id=KEY, quotas=ceilings(tokens_per_day=1)))


def test_no_name_of_a_key_shows_a_person_and_nothing_is_left_after_two_days(redis_world: RedisWorld) -> None:
    store, client = redis_world.store, redis_world.client
    spend(store, running(store, submission=submission(user=User(id="ana@example.com"))), usage(100), Status.CANCELLED)
    accounts = list(client.scan_iter(f"{redis_world.namespace}:account:*"))
    assert len(accounts) == 2, "of the key and of the person: what was spent; no job is unsettled"
    assert not [name for name in client.scan_iter(f"{redis_world.namespace}:account:*") if b"ana" in name]
    assert all(0 < client.pttl(name) <= 2 * DAY_MS for name in accounts)
