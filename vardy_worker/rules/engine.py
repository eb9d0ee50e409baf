"""The rule engine: loads rules, and says of every effect of a plan what the rules say."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from vardy_worker.contracts.policy import ApprovalNeed, EffectVerdict, PolicyResult, Verdict, strictest
from vardy_worker.rules.compile import CompiledRules
from vardy_worker.rules.language import Failed, Unbound
from vardy_worker.rules.load import Draft, Problem, read_rules_file, rules_error
from vardy_worker.rules.values import Bound, EffectValues, PlanValues
from vardy_worker.rules.vocabulary import Vocabulary

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import Effect, PlanBody
    from vardy_worker.contracts.policy import Rule, RuleSet
    from vardy_worker.ports import PlanFacts
    from vardy_worker.rules.compile import Check, FunctionRules, Needs
    from vardy_worker.rules.language import Language, Program, Scope

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

    def evaluate(self, rules: RuleSet, plan: PlanBody, facts: PlanFacts) -> PolicyResult:
        """The verdict of every effect, and of the plan. Whatever cannot be evaluated blocks.

        Costs a few microseconds for each effect and rule; what is said of the plan as a
        whole is computed once.
        """
        evaluation = _Evaluation(self._language, self._compile(rules, facts.catalogue), rules, plan, facts)
        return evaluation.result()

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


class _Evaluation:
    """One plan under one rule set."""

    def __init__(
        self, language: Language, compiled: CompiledRules, rules: RuleSet, plan: PlanBody, facts: PlanFacts
    ) -> None:
        self._language = language
        self._compiled = compiled
        self._rules = rules
        self._plan = plan
        self._values = PlanValues(plan, facts, compiled.vocabulary)
        self._of_function: dict[str, Bound] = {}
        self._of_plan: dict[int, bool | str] = {}
        self._asked: dict[int, Rule] = {}
        self._default_asked = False

    def result(self) -> PolicyResult:
        verdicts = tuple(self._effect(effect) for effect in self._plan.effects)
        needs = [_need(rule) for _, rule in sorted(self._asked.items())]
        if self._default_asked:
            needs.append(ApprovalNeed(rule="", message="No rule matches, and the default asks for approval."))
        return PolicyResult(
            verdict=strictest([Verdict.ALLOW, *(each.verdict for each in verdicts)]),
            rules_digest=self._rules.digest,
            effects=verdicts,
            approvals=tuple(needs),
        )

    def _effect(self, effect: Effect) -> EffectVerdict:
        rules = self._compiled.of(effect.function)
        scopes = _Scopes(
            self._language,
            self._plan_values(effect.function, rules),
            EffectValues(effect, self._compiled.vocabulary),
            rules.needs,
        )
        matched: list[Check] = []
        failed: list[tuple[Rule, str]] = []
        for check in rules.checks:
            outcome = self._outcome(check, scopes)
            if outcome is True:
                matched.append(check)
            elif outcome is not False:
                failed.append((check.rule, outcome))
        matched.sort(key=lambda check: (-check.rule.then.strictness, check.index))
        return self._verdict(effect, matched, failed)

    def _outcome(self, check: Check, scopes: _Scopes) -> bool | str:
        """Whether the rule matches, or why that cannot be said."""
        if check.program is None:
            return check.failure
        if not check.once:
            return _run(check.program, check.needs, scopes)
        if check.index not in self._of_plan:
            self._of_plan[check.index] = _run(check.program, check.needs, scopes)
        return self._of_plan[check.index]

    def _plan_values(self, function: str, rules: FunctionRules) -> Bound:
        """The plan's values that the rules for a function read."""
        if function not in self._of_function:
            bound = Bound()
            self._values.bind(rules.needs.variables, bound)
            self._of_function[function] = bound
        return self._of_function[function]

    def _verdict(self, effect: Effect, matched: list[Check], failed: list[tuple[Rule, str]]) -> EffectVerdict:
        names = tuple(check.rule.name for check in matched)
        if failed:
            rule, reason = failed[0]
            sentence = f"Rule `{rule.name}` could not be evaluated, so the effect is blocked: {reason}."
            if matched and matched[0].rule.then is Verdict.BLOCK:
                sentence = f"{_sentence(matched[0].rule, effect.function)} {sentence}"
            return EffectVerdict(
                seq=effect.seq, verdict=Verdict.BLOCK, rules=names, message=sentence, failed_rule=rule.name
            )
        if not matched:
            default = self._rules.default
            self._default_asked = self._default_asked or default is Verdict.APPROVE
            return EffectVerdict(seq=effect.seq, verdict=default, message=_DEFAULTS[default])
        verdict = matched[0].rule.then
        if verdict is Verdict.APPROVE:
            self._asked.update((check.index, check.rule) for check in matched if check.rule.then is Verdict.APPROVE)
        return EffectVerdict(
            seq=effect.seq, verdict=verdict, rules=names, message=_sentence(matched[0].rule, effect.function)
        )


class _Scopes:
    """The bound values of one effect: one scope for all its rules, where they may see all of it."""

    def __init__(self, language: Language, plan: Bound, effect: EffectValues, needs: Needs) -> None:
        self._language = language
        self._plan = plan
        self._effect = effect
        self._needs = needs
        self._shared: tuple[Scope, Bound] | None = None

    def of(self, needs: Needs) -> tuple[Scope, Bound]:
        """The scope for a condition, and why names are missing in it."""
        if self._shared is None:
            self._shared = self._bind(self._needs)
        if (needs.keys or needs.whole) and not self._effect.complete:
            return self._bind(needs)
        return self._shared

    def _bind(self, needs: Needs) -> tuple[Scope, Bound]:
        bound = Bound()
        bound.values.update(self._plan.values)
        bound.reasons.update(self._plan.reasons)
        self._effect.bind(needs, bound)
        return self._language.bind(bound.values), bound


def _run(program: Program, needs: Needs, scopes: _Scopes) -> bool | str:
    scope, bound = scopes.of(needs)
    outcome = program.run(scope)
    if isinstance(outcome, Unbound):
        return bound.reasons.get(outcome.variable, f"it reads `{outcome.variable}`, which is not there")
    return outcome.reason if isinstance(outcome, Failed) else outcome


def _need(rule: Rule) -> ApprovalNeed:
    approvers = rule.approvers
    return ApprovalNeed(
        rule=rule.name,
        roles=approvers.roles if approvers else (),
        quorum=approvers.quorum if approvers else 1,
        message=rule.message or f"Rule `{rule.name}` asks for approval.",
    )


_DEFAULTS = {
    Verdict.ALLOW: "No rule matches; the default allows it.",
    Verdict.APPROVE: "No rule matches; the default asks for approval.",
    Verdict.BLOCK: "No rule matches; the default blocks it.",
}


def _sentence(rule: Rule, function: str) -> str:
    if rule.message:
        return rule.message
    match rule.then:
        case Verdict.ALLOW:
            return f"Rule `{rule.name}` allows `{function}`."
        case Verdict.BLOCK:
            return f"Rule `{rule.name}` blocks `{function}`."
        case Verdict.APPROVE:
            return f"Rule `{rule.name}` asks for approval of `{function}`."
