"""Whether a plan stays within the envelope that a recipe was reviewed with.

Whatever cannot be known is outside: an argument that is bounded and missing, a reference, no
number. An effect that is left out, or an amount that is lowered and is not below its `min`, never
takes a plan outside: amounts below zero make no room for others.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

from vardy_worker.contracts.envelope import Bounds, Envelope, FunctionEnvelope, exact_number
from vardy_worker.contracts.totals import EXACTLY
from vardy_worker.rules.aggregates import referenced_arguments
from vardy_worker.rules.shapes import Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.plan import Effect


def outside(envelope: Envelope, effects: Sequence[Effect]) -> Iterator[str]:
    """What takes a plan outside, in sentences without values; nothing for a plan that is within."""
    if envelope.effects_max is not None and len(effects) > envelope.effects_max:
        yield f"The plan has {len(effects)} effects; the envelope has at most {envelope.effects_max}."
    by_function: dict[str, list[Effect]] = defaultdict(list)
    for effect in effects:
        by_function[effect.function].append(effect)
    for function, group in by_function.items():
        bounds = envelope.functions.get(function)
        if bounds is None:
            yield f"`{function}` is not in the envelope."
        else:
            yield from _function_outside(function, bounds, group)


def _function_outside(function: str, bounds: FunctionEnvelope, effects: Sequence[Effect]) -> Iterator[str]:
    if len(effects) > bounds.effects_max:
        yield f"The plan calls `{function}` {len(effects)} times; the envelope has at most {bounds.effects_max}."
    for argument, bound in bounds.arguments.items():
        numbers: list[Decimal] = []
        for effect in effects:
            number = None if argument in referenced_arguments(effect) else exact_number(effect.args.get(argument))
            if number is None:
                yield f"`{argument}` of effect {effect.seq} is not a number that is known when the plan is made."
                continue
            numbers.append(number)
            yield from _value_outside(argument, bound, effect.seq, number)
        if _exceeds(numbers, exact_number(bound.sum_max)):
            yield f"The `{argument}` of all `{function}` add up to more than {bound.sum_max}."


def _value_outside(argument: str, bound: Bounds, seq: int, number: Decimal) -> Iterator[str]:
    least, most = exact_number(bound.min), exact_number(bound.max)
    if least is not None and number < least:
        yield f"`{argument}` of effect {seq} is below {bound.min}."
    if most is not None and number > most:
        yield f"`{argument}` of effect {seq} is above {bound.max}."


def _exceeds(numbers: Sequence[Decimal], most: Decimal | None) -> bool:
    return most is not None and _added_up(numbers) > most


def _added_up(numbers: Iterable[Decimal]) -> Decimal:
    """The exact sum of those above zero: an `exact_number` has no digit beyond those that `EXACTLY` keeps."""
    total = Decimal(0)
    for number in numbers:
        total = EXACTLY.add(total, max(number, Decimal(0)))
    return total


def seen(effects: Sequence[Effect], catalogue: Catalogue) -> Envelope:
    """The smallest envelope around a plan with effects, for a reviewer to widen.

    Bounded are the numeric arguments that every effect of a function gives a number, but for
    those whose name says that they identify something: `id`, or an end in `_id` or `Id`.
    """
    by_function: dict[str, list[Effect]] = defaultdict(list)
    for effect in effects:
        by_function[effect.function].append(effect)
    functions = {}
    for function, group in sorted(by_function.items()):
        spec = catalogue.get(function)
        arguments = {} if spec is None else shape_of(spec.input_schema).fields
        functions[function] = FunctionEnvelope(effects_max=len(group), arguments=dict(_seen_bounds(group, arguments)))
    return Envelope(functions=functions, effects_max=len(effects))


def _seen_bounds(effects: Sequence[Effect], arguments: Mapping[str, Shape]) -> Iterator[tuple[str, Bounds]]:
    for argument, shape in arguments.items():
        if not shape.numeric or argument == "id" or argument.endswith(("_id", "Id")):
            continue
        values = [None if argument in referenced_arguments(e) else e.args.get(argument) for e in effects]
        known = [(number, value) for value in values if (number := exact_number(value)) is not None]
        if len(known) < len(values):
            continue
        total = _added_up(number for number, _ in known)
        least, most = min(known, key=_number), max(known, key=_number)
        yield argument, Bounds(min=least[1], max=most[1], sum_max=_written(total))


def _number(known: tuple[Decimal, JsonValue]) -> Decimal:
    return known[0]


def _written(number: Decimal) -> int | str:
    return int(number) if number == number.to_integral_value() else format(number, "f")
