"""What a plan adds to its requester's totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.totals import EXPONENT_MAX, EffectTotals
from vardy_worker.rules.aggregates import PlanTotals
from vardy_worker.rules.shapes import ANY, Shape, Unreadable, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import Effect


def summable(arguments: Shape) -> tuple[str, ...]:
    """The arguments whose sums are kept over time: all that are, or may be, numbers."""
    return tuple(name for name, shape in arguments.fields.items() if shape.numeric or shape.kind == "any")


def effect_totals(effects: Sequence[Effect], catalogue: Catalogue) -> EffectTotals:
    """Counts and exact sums of the effects.

    A sum that cannot be known, as of an argument that is a reference, counts as unknown.
    """
    plan, shapes = _plan_totals(effects, catalogue)
    sums: dict[str, dict[str, Decimal]] = {}
    unknown: dict[str, dict[str, int]] = {}
    for function, shape in shapes.items():
        for argument in summable(shape):
            total = _known_sum(plan, function, argument)
            if total is None:
                unknown.setdefault(function, {})[argument] = 1
            elif total:
                sums.setdefault(function, {})[argument] = total
    return EffectTotals(counts={name: plan.count(name) for name in shapes}, sums=sums, unknown=unknown)


def with_known_sums(totals: EffectTotals, effects: Sequence[Effect], catalogue: Catalogue) -> EffectTotals:
    """A plan's totals, and in them the sums that these effects, of the same plan, have made known since."""
    plan, _ = _plan_totals(effects, catalogue)
    known: dict[str, dict[str, Decimal]] = {}
    no_longer: dict[str, dict[str, int]] = {}
    for function, arguments in totals.unknown.items():
        for argument, plans in arguments.items():
            total = _known_sum(plan, function, argument)
            if total is not None:
                known.setdefault(function, {})[argument] = total
                no_longer.setdefault(function, {})[argument] = -plans
    return totals.plus(EffectTotals(sums=known, unknown=no_longer))


def _plan_totals(effects: Sequence[Effect], catalogue: Catalogue) -> tuple[PlanTotals, dict[str, Shape]]:
    """The totals of a plan, and the shapes of its functions' arguments."""
    specs = {effect.function: catalogue.get(effect.function) for effect in effects}
    shapes = {function: ANY if spec is None else shape_of(spec.input_schema) for function, spec in specs.items()}
    return PlanTotals(effects, lambda function: shapes.get(function, ANY)), shapes


def _known_sum(plan: PlanTotals, function: str, argument: str) -> Decimal | None:
    try:
        total = plan.exact_sum(function, argument)
    except Unreadable:
        return None
    widest = max(abs(total.adjusted()), -int(total.as_tuple().exponent))
    return total if widest <= EXPONENT_MAX or not total else None
