"""The rule engine: loads rules, and says of every effect of a plan what the rules say."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from vardy_worker.rules.compile import CompiledRules
from vardy_worker.rules.evaluation import Evaluation
from vardy_worker.rules.load import Draft, Problem, read_rules_file, rules_error
from vardy_worker.rules.smallest import Search
from vardy_worker.rules.vocabulary import Vocabulary
from vardy_worker.rules.warnings import find_warnings

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import PlanBody
    from vardy_worker.contracts.policy import PolicyResult, Rule, RuleSet, RuleWarning, SmallestChange
    from vardy_worker.ports import PlanFacts
    from vardy_worker.rules.language import Language

COMPILED_MAX = 8
"""Compiled rule sets kept: the active one, and those of plans and checks under way."""

_Key: TypeAlias = "tuple[tuple[Rule, ...], tuple[tuple[str, str, str], ...]]"


class PlanRules:
    """Implements `ports.RuleEngine` over any expression language. May be used by many threads."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._lock = threading.Lock()
        self._compiled: OrderedDict[_Key, CompiledRules] = OrderedDict()

    def load(self, text: str, catalogue: Catalogue) -> RuleSet:
        """The rules of a file, checked against the functions they are for.

        An empty catalogue refuses no name. Raises `RulesError` with every problem found;
        nothing of a file with a problem is used.
        """
        draft = read_rules_file(text)
        compiled = self._compile(draft.rules, catalogue)
        problems = [
            *draft.problems,
            *(_located(draft, each.rule, each.message, each.line) for each in compiled.problems()),
        ]
        if problems:
            raise rules_error(problems)
        return draft.rules

    def warnings(self, rules: RuleSet, catalogue: Catalogue) -> tuple[RuleWarning, ...]:
        """What is certain about rules that hold but do nothing, in the file's order."""
        return find_warnings(rules, self._compile(rules, catalogue))

    def evaluate(self, rules: RuleSet, plan: PlanBody, facts: PlanFacts) -> PolicyResult:
        """The verdict of every effect, and of the plan. Whatever cannot be evaluated blocks.

        Costs a few microseconds for each effect and rule; what is said of the plan as a
        whole is computed once.
        """
        compiled = self._compile(rules, facts.catalogue)
        return Evaluation(self._language, compiled, rules, plan, facts).result()

    def smallest_change(self, rules: RuleSet, plan: PlanBody, facts: PlanFacts) -> SmallestChange | None:
        """Which effects to leave out of a plan that needs an approval, so that the rest needs none.

        No part of them is enough. None where there are none, or none were found within the
        bounds of `smallest`.
        """
        compiled = self._compile(rules, facts.catalogue)
        return Search(
            lambda part: Evaluation(self._language, compiled, rules, part, facts), plan, rules.default
        ).result()

    def _compile(self, rules: RuleSet, catalogue: Catalogue) -> CompiledRules:
        key = (rules.rules, tuple((spec.name, spec.kind.value, spec.version) for spec in catalogue.functions))
        with self._lock:
            known = self._compiled.get(key)
            if known is not None:
                self._compiled.move_to_end(key)
                return known
        made = CompiledRules(rules.rules, self._language, Vocabulary(catalogue))
        with self._lock:
            self._compiled[key] = made
            if len(self._compiled) > COMPILED_MAX:
                self._compiled.popitem(last=False)
        return made


def _located(draft: Draft, rule: Rule, message: str, line: int) -> Problem:
    return Problem(draft.condition_line(rule, line), rule.name, message)
