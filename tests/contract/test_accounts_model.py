"""Whatever happens to jobs, what keys and people use is what a list of all jobs says, and so is every refusal."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.support.factories import NOW_MS, queued_job, submission
from tests.support.worlds import DAY_MS, MemoryWorld, RedisWorld
from vardy_worker.contracts.job import Usage
from vardy_worker.contracts.quota import DAY_SECONDS, Quota, QuotaExceeded, QuotaOf, Quotas, Used
from vardy_worker.contracts.status import TRANSITIONS, UNSETTLED, Status
from vardy_worker.contracts.user import User
from vardy_worker.ports import Change, Changed, Claimed, IdempotencyClaim, Replayed, Submitted

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

    from tests.support.worlds import World
    from vardy_worker.contracts.job import JobRecord

KEYS = ("", "key_1", "key_2")
USERS = ("ana", "leo")
JOBS = st.integers(0, 5)
TOKENS = st.integers(0, 40)
CEILINGS = st.builds(
    Quota,
    jobs_max=st.sampled_from([0, 0, 1, 2]),
    tokens_per_day=st.sampled_from([0, 0, 30, 60]),
    cost_usd_per_day=st.sampled_from([0, 0, 3]),
)

Step = tuple[str, dict[str, Any]]
SUBMIT = st.fixed_dictionaries(
    {
        "key": st.sampled_from(KEYS),
        "user": st.sampled_from(USERS),
        "quotas": st.builds(Quotas, key=CEILINGS, user=CEILINGS),
        "claim": st.sampled_from([None, None, "c"]),
    }
)
STEPS = st.one_of(
    st.tuples(st.just("submit"), SUBMIT),
    st.tuples(st.just("submit"), SUBMIT),
    st.tuples(st.just("claim"), st.fixed_dictionaries({"job": JOBS})),
    st.tuples(st.just("move"), st.fixed_dictionaries({"job": JOBS, "way": st.integers(0, 20)})),
    st.tuples(st.just("spend"), st.fixed_dictionaries({"job": JOBS, "tokens": TOKENS, "dollars": st.integers(0, 2)})),
    st.tuples(st.just("look"), st.fixed_dictionaries({"job": JOBS, "tokens": TOKENS})),
    st.tuples(st.just("expire"), st.fixed_dictionaries({"job": JOBS})),
    st.tuples(st.just("erase"), st.fixed_dictionaries({"job": JOBS})),
    st.tuples(st.just("erase_spending"), st.fixed_dictionaries({"user": st.sampled_from(USERS)})),
    st.tuples(st.just("next_day"), st.just({})),
)


@dataclass
class Job:
    """One job as the model knows it."""

    id: str
    key: str
    user: str
    quotas: Quotas
    status: Status = Status.QUEUED
    usage: Usage = field(default_factory=Usage)
    erased: bool = False
    gone: bool = False


@dataclass
class Model:
    """A list of jobs and of what was spent today, and the same jobs in a store."""

    world: World
    jobs: list[Job] = field(default_factory=list)
    claims: dict[str, Job] = field(default_factory=dict)
    tokens: Counter[tuple[QuotaOf, str]] = field(default_factory=Counter)
    dollars: Counter[tuple[QuotaOf, str]] = field(default_factory=Counter)

    def take(self, step: Step) -> None:
        name, given_ = step
        verb: Callable[..., None] = getattr(self, name)
        if "job" not in given_:
            verb(**given_)
        elif given_["job"] < len(self.jobs) and not self.jobs[given_["job"]].gone:
            verb(**{**given_, "job": self.jobs[given_["job"]]})

    def submit(self, key: str, user: str, quotas: Quotas, claim: str | None) -> None:
        record = queued_job(key_id=key, quotas=quotas, submission=submission(user=User(id=user)))
        asked = None if claim is None else IdempotencyClaim("shop", claim, "a" * 64, keep_seconds=100 * DAY_SECONDS)
        answer = self.world.store.submit(record, asked, due_at_ms=NOW_MS)
        earlier = self.claims.get(claim or "")
        reached = self._reached(key, user, quotas)
        if earlier is not None and not earlier.gone:
            assert answer == Replayed(earlier.id)
        elif reached is not None:
            assert isinstance(answer, QuotaExceeded)
            assert (answer.of, answer.limit, answer.used) == reached
        else:
            assert answer == Submitted(record.id)
            job = Job(record.id, key, user, quotas)
            self.jobs.append(job)
            if claim is not None:
                self.claims[claim] = job

    def _reached(self, key: str, user: str, quotas: Quotas, more: int = 0, *, jobs: bool = True) -> object:
        """The first ceiling that is: of the key before the person, jobs before tokens before money."""
        for of, name in ((QuotaOf.KEY, key), (QuotaOf.USER, user)):
            quota, used = quotas.of(of), self.used(of, name)
            for limit, value in (
                ("jobs_max", used.jobs if jobs else -1),
                ("tokens_per_day", used.tokens + more),
                ("cost_usd_per_day", used.cost_usd),
            ):
                if name and 0 < getattr(quota, limit) <= value:
                    return of, limit, value
        return None

    def used(self, of: QuotaOf, name: str) -> Used:
        jobs = sum(self._name(job, of) == name and job.status in UNSETTLED and not job.gone for job in self.jobs)
        return Used(jobs=jobs, tokens=self.tokens[of, name], cost_usd=self.dollars[of, name])

    def claim(self, job: Job) -> None:
        expect = frozenset({Status.QUEUED, Status.RUNNING})
        reply = self.world.store.claim(job.id, expect=expect, to=Status.RUNNING, worker="w", lease_ms=1)
        if isinstance(reply, Claimed):
            job.status = Status.RUNNING

    def move(self, job: Job, way: int) -> None:
        ways = sorted(TRANSITIONS[job.status])
        if ways and not job.erased:
            to = ways[way % len(ways)]
            self._change(Change(job.id, frozenset({job.status}), to, release=True))
            job.status = to

    def spend(self, job: Job, tokens: int, dollars: int) -> None:
        usage = job.usage.model_copy(
            update={
                "prompt_tokens": job.usage.prompt_tokens + tokens,
                "cost_usd": job.usage.cost_usd + dollars,
            }
        )
        self._change(Change(job.id, frozenset({job.status}), set={"usage": usage}))
        job.usage = usage
        if not job.erased:
            for of in QuotaOf:
                self.tokens[of, self._name(job, of)] += tokens
                self.dollars[of, self._name(job, of)] += dollars

    def look(self, job: Job, tokens: int) -> None:
        """What a worker is told which has spent so many tokens more than it wrote."""
        if job.erased:
            return
        record = self.record(job)
        usage = job.usage.model_copy(update={"completion_tokens": tokens})
        told = self.world.store.exceeded(record.model_copy(update={"usage": usage}))
        reached = self._reached(job.key, job.user, job.quotas, tokens, jobs=False)
        assert reached == (told and (told.of, told.limit, told.used))

    def expire(self, job: Job) -> None:
        if job.status is Status.SUCCESS:
            self._change(Change(job.id, frozenset({job.status}), retain_seconds=1))
            self.world.forward(2 * DAY_SECONDS)
            self.world.store.rebuild_due(grace_ms=0)
            job.gone = True
            self._no_spending()

    def erase(self, job: Job) -> None:
        if job.status in {Status.SUCCESS, Status.CANCELLED} and not job.erased:
            record = self.record(job)
            reply = self.world.store.erase(job.id, expect_version=record.version, at_ms=NOW_MS)
            assert isinstance(reply, Changed)
            job.erased = True

    def erase_spending(self, user: str) -> None:
        self.world.store.erase_user_totals(user)
        del self.tokens[QuotaOf.USER, user], self.dollars[QuotaOf.USER, user]

    def next_day(self) -> None:
        self.world.forward(DAY_SECONDS)
        self._no_spending()

    def _no_spending(self) -> None:
        self.tokens.clear()
        self.dollars.clear()

    def agrees(self) -> None:
        for of, names in ((QuotaOf.KEY, KEYS[1:]), (QuotaOf.USER, USERS)):
            for name in names:
                assert self.world.store.used(of, name) == self.used(of, name), (of, name)

    def record(self, job: Job) -> JobRecord:
        found = self.world.store.get(job.id)
        assert found is not None
        return found

    def _change(self, change: Change) -> None:
        assert isinstance(self.world.store.change(change), Changed)

    @staticmethod
    def _name(job: Job, of: QuotaOf) -> str:
        return job.key if of is QuotaOf.KEY else job.user


def played(world: World, steps: list[Step]) -> None:
    model = Model(world)
    days = 0
    began = world.store.server_now_ms() // DAY_MS
    for step in steps:
        model.take(step)
        model.agrees()
        days += {"next_day": 1, "expire": 2}.get(step[0], 0)
        # The model's days are whole: an example in which one begins by itself says nothing.
        assume(0 <= world.store.server_now_ms() // DAY_MS - began <= days)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(STEPS, max_size=30))
def test_what_is_used_in_memory_is_what_a_list_of_jobs_says(steps: list[Step]) -> None:
    played(MemoryWorld(), steps)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=25))
def test_what_is_used_on_a_server_is_what_a_list_of_jobs_says(redis_client: Redis, steps: list[Step]) -> None:
    played(RedisWorld(redis_client, f"t{secrets.token_hex(6)}"), steps)
