"""The rule engine, and what it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.envelope import Envelope
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import PlanBody
    from vardy_worker.contracts.policy import PolicyResult, RuleSet, RuleWarning, SmallestChange
    from vardy_worker.contracts.totals import EffectTotals
    from vardy_worker.contracts.user import User


class RuleEngine(Protocol):
    """Evaluates rules over a plan."""

    def load(self, text: str, catalogue: Catalogue) -> RuleSet:
        """Parses and type-checks a rules file; raises `RulesError` with line and reason."""

    def warnings(self, rules: RuleSet, catalogue: Catalogue) -> tuple[RuleWarning, ...]:
        """What is certain about rules that hold but do nothing."""

    def evaluate(self, rules: RuleSet, plan: PlanBody, facts: PlanFacts) -> PolicyResult:
        """The verdict of each effect; whatever cannot be evaluated blocks."""

    def smallest_change(self, rules: RuleSet, plan: PlanBody, facts: PlanFacts) -> SmallestChange | None:
        """For a plan that needs an approval: what to leave out, so that the rest needs none."""


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What rules may look at beside the plan."""

    user: User
    params: JsonObject
    mode: str
    catalogue: Catalogue
    recipe_name: str = ""
    envelope: Envelope | None = None
    """What a plan, or a part of it, must stay within; None: nothing is within it."""
    user_window: EffectTotals | None = None
    """What the requester's other plans of the rules' window did; None: not known, so that reading it blocks."""
