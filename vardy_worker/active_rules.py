"""The rules that are active now, as the store has them, parsed once per text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.policy import Verdict
from vardy_worker.documents import read_rules
from vardy_worker.verbs.shared import plan_facts

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.plan import PlanBody
    from vardy_worker.contracts.policy import PolicyResult, RuleSet
    from vardy_worker.contracts.totals import EffectTotals
    from vardy_worker.ports import Documents, JobStore, PlanFacts, RuleEngine


class ActiveRules:
    """Reads the active version at every use, so that a new one holds at once everywhere.

    Whether rules fit the functions was checked when they were applied. Where they no longer
    do, only the effects of the rules concerned are blocked, so they are parsed here without
    a catalogue.
    """

    def __init__(self, documents: Documents, engine: RuleEngine) -> None:
        self._documents = documents
        self._engine = engine
        self._cached: tuple[str, RuleSet] | None = None

    def current(self) -> RuleSet:
        """The active rules. Raises `RulesError` when the stored text cannot be used at all."""
        active = read_rules(self._documents)
        cached = self._cached
        # By the text: after a failover, or from a backup, another one may have the same version.
        if cached is not None and cached[0] == active.text:
            return cached[1]
        rules = self._engine.load(active.text, Catalogue())
        self._cached = (active.text, rules)
        return rules

    def evaluate(self, plan: PlanBody, facts: PlanFacts, *, rules: RuleSet | None = None) -> PolicyResult:
        """The verdict of a plan under the active rules, or under those that were read before."""
        return self._engine.evaluate(rules or self.current(), plan, facts)

    def advised(self, policy: PolicyResult, plan: PlanBody, facts: PlanFacts, *, rules: RuleSet) -> PolicyResult:
        """The result for a plan that is going to wait for people, with how the approval could be avoided.

        It is kept with the verdict, so that everybody who looks at the plan is told the same, of the
        rules that the verdict is from.
        """
        if policy.verdict is not Verdict.APPROVE:
            return policy
        return policy.model_copy(update={"avoidable": self._engine.smallest_change(rules, plan, facts)})


def read_user_window(store: JobStore, rules: RuleSet, job: JobRecord) -> EffectTotals | None:
    """What the requester's other plans did in the rules' window; None, without a look, where no rule asks."""
    if not rules.reads_user_window:
        return None
    user = job.submission.user.id
    return store.user_totals(user, window_hours=rules.user_window_hours, without=job.counted)


def evaluate_plan(
    job: JobRecord, *, rules: ActiveRules, store: JobStore, catalogue: Catalogue, four_eyes: bool
) -> PolicyResult:
    """What the active rules say of a stored plan, as for a commit that is asked for now.

    Raises `RulesError` when the active rules cannot be used, and `ValueError` for a job without a plan.
    """
    if job.plan is None:
        msg = f"job {job.id} has no plan to judge"
        raise ValueError(msg)
    active = rules.current()
    window = read_user_window(store, active, job)
    body, facts = job.plan.body(), plan_facts(job, catalogue, window, four_eyes=four_eyes)
    return rules.advised(rules.evaluate(body, facts, rules=active), body, facts, rules=active)
