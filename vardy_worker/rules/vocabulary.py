"""Everything a rule may name, with types, and the check of what it names against the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.rules.language import BOOL, DYN, INT, STRING, Path, Use, ValueType, list_of, map_of
from vardy_worker.rules.shapes import ANY, Shape, shape_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOTS = frozenset({"args", "effect", "mode", "params", "plan", "recipe", "refs", "user", "user_window"})
"""The variables of rules."""

FIXED: Mapping[tuple[str, ...], ValueType] = MappingProxyType(
    {
        ("effect", "function"): STRING,
        ("effect", "seq"): INT,
        ("mode",): STRING,
        ("plan", "duplicates"): INT,
        ("plan", "total"): INT,
        ("recipe", "name"): STRING,
        ("recipe", "within_envelope"): BOOL,
        ("refs",): list_of(STRING),
        ("user", "id"): STRING,
        ("user", "roles"): list_of(STRING),
    }
)
"""Variables that always have a value of a known type."""

OPEN: tuple[tuple[str, ...], ...] = (("params",), ("user", "attributes"))
"""Objects whose fields are the requester's."""

BY_FUNCTION: Mapping[tuple[str, ...], ValueType] = MappingProxyType(
    {("plan", "counts"): INT, ("user_window", "counts"): INT}
)
BY_ARGUMENT: Mapping[tuple[str, ...], ValueType | None] = MappingProxyType(
    {("plan", "distinct"): INT, ("plan", "sums"): None, ("user_window", "sums"): None}
)
"""Aggregates by function and argument; None: the type of the argument's sum."""

_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "effect": ("function", "seq"),
        "plan": ("counts", "distinct", "duplicates", "sums", "total"),
        "recipe": ("name", "within_envelope"),
        "user": ("attributes", "id", "roles"),
        "user_window": ("counts", "sums"),
    }
)


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable that an expression reads: its dotted name is its path."""

    path: tuple[str, ...]
    type: ValueType

    @property
    def name(self) -> str:
        """The name in expressions."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Misuse:
    """A use that names nothing, in a sentence without its capital and full stop."""

    message: str


Resolved: TypeAlias = Variable | Misuse


class Vocabulary:
    """The functions of a catalogue as rules see them. An empty catalogue knows nothing, and refuses no name."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.writes: Mapping[str, FunctionSpec] = {
            spec.name: spec for spec in catalogue.functions if spec.kind is FunctionKind.WRITE
        }
        self.reads = frozenset(spec.name for spec in catalogue.functions if spec.kind is FunctionKind.READ)
        self.known = bool(catalogue.functions)
        self._shapes = {name: shape_of(spec.input_schema) for name, spec in self.writes.items()}

    def arguments(self, function: str) -> Shape:
        """The shape of a write function's arguments; anything for an unknown one."""
        return self._shapes.get(function, ANY)

    def numeric_arguments(self, function: str) -> tuple[str, ...]:
        """The arguments of a function that can be added up."""
        return tuple(name for name, shape in self.arguments(function).fields.items() if shape.numeric)

    def check_function(self, name: str) -> str:
        """Why there can be no effect of that function; empty when there can."""
        if not self.known or name in self.writes:
            return ""
        if name in self.reads:
            return f"`{name}` is a read function, and rules see only writes"
        return f"there is no function `{name}`{near(name, self.writes)}"

    def resolve(self, use: Use) -> Resolved:
        """The variable that a use reads, where it does not depend on the effect's function."""
        path = use.path
        names = tuple(step for step in path[: use.named] if isinstance(step, str))
        root = names[0]
        for fixed, kind in FIXED.items():
            if names[: len(fixed)] == fixed:
                return Variable(fixed, kind)
        for opened in OPEN:
            if names[: len(opened)] == opened:
                return Variable(names[: len(opened) + 1], DYN if len(names) > len(opened) else map_of(DYN))
        if path[:2] in BY_FUNCTION or path[:2] in BY_ARGUMENT:
            return self._aggregate(use, names)
        fields = _FIELDS[root]
        if use.named == 1 and len(path) > 1 and path[1] in fields:
            what = f"`{root}.{path[1]}` is always there" if use.test else f"write `{root}.{path[1]}`"
            return Misuse(what)
        if len(path) > 1 and isinstance(path[1], str):
            return Misuse(f"`{root}` has no `{path[1]}`{near(path[1], fields)}")
        return Misuse(f"`{root}` is no value of its own; there are {_listed(f'{root}.{name}' for name in fields)}")

    def _aggregate(self, use: Use, names: tuple[str, ...]) -> Resolved:
        if len(names) == 1:
            return Misuse(f"write `{use.path[0]}.{use.path[1]}` with a dot")
        if use.test:
            return Misuse("what a plan does not contain is 0, never missing, so compare it with 0")
        table = names[:2]
        message = self._check_aggregate(table, use.path[2:])
        if message:
            return Misuse(message)
        if table in BY_FUNCTION:
            kind = BY_FUNCTION[table]
            return Variable(names[:3], kind if len(names) > 2 else map_of(kind))  # noqa: PLR2004 - root, table, function
        if len(names) > 3:  # noqa: PLR2004 - root, table, function, argument
            return Variable(names[:4], BY_ARGUMENT[table] or self.sum_type(names[2], names[3]))
        return Variable(names, map_of(DYN))

    def _check_aggregate(self, table: tuple[str, ...], rest: Path) -> str:
        """What is wrong with `<function>` or `<function>.<argument>` of an aggregate."""
        if not rest or not isinstance(rest[0], str):
            return ""
        function = rest[0]
        problem = self.check_function(function)
        if problem or table in BY_FUNCTION or len(rest) == 1 or not isinstance(rest[1], str):
            return problem
        shape = self.arguments(function).step(rest[1])
        if shape is None:
            return self._no_argument(function, rest[1])
        if BY_ARGUMENT[table] is None and shape.kind != "any" and not shape.numeric:
            return f"`{rest[1]}` of `{function}` is no number, so it has no sum"
        return ""

    def sum_type(self, function: str, argument: str) -> ValueType:
        """The type of an argument's sum."""
        shape = self.arguments(function).step(argument) or ANY
        return DYN if shape.kind == "any" else INT if shape.kind == "int" else ValueType("double")

    def check_argument(self, function: str, path: Path) -> str:
        """What is wrong with a path into a function's arguments; empty when it may exist."""
        shape, taken = walk(self.arguments(function), path)
        if shape is not None:
            return ""
        missing = path[taken]
        if taken == 0:
            return self._no_argument(function, str(missing))
        inside = ".".join(step if isinstance(step, str) else "[]" for step in ("args", *path[:taken])).replace(
            ".[]", "[]"
        )
        parent, _ = walk(self.arguments(function), path[:taken])
        return f"`{inside}` of `{function}` has no `{missing}`{near(str(missing), parent.fields if parent else ())}"

    def _no_argument(self, function: str, name: str) -> str:
        return f"`{function}` has no argument `{name}`{near(name, self.arguments(function).fields)}"


def near(name: str, names: Iterable[str]) -> str:
    """Which of the names may be meant, to end a sentence with; "" where there are none."""
    known = sorted(names)
    near = get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; there are {_listed(known)}" if known else ""


def _listed(names: Iterable[str]) -> str:
    shown = [f"`{name}`" for name in names]
    most = 12
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
