"""The smallest change that would avoid an approval: which effects to leave out.

Leaving out an effect leaves out those that refer to its result, and counts and sums fall
with it. What one set of effects comes to is evaluated by the engine itself; what is
the same in every part of a plan is taken from the whole of it.

The set that is named is minimal: the rest is allowed, and no part of the set is enough.
There may be other such sets. Finding the one with the fewest effects among all would take
trying them all, so the effects that come first are kept where there is a choice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from itertools import combinations
from typing import TYPE_CHECKING

from vardy_worker.contracts.plan import effects_named
from vardy_worker.contracts.policy import SmallestChange, Verdict
from vardy_worker.rules.monotone import only_stricter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.plan import Effect, PlanBody
    from vardy_worker.rules.compile import Check
    from vardy_worker.rules.evaluation import Evaluation

PARTS_MAX = 1_000
"""Parts of a plan that are evaluated at the most; beyond that nothing is said."""
MILLISECONDS_MAX = 100
"""Processor time that a search takes at the most; beyond that nothing is said."""
SINGLES_MAX = 50
"""Effects up to which leaving out each alone is tried first."""
TRIED_WHOLLY_MAX = 8
"""Effects of which every set is tried, where rules may get laxer as a plan grows."""


class _Exhausted(Exception):  # noqa: N818 - named for the state
    """The bounds of the search are reached."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is known of an effect in every part of the plan.

    `closed`: it is never allowed. `allowed`: it is, unless one of `open`, the rules that look
    at the plan or at the effect's place in it, says otherwise.
    """

    closed: bool
    allowed: bool
    open: tuple[Check, ...]


class Search:
    """Looks for the smallest change of one plan."""

    def __init__(
        self,
        evaluate: Callable[[PlanBody], Evaluation],
        plan: PlanBody,
        default: Verdict,
        *,
        seconds: Callable[[], float] = time.thread_time,
    ) -> None:
        self._evaluate = evaluate
        self._plan = plan
        self._seconds = seconds
        self._until = seconds() + MILLISECONDS_MAX / 1000
        self._tried = 0
        self._stricter: dict[int, bool] = {}
        whole = evaluate(plan)
        self._standings = tuple(self._standing(whole, effect, default) for effect in plan.effects)
        self._needs = _closed_over({effect.seq: {ref.effect for ref in effect.refs} for effect in plan.effects})
        self._by_place = any(
            variable.path == ("effect", "seq")
            for standing in self._standings
            for check in standing.open
            for variable in check.needs.variables
        )

    def result(self) -> SmallestChange | None:
        """The change; None where there is none, or none that is certain within the bounds."""
        candidates = frozenset(
            effect.seq
            for effect in self._plan.effects
            if not any(self._standings[seq].closed for seq in self._with(effect.seq))
        )
        try:
            kept = self._largest(candidates)
        except _Exhausted:
            return None
        without = tuple(effect.seq for effect in self._plan.effects if effect.seq not in kept)
        if not kept or not without or self._reality(kept) is not Verdict.ALLOW:
            return None
        return SmallestChange(without=without, message=f"Without {effects_named(without)} the rest would be allowed.")

    def _standing(self, whole: Evaluation, effect: Effect, default: Verdict) -> _Standing:
        """What the whole plan tells of an effect in every part of it."""
        allowed = default is Verdict.ALLOW
        closed = False
        opened: list[Check] = []
        scopes = whole.scopes(effect)
        for check in whole.checks(effect):
            outcome = whole.outcome(check, scopes)
            allows = check.rule.then is Verdict.ALLOW
            # A rule that only gets stricter and lets the effect pass here does so in every part.
            if check.needs.of_effect_alone or (outcome is allows and self._only_stricter(check)):
                if outcome is True and allows:
                    allowed = True
                elif outcome is not False:
                    closed = True
            else:
                opened.append(check)
        could = allowed or any(check.rule.then is Verdict.ALLOW for check in opened)
        return _Standing(closed or not could, allowed, tuple(opened))

    def _only_stricter(self, check: Check) -> bool:
        if check.index not in self._stricter:
            self._stricter[check.index] = only_stricter(check, self._never_negative)
        return self._stricter[check.index]

    def _largest(self, candidates: frozenset[int]) -> frozenset[int]:
        """The effects that can stay; none where that is not certain."""
        if not candidates or self._allowed(candidates):
            return candidates
        alone = self._without_one(candidates)
        # Leaving out one effect may have taken others with it, of which some can stay.
        kept = self._grown(alone, sorted(candidates - alone))
        rest = sorted(candidates - kept)
        if len(rest) == 1 or self._all_only_stricter(candidates):
            return kept
        if len(rest) > TRIED_WHOLLY_MAX:
            return frozenset()
        for size in range(1, len(rest)):
            for out in combinations(rest, size):
                left = candidates - set(out)
                if self._is_whole(left) and self._allowed(left):
                    return left
        return kept

    def _without_one(self, candidates: frozenset[int]) -> frozenset[int]:
        """All but one effect, and those that refer to it, where that is allowed."""
        if len(candidates) > SINGLES_MAX:
            return frozenset()
        last_first = sorted(candidates, reverse=True)
        left = [frozenset(seq for seq in candidates if out not in self._with(seq)) for out in last_first]
        for part in sorted(left, key=len, reverse=True):
            if part and self._allowed(part):
                return part
        return frozenset()

    def _grown(self, kept: frozenset[int], block: Sequence[int]) -> frozenset[int]:
        """As many of the block added as can be, halving it where not all of it can."""
        added = set(kept)
        for seq in block:
            if self._needs[seq] <= added:
                added.add(seq)
        fitting = sorted(added - kept)
        if not fitting:
            return kept
        if self._allowed(added):
            return frozenset(added)
        if len(fitting) == 1:
            return kept
        middle = len(fitting) // 2
        return self._grown(self._grown(kept, fitting[:middle]), fitting[middle:])

    def _with(self, seq: int) -> frozenset[int]:
        """The effect, and those whose results it needs."""
        return self._needs[seq] | {seq}

    def _is_whole(self, part: Collection[int]) -> bool:
        """Whether no effect of the part refers to one that is left out."""
        return all(self._needs[seq] <= set(part) for seq in part)

    def _allowed(self, part: Iterable[int]) -> bool:
        """Whether the plan of these effects would be allowed. Raises `_Exhausted`."""
        self._spend()
        kept = sorted(part)
        effects = self._part(kept) if self._by_place else tuple(self._plan.effects[seq] for seq in kept)
        evaluation = self._evaluate(self._plan.model_copy(update={"effects": effects}))
        return all(
            _stands(evaluation, effect, self._standings[seq])
            for seq, effect in zip(kept, effects, strict=True)
            if self._standings[seq].open
        )

    def _spend(self) -> None:
        self._tried += 1
        if self._tried > PARTS_MAX or self._seconds() > self._until:
            raise _Exhausted

    def _part(self, kept: Sequence[int]) -> tuple[Effect, ...]:
        """The effects of a plan that has no others, numbered anew."""
        places = {seq: place for place, seq in enumerate(kept)}
        return tuple(
            effect.model_copy(
                update={
                    "seq": places[seq],
                    "refs": tuple(ref.model_copy(update={"effect": places[ref.effect]}) for ref in effect.refs),
                }
            )
            for seq in kept
            for effect in (self._plan.effects[seq],)
        )

    def _reality(self, kept: Iterable[int]) -> Verdict:
        """The verdict of the plan that is left, with nothing taken from elsewhere."""
        left = self._plan.model_copy(update={"effects": self._part(sorted(kept))})
        return self._evaluate(left).result().verdict

    def _all_only_stricter(self, candidates: Collection[int]) -> bool:
        """Whether no effect that is not allowed in a part can be so in a larger one."""
        if not all(self._only_stricter(check) for seq in candidates for check in self._standings[seq].open):
            return False
        return not any(self._fails_alone(seq) for seq in sorted(candidates))

    def _fails_alone(self, seq: int) -> bool:
        """Whether an allow rule fails for the effect in the smallest plan that can have it."""
        allowing = [check for check in self._standings[seq].open if check.rule.then is Verdict.ALLOW]
        if not allowing:
            return False
        self._spend()
        effects = tuple(self._plan.effects[each] for each in sorted(self._with(seq)))
        evaluation = self._evaluate(self._plan.model_copy(update={"effects": effects}))
        scopes = evaluation.scopes(effects[-1])
        return any(isinstance(evaluation.outcome(check, scopes), str) for check in allowing)

    def _never_negative(self, function: str, argument: str) -> bool:
        values = (effect.args.get(argument) for effect in self._plan.effects if effect.function == function)
        return all(value is None or _at_least_zero(value) for value in values)


def _stands(evaluation: Evaluation, effect: Effect, standing: _Standing) -> bool:
    """Whether an effect is allowed in the plan that is evaluated."""
    scopes = evaluation.scopes(effect)
    allowed = standing.allowed
    for check in standing.open:
        outcome = evaluation.outcome(check, scopes)
        if outcome is True and check.rule.then is Verdict.ALLOW:
            allowed = True
        elif outcome is not False:
            return False
    return allowed


def _closed_over(direct: dict[int, set[int]]) -> dict[int, frozenset[int]]:
    """All that each effect needs; an effect refers to earlier ones only."""
    needs: dict[int, frozenset[int]] = {}
    for seq in sorted(direct):
        needs[seq] = frozenset(direct[seq]).union(*(needs[each] for each in direct[seq]))
    return needs


def _at_least_zero(value: JsonValue) -> bool:
    try:
        return not isinstance(value, bool) and Decimal(str(value)) >= 0
    except DecimalException:
        return False
