"""What a condition asks, as far as logic can tell: and, or, not, comparisons; the rest is opaque.

Everything here is about conditions that are *true*. An evaluation that fails is neither true
nor false, and logic holds all the same: `a && b` is true only when both are, `a || b` only when
one is, and a comparison that is true has seen a value of the right type.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Operator = Literal["<", "<=", ">", ">=", "==", "!="]
Value: TypeAlias = bool | int | float | str | None

ALTERNATIVES_MAX = 64
"""Ways in which a condition can become true that are told apart; a condition with more is not judged."""

OPPOSITE: Mapping[Operator, Operator] = MappingProxyType(
    {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
)
_COMPARE: Mapping[Operator, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A variable compared with a literal."""

    subject: str
    operator: Operator
    value: Value
    kind: str = field(init=False)
    """Of the value: Python takes `True` for 1, and conditions do not."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _kind(self.value))

    def __str__(self) -> str:
        return f"{self.subject} {self.operator} {json.dumps(self.value, ensure_ascii=False)}"

    def opposite(self) -> Comparison:
        """What is true where this is false."""
        return Comparison(self.subject, OPPOSITE[self.operator], self.value)


@dataclass(frozen=True, slots=True)
class Fact:
    """Anything else that is true or false. Equal texts mean the same, however they were written."""

    text: str
    holds: bool = True

    def opposite(self) -> Fact:
        """The same, denied."""
        return Fact(self.text, not self.holds)


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false, always."""

    value: bool


@dataclass(frozen=True, slots=True)
class Not:
    """True where the part is false."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Both:
    """True where both are."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Either:
    """True where one is."""

    left: Formula
    right: Formula


Atom: TypeAlias = Comparison | Fact
Formula: TypeAlias = Comparison | Fact | Truth | Not | Both | Either
Alternative: TypeAlias = frozenset[Comparison | Fact]
"""Atoms that are true together; a condition is true where one of its alternatives is."""


def alternatives(formula: Formula) -> tuple[Alternative, ...] | None:
    """The ways in which the formula can be true; none for one that cannot, None for too many."""
    return _ways(formula, holds=True)


def _ways(formula: Formula, *, holds: bool) -> tuple[Alternative, ...] | None:
    match formula:
        case Comparison() | Fact():
            return (frozenset({formula if holds else formula.opposite()}),)
        case Truth(value=value):
            return (frozenset(),) if value is holds else ()
        case Not(part=part):
            return _ways(part, holds=not holds)
    left, right = _ways(formula.left, holds=holds), _ways(formula.right, holds=holds)
    if left is None or right is None:
        return None
    if isinstance(formula, Both) is holds:
        if len(left) * len(right) > ALTERNATIVES_MAX:
            return None
        return tuple(dict.fromkeys(one | other for one, other in product(left, right)))
    return (*left, *right) if len(left) + len(right) <= ALTERNATIVES_MAX else None


@dataclass(frozen=True, slots=True)
class Domain:
    """What is known of variables beforehand.

    `least` are numbers that a variable never goes below, by name or by its prefix with a
    dot at its end. `choices` are the only values that a variable has. `sure` names those, in
    the same way, that always have a value, so that comparing them cannot fail.
    """

    least: Mapping[str, int]
    choices: Mapping[str, frozenset[str]]
    sure: frozenset[str]

    def least_of(self, subject: str) -> int | None:
        """The least value of a variable; None where nothing is known."""
        return next((least for name, least in self.least.items() if _named(subject, name)), None)

    def is_sure(self, subject: str) -> bool:
        """Whether the variable always has a value."""
        return any(_named(subject, name) for name in self.sure)


def _named(subject: str, name: str) -> bool:
    """Whether the subject is that variable, or one below it; a sum that begins with one is neither."""
    return subject == name or (name.endswith(".") and subject.startswith(name) and " " not in subject)


def contradiction(atoms: Alternative, domain: Domain) -> tuple[Atom, ...] | None:
    """One or two atoms that cannot be true together; None when no such are found."""
    for atom in atoms:
        if isinstance(atom, Fact) and atom.opposite() in atoms:
            return (atom if atom.holds else atom.opposite(),)
    for told in _by_subject(atoms).values():
        for index, one in enumerate(told):
            if _impossible(one, domain):
                return (one,)
            for other in told[index + 1 :]:
                if _exclusive(one, other) or _exclusive(other, one):
                    return (one, other)
    return None


def _by_subject(atoms: Iterable[Atom]) -> dict[str, list[Comparison]]:
    found: dict[str, list[Comparison]] = {}
    for atom in sorted((each for each in atoms if isinstance(each, Comparison)), key=str):
        found.setdefault(atom.subject, []).append(atom)
    return found


def _impossible(told: Comparison, domain: Domain) -> bool:
    """Whether the comparison alone is never true."""
    if told.value is None and told.operator not in {"==", "!="}:
        return True
    choices = domain.choices.get(told.subject)
    if choices is not None and told.operator == "==" and told.value not in choices:
        return True
    least = domain.least_of(told.subject)
    return least is not None and _exclusive(told, Comparison(told.subject, ">=", least))


def _exclusive(one: Comparison, other: Comparison) -> bool:
    """Whether two comparisons of one variable cannot both be true."""
    if one.operator == "==":
        return not _true_of(one.value, other)
    if one.operator == "!=" or other.operator in {"==", "!="}:
        return False
    if one.kind != other.kind:
        return True
    rising = one.operator in {">", ">="}
    if rising is (other.operator in {">", ">="}):
        return False
    low, high = (one, other) if rising else (other, one)
    touching = low.operator == ">=" and high.operator == "<="
    return not _COMPARE["<=" if touching else "<"](low.value, high.value)


def _true_of(value: Value, told: Comparison) -> bool:
    """Whether the comparison is true of the value."""
    if _kind(value) != told.kind:
        return told.operator == "!="
    if value is None and told.operator not in {"==", "!="}:
        return False
    return _COMPARE[told.operator](value, told.value)


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else type(value).__name__


def implies(first: Sequence[Alternative], second: Sequence[Alternative], domain: Domain) -> bool:
    """Whether the second condition is true wherever the first is, for certain."""
    return all(
        any(all(_follows(atom, given, domain) for atom in wanted) for wanted in second)
        for given in first
        if contradiction(given, domain) is None
    )


def _follows(atom: Atom, given: Alternative, domain: Domain) -> bool:
    if atom in given:
        return True
    if isinstance(atom, Fact):
        return False
    if domain.is_sure(atom.subject):
        least = domain.least_of(atom.subject)
        if least is not None and _entails(Comparison(atom.subject, ">=", least), atom):
            return True
    return any(isinstance(each, Comparison) and each.subject == atom.subject and _entails(each, atom) for each in given)


def _entails(known: Comparison, asked: Comparison) -> bool:
    """Whether a comparison is true wherever another one of the same variable is."""
    if known.operator == "==":
        return _true_of(known.value, asked)
    if known.operator == "!=":
        return False
    if asked.operator == "==":
        return False
    if asked.operator == "!=":
        return _exclusive(Comparison(asked.subject, "==", asked.value), known)
    if known.kind != asked.kind:
        return False
    rising = known.operator in {">", ">="}
    if rising is not (asked.operator in {">", ">="}):
        return False
    if known.value == asked.value:
        return not (known.operator in {">=", "<="} and asked.operator in {">", "<"})
    return _COMPARE[">" if rising else "<"](known.value, asked.value)
