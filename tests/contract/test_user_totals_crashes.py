"""A worker dies at each step of counting and taking back: the totals stay exact, and of two plans one is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import ANA
from tests.support.target import Target, target_functions
from tests.support.worker import WorkerParts
from vardy_worker import FunctionError
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.leases import LeaseKeeper

if TYPE_CHECKING:
    from tests.support.worlds import World
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.plan import Effect

ONE_A_DAY = """
default: allow
rules:
  - name: one-a-day
    on: [pay]
    when: user_window.counts.pay + plan.counts.pay > 1
    then: block
"""
WRITES = frozenset({"claim", "count_plan", "change"})
LEASE_SECONDS = 60


class DyingStore:
    """A store whose worker dies just before or just after its n-th write; without a number, it only counts them."""

    def __init__(self, store: Any, *, at: int | None = None, after: bool = False) -> None:
        self._store = store
        self._at = at
        self._after = after
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in WRITES:
            return method

        def write(*args: Any, **rest: Any) -> Any:
            number = self.writes
            self.writes += 1
            if number == self._at and not self._after:
                raise SystemExit
            reply = method(*args, **rest)
            if number == self._at:
                raise SystemExit
            return reply

        return write


class Company:
    """A worker's parts over a store of one of the worlds, and workers that die."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.target = Target()
        self.parts = WorkerParts(target_functions(self.target), rules=ONE_A_DAY, execute_lease_seconds=LEASE_SECONDS)
        self.parts.store = world.store
        self.parts.leases = LeaseKeeper(world.store, self.parts.clock)
        self.parts.host.start()

    def close(self) -> None:
        self.parts.leases.stop()
        self.parts.host.stop()

    def paying(self, *more: Effect) -> JobRecord:
        return self.parts.committing(self.parts.effect(0, "pay", amount=5), *more)

    def commit(self, job: JobRecord) -> JobRecord:
        self.parts.committer("w2").commit(job.id)
        return self.parts.job(job.id)

    def die(self, job: JobRecord, *, at: int, after: bool) -> None:
        """A worker dies while it commits, and its lease runs out."""
        sound = self.parts.store
        self.parts.store = DyingStore(sound, at=at, after=after)
        try:
            with pytest.raises(SystemExit):
                self.parts.committer("w1").commit(job.id)
        finally:
            self.parts.store = sound
        self.world.forward(LEASE_SECONDS + 1)
        self.parts.clock.forward(LEASE_SECONDS + 1)

    @property
    def totals(self) -> EffectTotals:
        return self.parts.store.user_totals(ANA.id, window_hours=24)


@pytest.fixture
def company(world: World) -> Iterator[Company]:
    made = Company(world)
    yield made
    made.close()


# One commit with one effect writes: claim, count, check, start, end.
ALL_WRITES = pytest.mark.parametrize("at", range(5))
BOTH_SIDES = pytest.mark.parametrize("after", [False, True])


def test_a_commit_with_one_effect_writes_five_times(company: Company) -> None:
    counting = DyingStore(company.parts.store)
    company.parts.store = counting
    assert company.commit(company.paying()).status is Status.SUCCESS
    submitted = 2
    assert counting.writes - submitted == 5


@ALL_WRITES
@BOTH_SIDES
def test_a_commit_that_is_resumed_after_a_crash_counts_once(company: Company, at: int, *, after: bool) -> None:
    job = company.paying()
    company.die(job, at=at, after=after)
    assert company.commit(job).status is Status.SUCCESS
    assert company.totals == EffectTotals(counts={"pay": 1}, sums={"pay": {"amount": Decimal(5)}})
    assert len(set(company.target.keys("pay"))) == 1


@ALL_WRITES
@BOTH_SIDES
def test_of_two_plans_one_is_allowed_wherever_the_first_ones_worker_dies(
    company: Company, at: int, *, after: bool
) -> None:
    first, second = company.paying(), company.paying()
    company.die(first, at=at, after=after)
    ended = [company.commit(job).status for job in (second, first)]
    assert sorted(ended) == [Status.POLICY_BLOCKED, Status.SUCCESS]
    counted_first = (at, after) >= (1, True)
    assert ended[1] is (Status.SUCCESS if counted_first else Status.POLICY_BLOCKED)
    assert company.totals == EffectTotals(counts={"pay": 1}, sums={"pay": {"amount": Decimal(5)}})
    assert len(set(company.target.keys("pay"))) == 1


@pytest.mark.parametrize("at", range(3))
@BOTH_SIDES
def test_a_refused_commit_is_taken_back_once_wherever_its_worker_dies(
    company: Company, at: int, *, after: bool
) -> None:
    company.commit(company.paying())
    job = company.paying()
    company.die(job, at=at, after=after)
    assert company.commit(job).status is Status.POLICY_BLOCKED
    company.commit(company.paying())
    assert company.totals.counts == {"pay": 1}


@ALL_WRITES
@BOTH_SIDES
def test_a_failed_commit_is_taken_back_once_wherever_its_worker_dies(company: Company, at: int, *, after: bool) -> None:
    job = company.parts.committing(company.parts.effect(0, "ring", who=1))
    company.target.failing["ring"] = [FunctionError("Nobody answers.")]
    company.die(job, at=at, after=after)
    ended = company.commit(job).status
    # Whether the call of a lost worker was applied is not known, so it stays counted.
    started = (3, True) <= (at, after) < (4, True)
    assert ended is (Status.PARTIAL if started else Status.FUNCTION_ERROR)
    assert company.totals.counts == ({"ring": 1} if started else {})


@pytest.mark.parametrize("at", range(6))
@BOTH_SIDES
def test_a_reference_gets_its_value_once_wherever_the_worker_dies(company: Company, at: int, *, after: bool) -> None:
    company.parts.apply_rules("default: allow\n")
    job = company.paying(company.parts.effect(1, "pay", refs=(Ref(at="/amount", effect=0, path="/id"),)))
    company.die(job, at=at, after=after)
    assert company.commit(job).status is Status.SUCCESS
    assert company.totals == EffectTotals(counts={"pay": 2}, sums={"pay": {"amount": Decimal(55)}})
