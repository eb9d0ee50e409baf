"""Totals of effects over time: what a user's plans did, so that rules can limit it."""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import TYPE_CHECKING, TypeVar

from pydantic import Field

from vardy_worker.contracts.base import Contract

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW_HOURS = 24
"""How far back rules look at a user's totals, unless their file says otherwise."""
WINDOW_HOURS_MAX = 744
"""The longest window, 31 days; totals are kept as long."""
HOUR_MS = 3_600_000

EXPONENT_MAX = 400
"""Sums are kept of numbers from 10^-400 to 10^400, which every float is in, and so add up exactly."""
EXACTLY = Context(prec=1000, traps=[DivisionByZero, Inexact, InvalidOperation, Overflow])
"""Adds up without rounding, or not at all."""

_Number = TypeVar("_Number", int, Decimal)


class EffectTotals(Contract):
    """What effects add up to; what is not named is zero.

    Totals can be added and taken off again without a trace, so that a plan leaves nothing
    behind where it is taken back. They may be negative, as a correction of others.
    """

    counts: dict[str, int] = Field(default_factory=dict, description="effects by function")
    sums: dict[str, dict[str, Decimal]] = Field(default_factory=dict, description="by function and numeric argument")
    unknown: dict[str, dict[str, int]] = Field(
        default_factory=dict, description="plans whose sum is not known, by function and argument"
    )

    def plus(self, other: EffectTotals) -> EffectTotals:
        """Both together."""
        return EffectTotals(
            counts=_added(self.counts, other.counts, int.__add__),
            sums=_tables_added(self.sums, other.sums, EXACTLY.add),
            unknown=_tables_added(self.unknown, other.unknown, int.__add__),
        )

    def negated(self) -> EffectTotals:
        """What takes these totals off again when it is added."""
        return EffectTotals(
            counts={function: -count for function, count in self.counts.items()},
            sums={
                function: {name: EXACTLY.minus(total) for name, total in table.items()}
                for function, table in self.sums.items()
            },
            unknown={
                function: {name: -plans for name, plans in table.items()} for function, table in self.unknown.items()
            },
        )

    def minus(self, other: EffectTotals) -> EffectTotals:
        """These without the others."""
        return self.plus(other.negated())

    @property
    def is_zero(self) -> bool:
        """Whether there is nothing in them."""
        return not (self.counts or self.sums or self.unknown)


def _added(
    first: dict[str, _Number], second: dict[str, _Number], add: Callable[[_Number, _Number], _Number]
) -> dict[str, _Number]:
    together = {**first}
    for name, value in second.items():
        together[name] = add(together[name], value) if name in together else value
    return {name: value for name, value in together.items() if value}


def _tables_added(
    first: dict[str, dict[str, _Number]],
    second: dict[str, dict[str, _Number]],
    add: Callable[[_Number, _Number], _Number],
) -> dict[str, dict[str, _Number]]:
    tables = {name: _added(first.get(name, {}), second.get(name, {}), add) for name in {**first, **second}}
    return {name: table for name, table in tables.items() if table}


class TotalsCorrection(Contract):
    """What is added to one hour of a user's totals after a plan was counted there.

    `era` names the totals that it was counted among: those that were erased since are not
    corrected any more.
    """

    user: str
    era: str
    hour: int
    totals: EffectTotals


class CountedPlan(Contract):
    """A plan as it stands among its requester's totals. `hour` counts from the epoch.

    `before` is what the requester's other plans of the last `window_hours` had done when
    this one was counted. It is kept until the commit was checked, so that a check which is
    repeated after a crash comes to the same end.
    """

    era: str
    hour: int
    totals: EffectTotals
    before: EffectTotals | None = None
    window_hours: int = 0

    def correction(self, user: str, totals: EffectTotals) -> TotalsCorrection | None:
        """What makes the requester's totals hold `totals` for this plan; None when they do."""
        change = totals.minus(self.totals)
        return None if change.is_zero else TotalsCorrection(user=user, era=self.era, hour=self.hour, totals=change)
