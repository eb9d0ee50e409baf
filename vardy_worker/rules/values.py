"""The values that conditions read: of the plan once, and of each effect."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from vardy_worker.rules.aggregates import PlanTotals, referenced_arguments, rule_number
from vardy_worker.rules.envelope import outside
from vardy_worker.rules.shapes import ANY, Unreadable, fit
from vardy_worker.rules.totals import summable
from vardy_worker.rules.vocabulary import BY_ARGUMENT, BY_FUNCTION, FIXED

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.plan import Effect, PlanBody
    from vardy_worker.contracts.totals import EffectTotals
    from vardy_worker.ports import PlanFacts
    from vardy_worker.rules.compile import Needs
    from vardy_worker.rules.vocabulary import Variable, Vocabulary

OUTSIDE_TOLD_MAX = 10
"""Sentences about what takes a plan outside its envelope; the first ones are enough to see why."""


class Bound:
    """Values by name, and for names without one the reason, as a clause about the rule ("it reads …")."""

    def __init__(self) -> None:
        self.values: dict[str, JsonValue] = {}
        self.reasons: dict[str, str] = {}


class PlanValues:
    """What is the same for all effects of a plan."""

    def __init__(self, plan: PlanBody, facts: PlanFacts, vocabulary: Vocabulary) -> None:
        self._facts = facts
        self._effects = plan.effects
        self._vocabulary = vocabulary
        self._totals = PlanTotals(plan.effects, vocabulary.arguments)
        self._known: dict[str, JsonValue | Unreadable] = {}

    def bind(self, variables: tuple[Variable, ...], bound: Bound) -> None:
        """Adds the values of the plan's own variables among the given ones."""
        for variable in variables:
            if variable.path[0] in {"effect", "refs"}:
                continue
            value = self._value(variable)
            if isinstance(value, Unreadable):
                bound.reasons[variable.name] = f"it reads `{variable.name}`, which {value}"
            else:
                bound.values[variable.name] = value

    def _value(self, variable: Variable) -> JsonValue | Unreadable:
        name = variable.name
        if name not in self._known:
            try:
                self._known[name] = self._read(variable.path)
            except Unreadable as error:
                self._known[name] = error
        return self._known[name]

    def _read(self, path: tuple[str, ...]) -> JsonValue:
        facts = self._facts
        match path:
            case ("params", *rest):
                return _field(facts.params, rest)
            case ("user", "attributes", *rest):
                return _field(facts.user.attributes, rest)
            case ("plan", "total"):
                return self._totals.total
            case ("plan", "duplicates"):
                return self._totals.duplicates
            case ("recipe", "within_envelope"):
                return facts.envelope is not None and not self.outside
            case _ if path in FIXED:
                return {
                    ("mode",): facts.mode,
                    ("user", "id"): facts.user.id,
                    ("user", "roles"): list(facts.user.roles),
                    ("recipe", "name"): facts.recipe_name,
                }[path]
            case _:
                return self._aggregate(path[:2], path[2:])

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """What takes the plan outside its recipe's envelope, the first of it; nothing without an envelope."""
        envelope = self._facts.envelope
        return () if envelope is None else tuple(islice(outside(envelope, self._effects), OUTSIDE_TOLD_MAX))

    def _aggregate(self, table: tuple[str, ...], rest: tuple[str, ...]) -> JsonValue:
        """A number, or a table of them filled with zeros for the catalogue's functions."""
        if table in BY_FUNCTION and rest:
            return self._count(table, rest[0])
        if table in BY_ARGUMENT and len(rest) > 1:
            return self._of_argument(table, rest[0], rest[1])
        if rest:
            return self._arguments_table(table, rest[0])
        if table in BY_FUNCTION:
            return {function: self._count(table, function) for function in self._vocabulary.writes}
        return {function: self._arguments_table(table, function) for function in self._vocabulary.writes}

    def _arguments_table(self, table: tuple[str, ...], function: str) -> JsonObject:
        if table == ("plan", "distinct"):
            names = tuple(self._vocabulary.arguments(function).fields)
        else:
            names = self._vocabulary.numeric_arguments(function)
        return {argument: self._of_argument(table, function, argument) for argument in names}

    def _count(self, table: tuple[str, ...], function: str) -> int:
        if table == ("plan", "counts"):
            return self._totals.count(function)
        return self._user_window().counts.get(function, 0)

    def _of_argument(self, table: tuple[str, ...], function: str, argument: str) -> int | float:
        if table == ("plan", "distinct"):
            return self._totals.distinct(function, argument)
        if table == ("plan", "sums"):
            return self._totals.sum(function, argument)
        return self._of_window(function, argument)

    def _of_window(self, function: str, argument: str) -> int | float:
        """The total of an argument over the requester's other plans."""
        totals = self._user_window()
        arguments = self._vocabulary.arguments(function)
        if function in self._vocabulary.writes and argument not in summable(arguments):
            msg = "is not kept, because the argument is not named in the function's schema"
            raise Unreadable(msg)
        plans = totals.unknown.get(function, {}).get(argument, 0)
        if plans:
            msg = f"cannot be known, because `{argument}` was not known in {plans} of the requester's other plans"
            raise Unreadable(msg)
        total = totals.sums.get(function, {}).get(argument, Decimal(0))
        return rule_number(total, arguments.step(argument) or ANY)

    def _user_window(self) -> EffectTotals:
        if self._facts.user_window is None:
            msg = "is not known here"
            raise Unreadable(msg)
        return self._facts.user_window


def _field(value: JsonObject, rest: list[str]) -> JsonValue:
    if not rest:
        return fit(ANY, value)
    if rest[0] not in value:
        msg = "is not there; test it with has() first"
        raise Unreadable(msg)
    return fit(ANY, value[rest[0]])


class EffectValues:
    """What one effect adds to the plan's values."""

    def __init__(self, effect: Effect, vocabulary: Vocabulary) -> None:
        self._effect = effect
        self._shape = vocabulary.arguments(effect.function)
        self._referenced = referenced_arguments(effect) if effect.refs else frozenset()
        self._fitted: dict[str, JsonValue | Unreadable] = {}

    def bind(self, needs: Needs, bound: Bound) -> None:
        """Adds what the condition needs of the effect."""
        values = bound.values
        values["effect.function"] = self._effect.function
        values["effect.seq"] = self._effect.seq
        values["refs"] = sorted(self._referenced)
        for name in needs.arguments:
            value = self._argument(name)
            if isinstance(value, Unreadable):
                bound.reasons[f"args.{name}"] = f"it reads the argument `{name}`, which {value}"
            else:
                values[f"args.{name}"] = value
        if needs.argument_map:
            self._bind_map(needs, bound)

    @cached_property
    def complete(self) -> bool:
        """Whether the rules may see every argument."""
        return not self._referenced and not any(
            isinstance(self._argument(name), Unreadable) for name in self._effect.args
        )

    def _argument(self, name: str) -> JsonValue | Unreadable:
        if name not in self._fitted:
            self._fitted[name] = self._fit(name)
        return self._fitted[name]

    def _fit(self, name: str) -> JsonValue | Unreadable:
        if name in self._referenced:
            return Unreadable(f"comes from the result of an earlier effect; test `'{name}' in refs` first")
        if name not in self._effect.args:
            return Unreadable("is not there; test it with has() first")
        try:
            return fit(self._shape.step(name) or ANY, self._effect.args[name])
        except Unreadable as error:
            return error

    def _bind_map(self, needs: Needs, bound: Bound) -> None:
        """The map of arguments, unless the condition asks it for something that it does not show."""
        hidden = self._referenced if needs.whole else self._referenced & needs.keys
        for name in sorted(hidden):
            bound.reasons["args"] = (
                f"it asks for the argument `{name}`, which comes from the result of an earlier effect; "
                f"test `'{name}' in refs` first"
            )
            return
        shown: JsonObject = {}
        for name in self._effect.args:
            if name in self._referenced:
                continue
            value = self._argument(name)
            if not isinstance(value, Unreadable):
                shown[name] = value
            elif needs.whole or name in needs.keys:
                bound.reasons["args"] = f"it reads the argument `{name}`, which {value}"
                return
        bound.values["args"] = shown
