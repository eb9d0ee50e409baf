"""One plan under one rule set: which rules match each effect, and what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.policy import ApprovalNeed, EffectVerdict, PolicyResult, Verdict, strictest
from vardy_worker.rules.language import Failed, Unbound
from vardy_worker.rules.values import Bound, EffectValues, PlanValues

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.plan import Effect, PlanBody
    from vardy_worker.contracts.policy import Rule, RuleSet
    from vardy_worker.ports import PlanFacts
    from vardy_worker.rules.compile import Check, CompiledRules, FunctionRules, Needs
    from vardy_worker.rules.language import Language, Program, Scope


class Evaluation:
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
        """The verdicts, and the approvals that are asked for."""
        verdicts = tuple(self._effect(effect) for effect in self._plan.effects)
        needs = [_need(rule) for _, rule in sorted(self._asked.items())]
        if self._default_asked:
            needs.append(ApprovalNeed(rule="", message="No rule matches, and the default asks for approval."))
        return PolicyResult(
            verdict=strictest([Verdict.ALLOW, *(each.verdict for each in verdicts)]),
            rules_digest=self._rules.digest,
            effects=verdicts,
            approvals=tuple(needs),
            outside=self._values.outside,
        )

    def _effect(self, effect: Effect) -> EffectVerdict:
        scopes = self.scopes(effect)
        matched: list[Check] = []
        failed: list[tuple[Rule, str]] = []
        for check in self.checks(effect):
            outcome = self.outcome(check, scopes)
            if outcome is True:
                matched.append(check)
            elif outcome is not False:
                failed.append((check.rule, outcome))
        matched.sort(key=lambda check: (-check.rule.then.strictness, check.index))
        return self._verdict(effect, matched, failed)

    def checks(self, effect: Effect) -> tuple[Check, ...]:
        """The rules for an effect, in the file's order."""
        return self._compiled.of(effect.function).checks

    def scopes(self, effect: Effect) -> Scopes:
        """What the conditions for an effect see."""
        rules = self._compiled.of(effect.function)
        return Scopes(
            self._language,
            lambda: self._plan_values(effect.function, rules),
            EffectValues(effect, self._compiled.vocabulary),
            rules.needs,
        )

    def outcome(self, check: Check, scopes: Scopes) -> bool | str:
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


class Scopes:
    """The bound values of one effect: one scope for all its rules, where they may see all of it."""

    def __init__(self, language: Language, plan: Callable[[], Bound], effect: EffectValues, needs: Needs) -> None:
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
        plan = self._plan()
        bound.values.update(plan.values)
        bound.reasons.update(plan.reasons)
        self._effect.bind(needs, bound)
        return self._language.bind(bound.values), bound


def _run(program: Program, needs: Needs, scopes: Scopes) -> bool | str:
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
