"""The expression language of rules, as the rest of `rules` sees it.

Small on purpose, so that CEL can be replaced: a language parses a text, says which names
it uses and where, compiles it against typed variables, and runs it over bound values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.rules.formula import Formula


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a variable. `of` is what a list holds, or a map under its text keys.

    `nullable` goes with the four plain types only.
    """

    kind: Literal["bool", "int", "double", "string", "list", "map", "dyn"]
    of: ValueType | None = None
    nullable: bool = False


BOOL = ValueType("bool")
INT = ValueType("int")
DOUBLE = ValueType("double")
STRING = ValueType("string")
DYN = ValueType("dyn")


def list_of(item: ValueType) -> ValueType:
    """The type of a list."""
    return ValueType("list", item)


def map_of(value: ValueType) -> ValueType:
    """The type of a map from texts."""
    return ValueType("map", value)


class Item(Enum):
    """A step of a path whose name only the evaluation knows: an element, or a computed key."""

    ITEM = "[]"


ITEM = Item.ITEM

Path: TypeAlias = tuple[str | Item, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """One place where an expression names something outside itself.

    The first `named` steps of `path` are written with dots, so that together they can be
    the name of one variable; the rest is looked up in its value. `test` marks a question
    whether the last step exists, which reads no value. `offset` is where the first name
    stands in the text, in characters; None where a loop variable stands for it.
    """

    path: Path
    named: int
    test: bool
    line: int
    column: int
    offset: int | None


@dataclass(frozen=True, slots=True)
class ExpressionProblem:
    """Why a text is no expression. `line` and `column` count from 1; 0: unknown."""

    message: str
    line: int = 0
    column: int = 0


class ExpressionError(Exception):
    """A text cannot be parsed or compiled."""

    def __init__(self, *problems: ExpressionProblem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


class UntypedExpression(ExpressionError):  # noqa: N818 - named for the state, as `Unbound` and `Failed`
    """A text cannot be compiled for want of types; with more of them known it might be."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """The expression needed a variable that has no value."""

    variable: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The expression could not be evaluated. `reason` contains none of the values."""

    reason: str


Outcome: TypeAlias = bool | Unbound | Failed


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text that is syntactically an expression, everything it names outside itself, and what it asks."""

    text: str
    uses: tuple[Use, ...]
    formula: Formula | None = None
    """None for a language that does not tell."""


Scope: TypeAlias = Any
"""Values bound to names, in a language's own form; used by one thread."""


class Program(Protocol):
    """A compiled expression. May be run by many threads at once."""

    def run(self, scope: Scope) -> Outcome:
        """What the expression says; never raises."""


class Language(Protocol):
    """An expression language."""

    def parse(self, text: str) -> Parsed:
        """Raises `ExpressionError`."""

    def compile(self, parsed: Parsed, variables: Mapping[str, ValueType]) -> Program:
        """Checks types; the result must be boolean, as far as types tell. Raises `ExpressionError`."""

    def bind(self, values: Mapping[str, JsonValue]) -> Scope:
        """Makes values known by (dotted) name."""
