"""Rules that hold but do nothing: never matching, shadowed, or the same as another one.

Only what is certain is told. "Never" is about matching: a rule that cannot be evaluated
blocks all the same, and no warning says otherwise.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from vardy_worker.contracts.policy import RuleWarning, Verdict
from vardy_worker.rules.formula import Domain, Fact, alternatives, contradiction, implies

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vardy_worker.contracts.policy import Rule, RuleSet
    from vardy_worker.rules.compile import CompiledRules, Condition
    from vardy_worker.rules.formula import Alternative

_LEAST = MappingProxyType(
    {
        "effect.seq": 0,
        "plan.total": 1,
        "plan.duplicates": 0,
        "plan.counts.": 0,
        "plan.distinct.": 0,
    }
)
_SURE = frozenset({"effect.seq", "plan.total", "plan.duplicates", "plan.counts."})
_MODES = frozenset({"execute", "plan"})


@dataclass(frozen=True, slots=True)
class _Judged:
    """One rule, with the ways in which its condition becomes true; None where that is not known."""

    index: int
    rule: Rule
    ways: tuple[Alternative, ...] | None
    domain: Domain


def find_warnings(rules: RuleSet, compiled: CompiledRules) -> tuple[RuleWarning, ...]:
    """What is certain about the rules of a set that passed its checks, at most one a rule, in the file's order."""
    judged = [_judge(condition, compiled) for condition in compiled.conditions]
    found: list[RuleWarning] = []
    dead: set[int] = set()
    for each in judged:
        warning = _no_function(each, compiled) or _never(each)
        if warning is not None:
            dead.add(each.index)
            found.append(warning)
    alive = [each for each in judged if each.index not in dead]
    for each in alive:
        warning = _without_effect(each, rules.default) or next(_shadows(each, alive), None)
        if warning is not None:
            found.append(warning)
    return tuple(sorted(found, key=lambda warning: warning.line))


def _judge(condition: Condition, compiled: CompiledRules) -> _Judged:
    formula = condition.formula
    choices = {"mode": _MODES}
    if compiled.vocabulary.known:
        choices["effect.function"] = frozenset(filter(condition.applies_to, compiled.vocabulary.writes))
    domain = Domain(least=_LEAST, choices=choices, sure=_SURE)
    ways = None if formula is None else alternatives(formula)
    return _Judged(condition.index, condition.rule, ways, domain)


def _no_function(judged: _Judged, compiled: CompiledRules) -> RuleWarning | None:
    if not compiled.vocabulary.known or judged.domain.choices["effect.function"]:
        return None
    names = ", ".join(f"`{name}`" for name in judged.rule.on)
    return _warning(
        judged.rule,
        f"`on` ({names}) fits no write function of the catalogue, so the rule matches nothing.",
        "Correct the name, or remove the rule until there is such a function.",
    )


def _never(judged: _Judged) -> RuleWarning | None:
    if judged.ways is None:
        return None
    found = [contradiction(way, judged.domain) for way in judged.ways]
    if any(atoms is None for atoms in found):
        return None
    match found:
        case []:
            reason = "its condition is false whatever happens"
        case [(Fact(),)]:
            reason = "its condition asks for something and for its opposite"
        case [(only,)]:
            reason = f"`{only}` is never true"
        case [(one, other)]:
            reason = f"`{one}` and `{other}` are never true together"
        case _:
            reason = "each way in which its condition could be true contradicts itself"
    return _warning(judged.rule, f"The rule never matches: {reason}.", "Correct the condition, or remove the rule.")


def _without_effect(judged: _Judged, default: Verdict) -> RuleWarning | None:
    if judged.rule.then is not Verdict.ALLOW or default is not Verdict.ALLOW:
        return None
    return _warning(
        judged.rule,
        "The default allows already, and an allow rule opens nothing that another rule closes, so it changes nothing.",
        "Remove the rule, or make the default stricter.",
    )


def _shadows(judged: _Judged, others: Sequence[_Judged]) -> Iterator[RuleWarning]:
    """The warnings about a rule that another one leaves without effect."""
    for other in others:
        if other.index == judged.index or not _covers(other.rule, judged.rule):
            continue
        first, second = other.rule, judged.rule
        if not _outdoes(other, judged) or not _is_implied(judged, other):
            continue
        same = first.then is second.then and _covers(second, first) and _is_implied(other, judged)
        if same:
            message = f"The rule is the same as `{first.name}` at line {first.line}: where one matches, the other does."
            advice = "Remove one of the two."
        else:
            word = {Verdict.BLOCK: "blocks", Verdict.APPROVE: "asks for approval", Verdict.ALLOW: "allows"}[first.then]
            message = (
                f"Wherever the rule matches, `{first.name}` at line {first.line} matches too and {word}, "
                "so this one's `then` changes nothing."
            )
            advice = f"Remove the rule, or narrow `{first.name}`."
        yield _warning(second, message, advice)


def _outdoes(other: _Judged, judged: _Judged) -> bool:
    """Whether the other rule's verdict leaves nothing to this one's, where both match.

    Of two rules with the same verdict the first gives the sentence that people read, so only
    the later one can be without effect. Every approve rule asks for an approval of its own,
    unless the very same is asked for already.
    """
    theirs, ours = other.rule.then, judged.rule.then
    if theirs is not ours:
        return theirs.strictness > ours.strictness
    if other.index > judged.index:
        return False
    return ours is not Verdict.APPROVE or other.rule.approvers == judged.rule.approvers


def _is_implied(judged: _Judged, other: _Judged) -> bool:
    """Whether the other rule's condition is true wherever this one's is."""
    if judged.ways is None or other.ways is None:
        return judged.rule.when == other.rule.when
    return implies(judged.ways, other.ways, judged.domain)


def _covers(wider: Rule, narrower: Rule) -> bool:
    """Whether every function that fits `on` of the one, also of those to come, fits the other's."""
    return all(any(_pattern_covers(wide, narrow) for wide in wider.on) for narrow in narrower.on)


def _pattern_covers(wide: str, narrow: str) -> bool:
    if wide == narrow:
        return True
    # A `?` of the one must not be taken for fitting a `*` of the other.
    return "?" not in wide and fnmatch.fnmatchcase(narrow, wide)


def _warning(rule: Rule, message: str, advice: str) -> RuleWarning:
    return RuleWarning(line=rule.line, rule=rule.name, message=message, advice=advice)
