"""Nodes of a syntax tree."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_NEAR_MAX = 400


class Node:
    """One node. `start` and `end` are character offsets; `row` and `column` count from 0."""

    __slots__ = ("children", "column", "end", "field", "kind", "missing", "named", "parent", "row", "source", "start")

    def __init__(
        self, source: str, kind: str, start: int, end: int, *, row: int, column: int, named: bool, missing: bool
    ) -> None:
        self.source = source
        self.kind = kind
        self.start = start
        self.end = end
        self.row = row
        self.column = column
        self.named = named
        self.missing = missing
        self.field: str | None = None
        self.parent: Node | None = None
        self.children: list[Node] = []

    def __repr__(self) -> str:
        return f"Node({self.kind}, {self.text!r})"

    @property
    def text(self) -> str:
        """The source of the node."""
        return self.source[self.start : self.end]

    def get(self, name: str) -> Node | None:
        """The first child in the field of that name."""
        return next((child for child in self.children if child.field == name), None)

    def named_children(self) -> list[Node]:
        """The children that are not punctuation or keywords."""
        return [child for child in self.children if child.named]

    def has_token(self, token: str) -> bool:
        """Whether a keyword or punctuation is a direct child."""
        return any(child.kind == token and not child.named for child in self.children)

    def walk(self, into: Callable[[Node], bool] = lambda _: True) -> Iterator[Node]:
        """The node and all below it, in source order; below a node only where `into` says so."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node is self or into(node):
                stack.extend(reversed(node.children))

    def ancestors(self) -> Iterator[Node]:
        """The parent, its parent, and so on to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def near(self) -> Iterator[Node]:
        """The nearest of its ancestors: more than programs have that people or models write."""
        return islice(self.ancestors(), _NEAR_MAX)

    def is_within(self, other: Node) -> bool:
        """Whether the node is `other` or below it."""
        return self is other or any(ancestor is other for ancestor in self.ancestors())
