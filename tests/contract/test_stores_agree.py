"""Whatever is done to them, the memory store and the real one answer alike."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.support.audit import note
from tests.support.factories import queued_job, submission
from tests.support.worlds import DAY_MS, MIDNIGHT_MS, MemoryWorld, RedisWorld
from vardy_worker.contracts.audit import AuditFilter
from vardy_worker.contracts.audit_chain import START
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.job import JobFilter, JobRecord, Usage
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.quota import Quota, QuotaExceeded, QuotaOf, Quotas
from vardy_worker.contracts.status import Status, can_move
from vardy_worker.contracts.user import User
from vardy_worker.ports import KEEP, Change, Claimed, IdempotencyClaim

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

    from tests.support.worlds import World
    from vardy_worker.ports import JobStore

JOBS = st.integers(0, 2)
STATUSES = st.sampled_from(list(Status))
LEASE_MS = 3_600_000

Step = tuple[str, dict[str, Any]]
SUBMIT = st.fixed_dictionaries({"job": JOBS, "key": st.sampled_from([None, "k1", "k2"]), "body": st.sampled_from("ab")})
CLAIM = st.fixed_dictionaries({"job": JOBS, "status": st.sampled_from([Status.RUNNING, Status.COMMITTING])})
CHANGE = st.fixed_dictionaries(
    {
        "job": JOBS,
        "expect": st.sets(STATUSES, min_size=1, max_size=13),
        "to": st.none() | STATUSES,
        "fence": st.none() | st.integers(0, 3),
        "version": st.none() | st.integers(1, 6),
        "set": st.fixed_dictionaries(
            {},
            optional={
                "output": st.integers() | st.text(),
                "error": st.just(ErrorInfo(code="c", message="m")),
                "usage": st.builds(Usage, prompt_tokens=st.integers(0, 50), cost_usd=st.sampled_from([0, 0.1, 1.5])),
            },
        ),
        "effects": st.lists(st.integers(0, 11), max_size=3),
        "events": st.integers(0, 2),
        "due": st.sampled_from([KEEP, None, 0]),
        "release": st.booleans(),
        "retain": st.sampled_from([None, None, 0, 100]),
        "unless_cancel_requested": st.booleans(),
        "notes": st.integers(0, 2),
    }
)
HOLD = st.fixed_dictionaries({"job": JOBS, "fence": st.integers(0, 3)})
ERASE = st.fixed_dictionaries({"job": JOBS, "version": st.none() | st.integers(1, 6)})
ONE_JOB = st.fixed_dictionaries({"job": JOBS})
TIME = st.fixed_dictionaries({"seconds": st.sampled_from([10, 101, 4000])})
# Between any two sums of the times above, so that how long a step takes decides nothing.
TRIM = st.fixed_dictionaries({"seconds": st.sampled_from([5, 95, 3000])})
STEPS = st.one_of(
    st.tuples(st.just("submit"), SUBMIT),
    st.tuples(st.just("claim"), CLAIM),
    st.tuples(st.just("change"), CHANGE),
    st.tuples(st.just("change"), CHANGE),
    st.tuples(st.just("heartbeat"), HOLD),
    st.tuples(st.just("cancel"), ONE_JOB),
    st.tuples(st.just("end"), ONE_JOB),
    st.tuples(st.just("erase"), ERASE),
    st.tuples(st.just("due"), st.just({})),
    st.tuples(st.just("rebuild"), st.just({})),
    st.tuples(st.just("forward"), TIME),
    st.tuples(st.just("trim"), TRIM),
)


@dataclass
class Side:
    """One store, driven by steps; everything it says is told without absolute times."""

    world: World
    jobs: list[JobRecord] = field(default_factory=list)

    @property
    def store(self) -> JobStore:
        return self.world.store

    def take(self, step: Step) -> object:
        name, given_ = step
        verbs: dict[str, Callable[..., object]] = {
            "submit": self.submit,
            "claim": self.claim,
            "change": self.change,
            "heartbeat": lambda job, fence: self.store.heartbeat(self.jobs[job].id, fence=fence, lease_ms=LEASE_MS),
            "cancel": lambda job: self.store.request_cancel(self.jobs[job].id, by="lea", audit=[note(at_ms=1)]),
            "end": self.end,
            "erase": self.erase,
            "due": lambda: sorted(due.job_id for due in self.store.take_due(limit=2**31, hide_ms=0)),
            "rebuild": lambda: self.store.rebuild_due(grace_ms=0),
            "forward": self.world.forward,
            "trim": lambda seconds: self.world.trail.trim(older_than_ms=seconds * 1000, limit=3),
        }
        return verbs[name](**given_)

    def submit(self, job: int, key: str | None, body: str) -> object:
        claim = IdempotencyClaim("shop", key, body * 64, keep_seconds=100) if key else None
        answer = self.store.submit(self.jobs[job], claim, due_at_ms=0, audit=[note(at_ms=1)])
        return answer.model_dump(exclude={"retry_after_seconds"}) if isinstance(answer, QuotaExceeded) else answer

    def claim(self, job: int, status: Status) -> object:
        expect = frozenset({status, Status.QUEUED} if status is Status.RUNNING else {status})
        answer = self.store.claim(self.jobs[job].id, expect=expect, to=status, worker="w", lease_ms=LEASE_MS)
        return _timeless(answer.job) if isinstance(answer, Claimed) else answer

    def change(self, job: int, to: Status | None, expect: set[Status], **rest: Any) -> object:
        allowed = frozenset(status for status in expect if to is None or can_move(status, to))
        if not allowed:
            return None
        return self.store.change(
            Change(
                self.jobs[job].id,
                allowed,
                to,
                expect_fence=rest["fence"],
                expect_version=rest["version"],
                set=rest["set"],
                effects=[EffectRecord(seq=seq, state=EffectState.STARTED) for seq in rest["effects"]],
                events=[Event(type="effect", data={"n": n}, at_ms=1) for n in range(rest["events"])],
                due_at_ms=rest["due"],
                release=rest["release"],
                retain_seconds=rest["retain"],
                unless_cancel_requested=rest["unless_cancel_requested"],
                audit=[note(at_ms=1)] * rest["notes"],
            )
        )

    def end(self, job: int) -> object:
        """A run that ends well: chance alone hardly leads a job to where it can be erased."""
        begun = frozenset({Status.QUEUED, Status.RUNNING})
        told = Event(type="status", data={"status": "SUCCESS", "by": "lea"}, at_ms=1)
        ended = {"output": {"rows": [1]}, "program": Program(source="x", sha256="0" * 64)}
        change = Change(self.jobs[job].id, begun, Status.SUCCESS, set=ended, events=[told])
        return self.store.change(change)

    def erase(self, job: int, version: int | None) -> object:
        """Without a version: the present one."""
        job_id = self.jobs[job].id
        present = self.store.version(job_id)
        expect = version or (present[0] if present else 1)
        try:
            return self.store.erase(job_id, expect_version=expect, at_ms=1, audit=[note(at_ms=1)])
        except ValueError as error:
            return str(error)

    def everything(self) -> object:
        pages = [
            self.store.list_jobs(where, cursor=None, limit=10).items
            for where in (
                JobFilter(),
                JobFilter(user="u1"),
                JobFilter(owner="shop", status=(Status.QUEUED, Status.RUNNING, Status.SUCCESS)),
                *(JobFilter(status=(status,)) for status in Status),
            )
        ]
        trail = self.world.trail
        newest = trail.page(AuditFilter(), cursor=None, limit=50).items
        return [
            *pages,
            [self.store.used(QuotaOf.KEY, "key_1"), *(self.store.used(QuotaOf.USER, user) for user in ("u0", "u1"))],
            # Hashes cover no salt here and no time but the note's, so that they are the same.
            newest,
            [line.line for line in trail.log(after="", limit=50).lines],
            [(chain, trail.chain(chain, after=START, limit=50)) for chain in trail.chains(after="", limit=50)],
            *(
                (
                    _timeless(self.store.get(job.id)),
                    self.store.version(job.id),
                    [(event.id, event.type, event.data) for event in self.store.events(job.id)],
                )
                for job in self.jobs
            ),
        ]


def _timeless(record: JobRecord | None) -> object:
    """The record, and of its times only whether they are set: the two clocks differ."""
    if record is None:
        return None
    times = {
        "lease_until_ms": int(record.lease_until_ms != 0),
        "started_at_ms": int(record.started_at_ms is not None),
    }
    return record.model_copy(update=times)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    # The client is stateless, and every example has a namespace of its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(STEPS, max_size=30))
def test_both_stores_answer_every_step_alike(redis_client: Redis, steps: list[Step]) -> None:
    jobs = [
        queued_job(
            submission=submission(user=User(id=f"u{number % 2}")),
            created_at_ms=1000 + number,
            key_id="key_1",
            quotas=Quotas(key=Quota(jobs_max=2, tokens_per_day=80), user=Quota(cost_usd_per_day=2)),
        )
        for number in range(3)
    ]
    memory = Side(MemoryWorld(MIDNIGHT_MS), jobs)
    redis = Side(RedisWorld(redis_client, f"t{secrets.token_hex(6)}"), jobs)
    today = redis.store.server_now_ms() // DAY_MS
    for step in [("submit", {"job": 0, "key": None, "body": "a"}), *steps]:
        assert memory.take(step) == redis.take(step), step
        both = memory.everything(), redis.everything()
        # A day that begins while this runs says nothing.
        assume(redis.store.server_now_ms() // DAY_MS == today)
        assert both[0] == both[1], step
