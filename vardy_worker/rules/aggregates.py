"""Counts, sums and distinct values over a plan, each computed once and only when asked for."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, DecimalException
from functools import cached_property
from typing import TYPE_CHECKING

from vardy_worker.contracts.base import canonical_json, pointer_parts, safe_integers
from vardy_worker.contracts.plan import duplicates
from vardy_worker.contracts.totals import EXACTLY
from vardy_worker.rules.shapes import ANY, INT64_MAX, INT64_MIN, Shape, Unreadable, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.plan import Effect


def referenced_arguments(effect: Effect) -> frozenset[str]:
    """The arguments that are, or contain, the result of an earlier effect."""
    return frozenset(parts[0] for ref in effect.refs if (parts := pointer_parts(ref.at)))


class PlanTotals:
    """What rules ask of a plan as a whole. Each method raises `Unreadable` where it cannot be known."""

    def __init__(self, effects: Sequence[Effect], arguments_of: Callable[[str], Shape]) -> None:
        """`arguments_of` gives the shape of a function's arguments."""
        self._effects = tuple(effects)
        self._arguments_of = arguments_of
        self._by_function: dict[str, list[Effect]] = {}
        for effect in effects:
            self._by_function.setdefault(effect.function, []).append(effect)
        self._counts = Counter({function: len(group) for function, group in self._by_function.items()})

    @property
    def total(self) -> int:
        """How many effects there are."""
        return len(self._effects)

    @cached_property
    def duplicates(self) -> int:
        """How many effects repeat an earlier one: same function, arguments and references."""
        return sum(len(group) - 1 for group in duplicates(self._effects))

    def count(self, function: str) -> int:
        """How many effects call the function."""
        return self._counts[function]

    def sum(self, function: str, argument: str) -> int | float:
        """The total of a numeric argument; what is null or absent adds nothing.

        An integer for an integer argument, else the float nearest to the exact decimal sum.
        """
        return rule_number(self.exact_sum(function, argument), self._arguments_of(function).step(argument) or ANY)

    def exact_sum(self, function: str, argument: str) -> Decimal:
        """The total of a numeric argument, without rounding."""
        total = Decimal(0)
        for effect, value in self._values(function, argument):
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise _unreadable(effect, argument, "is not a number")
            try:
                term = Decimal(value if isinstance(value, int | str) else repr(value))
                total = EXACTLY.add(total, term)
            except DecimalException:
                raise _unreadable(effect, argument, "is not a number that can be added up") from None
            if not term.is_finite():
                raise _unreadable(effect, argument, "is not a finite number")
        return total

    def distinct(self, function: str, argument: str) -> int:
        """How many different values an argument has; null and absent ones are none."""
        return len({canonical_json(safe_integers(value)) for _, value in self._values(function, argument)})

    def _values(self, function: str, argument: str) -> list[tuple[Effect, object]]:
        shape = self._arguments_of(function).step(argument) or ANY
        values: list[tuple[Effect, object]] = []
        for effect in self._by_function.get(function, ()):
            if effect.refs and argument in referenced_arguments(effect):
                raise _unreadable(effect, argument, "is a reference")
            value = effect.args.get(argument)
            if value is None:
                continue
            try:
                values.append((effect, fit(shape, value)))
            except Unreadable as error:
                raise _unreadable(effect, argument, str(error)) from None
        return values


def rule_number(total: Decimal, shape: Shape) -> int | float:
    """A sum over arguments of a shape as rules compare it: an integer, or the nearest float."""
    if shape.kind != "int":
        value = float(total)
        if not math.isfinite(value):
            msg = "is not a finite number"
            raise Unreadable(msg)
        return value
    if not INT64_MIN <= total <= INT64_MAX:
        msg = "is an integer beyond 64 bits, which rules cannot compare"
        raise Unreadable(msg)
    if total != total.to_integral_value():
        msg = "is no integer, although the argument is one by now"
        raise Unreadable(msg)
    return int(total)


def _unreadable(effect: Effect, argument: str, why: str) -> Unreadable:
    return Unreadable(f"cannot be known, because `{argument}` of effect {effect.seq} {why}")
