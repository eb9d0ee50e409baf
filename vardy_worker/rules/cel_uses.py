"""Which outside names a CEL expression uses, and how: the base of all checks against schemas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from vardy_worker.rules.cel_wire import Call, Expr, Group, Ident, Loop, Select, Text
from vardy_worker.rules.language import ITEM, ExpressionError, ExpressionProblem, Path, Use
from vardy_worker.rules.vocabulary import ROOTS

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPE_NAMES = frozenset(
    {
        "bool",
        "bytes",
        "double",
        "duration",
        "dyn",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "timestamp",
        "type",
        "uint",
    }
)
"""Names of types are values in CEL: `type(x) == string`."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """A run of selections and indexes from a root."""

    path: Path
    named: int
    root: int | None
    """The node of the root's name; None where a loop variable stands for it."""
    test: bool = False


_Scope = dict[str, _Chain | None]
"""Loop variables: what they range over, or None where that is no chain."""


def find_uses(tree: Expr, text: str, offsets: Mapping[int, int]) -> tuple[Use, ...]:
    """The uses in an expression. Raises `ExpressionError` for names that cannot exist.

    `offsets` says where each node stands in the text.
    """
    finder = _Finder(text, offsets)
    finder.visit(tree, {})
    if finder.problems:
        raise ExpressionError(*finder.problems)
    return tuple(dict.fromkeys(finder.uses))


class _Finder:
    def __init__(self, text: str, offsets: Mapping[int, int]) -> None:
        self._text = text
        self._offsets = offsets
        self.uses: list[Use] = []
        self.problems: list[ExpressionProblem] = []

    def visit(self, node: Expr, scope: _Scope) -> None:
        chain = self._chain(node, scope)
        if chain is not None:
            self._use(chain, node)
            return
        match node:
            case Ident():
                if node.name not in scope:
                    self._unknown(node)
            case Call(function="@in", operands=(Text(value=key), container)) if inner := self._chain(container, scope):
                self._use(replace(inner, path=(*inner.path, key), test=True), node)
            case Loop():
                self._loop(node, scope)
            case _:
                for part in _parts(node):
                    self.visit(part, scope)

    def _chain(self, node: Expr, scope: _Scope) -> _Chain | None:
        """The chain that a node is, with its computed indexes visited; None when it is none."""
        match node:
            case Ident(name=name):
                if name in scope:
                    return scope[name]
                return _Chain((name,), 1, node.id) if name in ROOTS else None
            case Select():
                inner = self._chain(node.operand, scope)
                if inner is None:
                    return None
                named = inner.named + 1 if inner.named == len(inner.path) and not node.test else inner.named
                return _Chain((*inner.path, node.field), named, inner.root, node.test)
            case Call(function="_[_]", operands=(operand, index)):
                inner = self._chain(operand, scope)
                if inner is None:
                    return None
                if isinstance(index, Text):
                    return replace(inner, path=(*inner.path, index.value))
                self.visit(index, scope)
                return replace(inner, path=(*inner.path, ITEM))
            case _:
                return None

    def _loop(self, node: Loop, scope: Mapping[str, _Chain | None]) -> None:
        over = self._chain(node.range, dict(scope))
        self.visit(node.range, dict(scope))
        if node.iterator in ROOTS:
            self._problem(node, f"`{node.iterator}` cannot be a loop variable, because it is the name of a variable")
        inner: _Scope = {**scope, **dict.fromkeys(node.variables)}
        inner[node.iterator] = replace(over, path=(*over.path, ITEM), root=None) if over else None
        self.visit(node.start, dict(scope))
        for step in node.steps:
            self.visit(step, inner)

    def _use(self, chain: _Chain, node: Expr) -> None:
        offset = self._offset_of(node.id if chain.root is None else chain.root)
        line, column = position(self._text, offset)
        self.uses.append(Use(chain.path, chain.named, chain.test, line, column, None if chain.root is None else offset))

    def _unknown(self, node: Ident) -> None:
        if node.name in _TYPE_NAMES or node.name.startswith("google.protobuf."):
            return
        near = get_close_matches(node.name.lstrip("."), ROOTS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(f'`{root}`' for root in sorted(ROOTS))}"
        self._problem(node, f"there is no variable `{node.name}`; {hint}")

    def _offset_of(self, node: int) -> int:
        return self._offsets.get(node, 0)

    def _problem(self, node: Expr, message: str) -> None:
        line, column = position(self._text, self._offset_of(node.id))
        self.problems.append(ExpressionProblem(message, line, column))


def _parts(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.operands
        case Group():
            return node.parts
        case _:
            return ()


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column (from 1) of a character offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
