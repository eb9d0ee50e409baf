"""Totals of effects over time: what a user's plans did, so that rules can limit it."""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import TYPE_CHECKING, TypeVar

from pydantic import Field

from vardy_worker.contracts.base import Contract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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

    @classmethod
    def added_up(cls, parts: Iterable[EffectTotals]) -> EffectTotals:
        """All of them together."""
        counts: dict[str, int] = {}
        sums: dict[str, dict[str, Decimal]] = {}
        unknown: dict[str, dict[str, int]] = {}
        for part in parts:
            _add(counts, part.counts, int.__add__)
            for function, totals in part.sums.items():
                _add(sums.setdefault(function, {}), totals, EXACTLY.add)
            for function, plans in part.unknown.items():
                _add(unknown.setdefault(function, {}), plans, int.__add__)
        return cls(
            counts=_not_zero(counts),
            sums=_tables_not_zero(sums),
            unknown=_tables_not_zero(unknown),
        )

    def plus(self, other: EffectTotals) -> EffectTotals:
        """Both together."""
        return EffectTotals.added_up((self, other))

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


def _add(table: dict[str, _Number], more: dict[str, _Number], add: Callable[[_Number, _Number], _Number]) -> None:
    for name, value in more.items():
        table[name] = add(table[name], value) if name in table else value


def _not_zero(table: dict[str, _Number]) -> dict[str, _Number]:
    return {name: value for name, value in table.items() if value}


def _tables_not_zero(tables: dict[str, dict[str, _Number]]) -> dict[str, dict[str, _Number]]:
    return {function: kept for function, table in tables.items() if (kept := _not_zero(table))}


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
