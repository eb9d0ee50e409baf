"""Rules replayed over stored plans: what would change. Nothing is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.operations.jobs import plan_of
from vardy_api.rule_shapes import ReplayedPlan, ReplayedReason, RulesTestPage
from vardy_worker.active_rules import read_user_window
from vardy_worker.contracts.job import JobFilter
from vardy_worker.contracts.policy import PlanChange
from vardy_worker.contracts.user import Scope
from vardy_worker.contracts.view import instant, milliseconds
from vardy_worker.rules.replay import compare, differing, gone, renewed
from vardy_worker.verbs.shared import plan_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.operations.jobs import JobOperations
    from vardy_api.rule_shapes import RulesTest
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import JobPage, JobRecord
    from vardy_worker.contracts.policy import EffectVerdict, PolicyResult, RuleSet
    from vardy_worker.ports import Clock, JobStore, RuleEngine

SECONDS_MAX = 5.0
"""Then the page ends, and the next request goes on: no one request keeps a thread for all there is."""
STEP_JOBS = 5
"""Jobs between two looks at the clock."""


class RuleTestOperations:
    """The use case of those who change rules and want to know first what that does."""

    def __init__(
        self,
        store: JobStore,
        jobs: JobOperations,
        engine: RuleEngine,
        catalogue: CatalogueReader,
        clock: Clock,
        *,
        four_eyes: bool,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._engine = engine
        self._catalogue = catalogue
        self._clock = clock
        self._four_eyes = four_eyes

    def test(self, caller: Caller, request: RulesTest) -> RulesTestPage:
        """One page of the visible plans under the rules of the request; a short one where they take long.

        The plans are evaluated with the functions, and the totals of each user, as they are now.
        Raises `auth.scope`, `RulesError` with every problem, `job.not_found`, `plan.none`,
        `plan.erased` and `cursor.invalid`.
        """
        caller.need(Scope.READ, Scope.DECIDE, Scope.OPERATE, Scope.ADMIN)
        catalogue = self._catalogue.current()
        rules = self._engine.load(request.text, catalogue)
        tally = _Tally(rules)
        items: list[ReplayedPlan] = []
        following: str | None = None
        began = self._clock.monotonic()
        for found, following in self._find(caller, request):  # noqa: B007 - the last one is the answer's
            items += [self._replay(job, rules, catalogue, tally) for job in found]
            if self._clock.monotonic() - began >= SECONDS_MAX:
                break
        return RulesTestPage(
            digest=rules.digest, items=tuple(items), matched=tally.matched, failed=tally.failed, next=following
        )

    def _find(self, caller: Caller, request: RulesTest) -> Iterator[tuple[Sequence[JobRecord], str | None]]:
        """The plans in steps, each with the cursor behind it."""
        if request.job is not None:
            job = self._jobs.find(caller, request.job)
            plan_of(job)
            yield (job,), None
            return
        left, following = request.limit, request.cursor
        while left:
            page = self._jobs.list(caller, _filter(request), cursor=following, limit=min(left, STEP_JOBS))
            left, following = left - len(page.items), page.next
            yield self._planned(page), following
            if following is None:
                return

    def _planned(self, page: JobPage) -> Sequence[JobRecord]:
        """The records of a page's jobs that made a plan. Those that are gone by now made none."""
        records = (self._store.get(item.id) for item in page.items if item.effects_total)
        return [record for record in records if record is not None]

    def _replay(self, job: JobRecord, rules: RuleSet, catalogue: Catalogue, tally: _Tally) -> ReplayedPlan:
        blank = ReplayedPlan(
            job=job.id,
            status=job.status,
            user=job.submission.user.id,
            created_at=instant(job.created_at_ms),
            digest=job.digest,
            change=PlanChange.UNKNOWN,
        )
        if job.plan is None or job.policy is None or job.is_erased:
            return blank.model_copy(update={"note": "Its plan is not kept any more."})
        body, before = job.plan.body(), job.policy
        known = blank.model_copy(
            update={"effects": len(body.effects), "before": before.verdict, "approvals_before": before.approvals}
        )
        missing = gone(body, catalogue)
        if missing:
            return known.model_copy(update={"note": f"No worker has {_named(missing)} any more."})
        window = read_user_window(self._store, rules, job)
        after = self._engine.evaluate(rules, body, plan_facts(job, catalogue, window, four_eyes=self._four_eyes))
        tally.add(after)
        changed = renewed(body, catalogue)
        return known.model_copy(
            update={
                "change": compare(before, after),
                "after": after.verdict,
                "approvals_after": after.approvals,
                "reasons": _reasons(before, after),
                "note": f"Since the plan was made, {_named(changed)} changed." if changed else "",
            }
        )


class _Tally:
    """In how many plans each rule matched, and in how many it failed."""

    def __init__(self, rules: RuleSet) -> None:
        self.matched = dict.fromkeys((rule.name for rule in rules.rules), 0)
        self.failed = dict(self.matched)

    def add(self, result: PolicyResult) -> None:
        for rule in {name for effect in result.effects for name in effect.rules}:
            self.matched[rule] += 1
        for rule in {effect.failed_rule for effect in result.effects} - {""}:
            self.failed[rule] += 1


def _reasons(before: PolicyResult, after: PolicyResult) -> tuple[ReplayedReason, ...]:
    """Each sentence once, with the effects that it is said of."""
    said: dict[tuple[object, ...], list[tuple[EffectVerdict, EffectVerdict]]] = {}
    for earlier, later in differing(before, after):
        key = (earlier.verdict, later.verdict, later.rules, later.failed_rule, later.message)
        said.setdefault(key, []).append((earlier, later))
    return tuple(
        ReplayedReason(
            effects=tuple(later.seq for _, later in pairs),
            before=pairs[0][0].verdict,
            after=pairs[0][1].verdict,
            rules=pairs[0][1].rules,
            failed_rule=pairs[0][1].failed_rule,
            message=pairs[0][1].message,
        )
        for pairs in said.values()
    )


def _filter(request: RulesTest) -> JobFilter:
    return JobFilter(
        status=request.status,
        kind=request.kind,
        user=request.user,
        recipe=request.recipe,
        created_after_ms=None if request.created_after is None else milliseconds(request.created_after),
    )


def _named(functions: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in functions)
