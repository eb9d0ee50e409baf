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
    functions = dict.fromkeys(effect.function for effect in effects)
    shapes = {name: shape_of(spec.input_schema) for name in functions if (spec := catalogue.get(name)) is not None}
    plan = PlanTotals(effects, lambda function: shapes.get(function, ANY))
    sums: dict[str, dict[str, Decimal]] = {}
    unknown: dict[str, dict[str, int]] = {}
    for function, shape in shapes.items():
        for argument in summable(shape):
            try:
                total = plan.exact_sum(function, argument)
            except Unreadable:
                unknown.setdefault(function, {})[argument] = 1
                continue
            if abs(total.adjusted()) > EXPONENT_MAX or -int(total.as_tuple().exponent) > EXPONENT_MAX:
                unknown.setdefault(function, {})[argument] = 1
            elif total:
                sums.setdefault(function, {})[argument] = total
    return EffectTotals(counts={name: plan.count(name) for name in functions}, sums=sums, unknown=unknown)
