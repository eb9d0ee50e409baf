"""The envelope of a recipe: how much its plans may do and still be what was reviewed."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, StrictInt

from vardy_worker.contracts.base import Contract, safe_integers
from vardy_worker.contracts.totals import EXPONENT_MAX

DIGITS_MAX = 1000
"""Characters of a number in text; with more it is none."""
EFFECTS_MAX = 2**31

_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")


def exact_number(value: object) -> Decimal | None:
    """A number, or a text that is one, without rounding; None for anything else.

    A float counts as the decimal that it is written as. Numbers beyond 10^±400 are none, as
    they could not be added up exactly.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = repr(value) if isinstance(value, float) else value
    if isinstance(text, str) and (len(text) > DIGITS_MAX or not _NUMBER.fullmatch(text)):
        return None
    number = Decimal(text)
    widest = max(abs(number.adjusted()), -int(number.as_tuple().exponent))
    return number if widest <= EXPONENT_MAX or not number else None


def _bound(value: object) -> object:
    if exact_number(value) is None:
        msg = 'is a number, or a decimal number as text such as "0.10"'
        raise ValueError(msg)
    return safe_integers(value)


Bound = Annotated[int | float | str, BeforeValidator(_bound)]
"""A number as it was written. Integers beyond ±(2^53 - 1) become decimal strings, as in plans."""


class Bounds(Contract):
    """Of one numeric argument: what each value may be, and all of them together in one plan."""

    min: Bound | None = Field(None, description="no value is below it")
    max: Bound | None = Field(None, description="no value is above it")
    sum_max: Bound | None = Field(None, description="the values above zero add up to no more")


class FunctionEnvelope(Contract):
    """Of one write function: how many effects one plan may have, and what their arguments may be."""

    effects_max: StrictInt = Field(ge=1, le=EFFECTS_MAX)
    arguments: dict[str, Bounds] = Field(default_factory=dict, description="by argument; others may be anything")


class Envelope(Contract):
    """Bounds on the plans of a recipe. A function that is not named is outside."""

    functions: dict[str, FunctionEnvelope]
    effects_max: StrictInt | None = Field(
        None, ge=1, le=EFFECTS_MAX, description="effects of one plan, of all functions"
    )
