"""Whatever happens to plans, a user's totals are what a list of all plans says they are."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.support.factories import ANA, submission
from tests.support.worlds import MemoryWorld, RedisWorld, job_in
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import HOUR_MS, WINDOW_HOURS_MAX, EffectTotals
from vardy_worker.ports import Change, Changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

    from tests.support.worlds import World
    from vardy_worker.contracts.job import JobRecord

COMMITTING = frozenset({Status.COMMITTING})
USERS = st.sampled_from(["ana", "leo"])
PLANS = st.integers(0, 5)
AMOUNTS = st.sampled_from([None, "1", "0.1", "12345678901234567890.12"])
HOURS = st.sampled_from([1, 2, 24, 30, WINDOW_HOURS_MAX])

Step = tuple[str, dict[str, Any]]
STEPS = st.one_of(
    st.tuples(st.just("begin"), st.fixed_dictionaries({"user": USERS, "amount": AMOUNTS, "hours": HOURS})),
    st.tuples(st.just("begin"), st.fixed_dictionaries({"user": USERS, "amount": AMOUNTS, "hours": HOURS})),
    st.tuples(st.just("begin_again"), st.fixed_dictionaries({"plan": PLANS, "hours": HOURS})),
    st.tuples(st.just("check"), st.fixed_dictionaries({"plan": PLANS})),
    st.tuples(st.just("take_back"), st.fixed_dictionaries({"plan": PLANS})),
    st.tuples(st.just("stop_half_way"), st.fixed_dictionaries({"plan": PLANS, "amount": AMOUNTS})),
    st.tuples(st.just("requeue"), st.fixed_dictionaries({"plan": PLANS, "hours": HOURS})),
    st.tuples(st.just("forward"), st.fixed_dictionaries({"hours": st.sampled_from([1, 23, 24, 700, 744, 800])})),
    st.tuples(st.just("erase"), st.fixed_dictionaries({"user": USERS})),
)


def totals_of(amount: str | None) -> EffectTotals:
    """Of a plan with one payment; None: its amount is a reference."""
    if amount is None:
        return EffectTotals(counts={"pay": 1}, unknown={"pay": {"amount": 1}})
    return EffectTotals(counts={"pay": 1}, sums={"pay": {"amount": Decimal(amount)}})


@dataclass
class Plan:
    """One plan as the model knows it. `hour` is None while it is not counted."""

    id: str
    user: str
    totals: EffectTotals
    hour: int | None
    before: EffectTotals
    window_hours: int


@dataclass
class Model:
    """A list of plans, and the same plans in a store."""

    world: World
    hour: int = 0
    plans: list[Plan] = field(default_factory=list)

    def take(self, step: Step) -> None:
        name, given_ = step
        verb: Callable[..., None] = getattr(self, name)
        if "plan" in given_:
            number = given_["plan"]
            if number >= len(self.plans):
                return
            verb(**{**given_, "plan": self.plans[number]})
        else:
            verb(**given_)

    def begin(self, user: str, amount: str | None, hours: int) -> None:
        who = ANA.model_copy(update={"id": user})
        job = job_in(self.world.store, Status.COMMITTING, submission=submission(user=who))
        plan = Plan(job.id, user, totals_of(amount), None, EffectTotals(), 0)
        self._count(plan, hours)
        self.plans.append(plan)

    def begin_again(self, plan: Plan, hours: int) -> None:
        """The commit begins once more, after a crash or, where it was checked, by an operator's wish."""
        if self.job(plan).status is Status.COMMITTING:
            self._count(plan, hours)

    def _count(self, plan: Plan, hours: int) -> None:
        job = self.job(plan)
        resumed = job.counted is not None and job.counted.before is not None
        same_window = resumed and plan.window_hours == hours
        before = plan.before if same_window else self.others(plan.user, hours, plan)
        counted = self.world.store.count_plan(job, fence=job.fence, totals=plan.totals, window_hours=hours)
        assert counted is not None
        assert (counted.before, counted.totals) == (before, plan.totals)
        if not resumed:
            plan.hour, plan.before, plan.window_hours = self.hour, before, hours

    def check(self, plan: Plan) -> None:
        """The rules let the commit go on."""
        job = self.job(plan)
        if job.status is Status.COMMITTING and job.counted is not None:
            note = job.counted.model_copy(update={"before": None})
            self._change(Change(job.id, COMMITTING, set={"counted": note}))

    def take_back(self, plan: Plan) -> None:
        job = self.job(plan)
        if job.status is Status.COMMITTING and job.counted is not None:
            correction = job.counted.correction(plan.user, EffectTotals())
            self._change(
                Change(job.id, COMMITTING, Status.FUNCTION_ERROR, set={"counted": None}, correction=correction)
            )
            plan.hour = None

    def stop_half_way(self, plan: Plan, amount: str | None) -> None:
        """Part of it is applied, and by now it counts for this amount."""
        job = self.job(plan)
        if job.status is Status.COMMITTING and job.counted is not None:
            plan.totals = totals_of(amount)
            note = job.counted.model_copy(update={"totals": plan.totals, "before": None})
            correction = job.counted.correction(plan.user, plan.totals)
            self._change(Change(job.id, COMMITTING, Status.PARTIAL, set={"counted": note}, correction=correction))

    def requeue(self, plan: Plan, hours: int) -> None:
        job = self.job(plan)
        if job.status in {Status.PARTIAL, Status.FUNCTION_ERROR}:
            self._change(Change(job.id, frozenset({job.status}), Status.COMMITTING))
            self._count(plan, hours)

    def forward(self, hours: int) -> None:
        self.world.forward(hours * 3600)
        self.hour += hours

    def erase(self, user: str) -> None:
        self.world.store.erase_user_totals(user)
        for plan in self.plans:
            if plan.user == user:
                plan.hour = None

    def others(self, user: str, hours: int, but: Plan | None = None) -> EffectTotals:
        """What the model says that a window shows."""
        total = EffectTotals()
        for plan in self.plans:
            if plan.user == user and plan is not but and plan.hour is not None and plan.hour >= self.hour - hours:
                total = total.plus(plan.totals)
        return total

    def agrees(self) -> None:
        for user in ("ana", "leo"):
            for hours in (1, 24, WINDOW_HOURS_MAX):
                assert self.world.store.user_totals(user, window_hours=hours) == self.others(user, hours)
        for plan in self.plans:
            without = self.job(plan).counted
            shown = self.world.store.user_totals(plan.user, window_hours=24, without=without)
            assert shown == self.others(plan.user, 24, plan)

    def job(self, plan: Plan) -> JobRecord:
        found = self.world.store.get(plan.id)
        assert found is not None
        return found

    def _change(self, change: Change) -> None:
        assert isinstance(self.world.store.change(change), Changed)


def played(world: World, steps: list[Step]) -> None:
    model = Model(world)
    began = world.store.server_now_ms() // HOUR_MS
    for step in steps:
        model.take(step)
        # The model's hours are whole: an example in which one begins by itself says nothing.
        assume(world.store.server_now_ms() // HOUR_MS - began in {0, model.hour})
        model.agrees()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(STEPS, max_size=25))
def test_totals_in_memory_are_what_a_list_of_plans_says(steps: list[Step]) -> None:
    played(MemoryWorld(), steps)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=12))
def test_totals_on_a_server_are_what_a_list_of_plans_says(redis_client: Redis, steps: list[Step]) -> None:
    played(RedisWorld(redis_client, f"t{secrets.token_hex(6)}"), steps)
