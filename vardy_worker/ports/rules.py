"""The rule engine, and what it looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import PlanBody
    from vardy_worker.contracts.policy import PolicyResult, RuleSet
    from vardy_worker.contracts.user import User


class RuleEngine(Protocol):
    """Evaluates rules over a plan."""

    def load(self, text: str, catalogue: Catalogue) -> RuleSet:
        """Parses and type-checks a rules file; raises `RulesError` with line and reason."""

    def evaluate(self, rules: RuleSet, plan: PlanBody, facts: PlanFacts) -> PolicyResult:
        """The verdict of each effect; whatever cannot be evaluated blocks."""


@dataclass(frozen=True, slots=True)
class UserWindow:
    """What the requester's earlier plans of a time window did, without the plan at hand.

    `counts` are effects by function, `sums` totals by function and numeric argument; what
    is not named is zero.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What rules may look at beside the plan."""

    user: User
    params: JsonObject
    mode: str
    catalogue: Catalogue
    recipe_name: str = ""
    recipe_within_envelope: bool = False
    user_window: UserWindow = field(default_factory=UserWindow)
