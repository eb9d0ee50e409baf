"""Whether a rule can only get stricter while a plan grows.

Where all rules are so, a plan that is not allowed stays so whatever is added to it, and the
smallest change can be known without trying every set of effects.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from vardy_worker.contracts.policy import Verdict
from vardy_worker.rules.formula import Both, Comparison, Either, Fact, Not, Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vardy_worker.rules.compile import Check
    from vardy_worker.rules.formula import Formula, Operator, Value

_CONVERTED = re.compile(r"(?:int|double)\((.*)\)")
_GROWING = re.compile(r"plan\.(?:total|duplicates|counts\.\w+|distinct\.\w+\.\w+)")
_SUM = re.compile(r"plan\.sums\.(\w+)\.(\w+)")
_WITHIN = "recipe.within_envelope"
_ASKED: Mapping[tuple[Operator, Value], bool] = MappingProxyType(
    {("==", True): True, ("!=", False): True, ("==", False): False, ("!=", True): False}
)
"""Whether a comparison with true or false asks for a plan within its envelope, or outside it."""


def only_stricter(check: Check, never_negative: Callable[[str, str], bool]) -> bool:
    """Whether more effects only make the rule match more; for an allow rule, only less.

    `never_negative` says of a function's argument whether all of its values are at least 0.
    An allow rule must be one conjunction: then it can fail in a larger plan only if it fails
    for the effect alone, which the caller looks at.
    """
    if check.formula is None:
        return False
    allows = check.rule.then is Verdict.ALLOW
    return _Walk(never_negative, flat=allows).moves(check.formula, up=not allows)


class _Walk:
    def __init__(self, never_negative: Callable[[str, str], bool], *, flat: bool) -> None:
        self._never_negative = never_negative
        self._flat = flat

    def moves(self, formula: Formula, *, up: bool) -> bool:
        """Whether the formula, as the plan grows, only becomes true (`up`), or only false."""
        match formula:
            case Truth():
                return True
            case Fact():
                return not any(name in formula.text for name in ("plan", "effect.seq", _WITHIN))
            case Comparison():
                return self._compared(formula, up=up)
            case Not(part=part):
                simple = isinstance(part, Comparison | Fact | Truth)
                return (simple or not self._flat) and self.moves(part, up=not up)
            case Both() | Either():
                if self._flat and isinstance(formula, Either):
                    return False
                return self.moves(formula.left, up=up) and self.moves(formula.right, up=up)

    def _compared(self, told: Comparison, *, up: bool) -> bool:
        if told.subject == _WITHIN:
            # A plan that grows only ever leaves its envelope.
            asked = _ASKED.get((told.operator, told.value))
            return asked is not None and up is not asked
        terms = [self._growth(term) for term in told.subject.split(" + ")]
        if None in terms:
            return False
        return not any(terms) or told.operator in ({">", ">="} if up else {"<", "<="})

    def _growth(self, term: str) -> bool | None:
        """Whether a variable grows with the plan; None where it may move both ways."""
        converted = _CONVERTED.fullmatch(term)
        name = converted[1] if converted else term
        if not re.search(r"\bplan\b|\beffect\.seq\b", name):
            return False
        if _GROWING.fullmatch(name):
            return True
        sums = _SUM.fullmatch(name)
        return True if sums and self._never_negative(sums[1], sums[2]) else None
