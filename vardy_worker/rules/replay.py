"""What other rules would have said of a stored plan, against what was said of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from vardy_worker.contracts.policy import PlanChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import PlanBody
    from vardy_worker.contracts.policy import EffectVerdict, PolicyResult


def compare(before: PolicyResult, after: PolicyResult) -> PlanChange:
    """How the second result differs from the first."""
    if before.verdict is not after.verdict:
        return PlanChange.STRICTER if after.verdict.strictness > before.verdict.strictness else PlanChange.LAXER
    one, other = _asked(before), _asked(after)
    if one == other:
        return PlanChange.UNCHANGED
    if one <= other:
        return PlanChange.STRICTER
    return PlanChange.LAXER if other <= one else PlanChange.OTHER


def _asked(result: PolicyResult) -> Counter[tuple[tuple[str, ...], int]]:
    """The approvals, whatever the rules that ask for them are called."""
    return Counter((tuple(sorted(need.roles)), need.quorum) for need in result.approvals)


def differing(before: PolicyResult, after: PolicyResult) -> Iterator[tuple[EffectVerdict, EffectVerdict]]:
    """The effects whose verdicts differ, as they were and as they would be."""
    known = {verdict.seq: verdict for verdict in before.effects}
    for verdict in after.effects:
        earlier = known.get(verdict.seq)
        if earlier is not None and earlier.verdict is not verdict.verdict:
            yield earlier, verdict


def gone(plan: PlanBody, catalogue: Catalogue) -> tuple[str, ...]:
    """Functions of the plan that the catalogue does not have; none while it is empty."""
    if not catalogue.functions:
        return ()
    return tuple(dict.fromkeys(e.function for e in plan.effects if catalogue.get(e.function) is None))


def renewed(plan: PlanBody, catalogue: Catalogue) -> tuple[str, ...]:
    """Functions of the plan that have another version by now, so that its arguments may not fit them."""
    specs = {spec.name: spec for spec in catalogue.functions}
    return tuple(
        dict.fromkeys(
            effect.function
            for effect in plan.effects
            if effect.function in specs and specs[effect.function].version != effect.version
        )
    )
