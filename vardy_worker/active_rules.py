"""The rules that are active now, as the store has them, parsed once per version."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from vardy_worker.documents import read_rules

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import PlanBody
    from vardy_worker.contracts.policy import PolicyResult, RuleSet
    from vardy_worker.ports import Documents, PlanFacts, RuleEngine


class ActiveRules:
    """Reads the active version at every use, so that a new one holds at once everywhere."""

    def __init__(self, documents: Documents, engine: RuleEngine) -> None:
        self._documents = documents
        self.engine = engine
        self._lock = threading.Lock()
        self._cached: tuple[int, Catalogue, RuleSet] | None = None

    def current(self, catalogue: Catalogue) -> RuleSet:
        """The active rules. Raises `RulesError` when they do not fit the functions any more."""
        active = read_rules(self._documents)
        with self._lock:
            cached = self._cached
        if cached is not None and cached[0] == active.version and cached[1] is catalogue:
            return cached[2]
        rules = self.engine.load(active.text, catalogue)
        with self._lock:
            self._cached = (active.version, catalogue, rules)
        return rules

    def evaluate(self, plan: PlanBody, facts: PlanFacts) -> PolicyResult:
        """The verdict of a plan under the active rules. Raises `RulesError` as `current` does."""
        return self.engine.evaluate(self.current(facts.catalogue), plan, facts)
