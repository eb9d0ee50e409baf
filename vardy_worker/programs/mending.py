"""The two places where the grammar reads JavaScript otherwise than engines do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vardy_worker.programs.nodes import Node

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHAIN = frozenset({"member_expression", "subscript_expression", "call_expression"})
_CONTINUED_BLOCK = re.compile(r"\}(?=[ \t]{0,200}\n\s{0,1000}[(\[`])")


def goes_on_behind_a_block(source: str) -> bool:
    """Whether a line that ends with `}` is followed by one that begins with a bracket."""
    return _CONTINUED_BLOCK.search(source) is not None


def with_semicolons(source: str, nodes: Iterable[Node]) -> str:
    """The text with `;` behind arrow functions that seem to be called or indexed in the next line.

    The body of an arrow function cannot be: the language ends the statement there, the
    grammar goes on.
    """
    ends = [node.end for node in nodes if node.kind == "arrow_function" and node.field in {"function", "object"}]
    for end in sorted(ends, reverse=True):
        source = f"{source[:end]};{source[end:]}"
    return source


def with_all_semicolons(source: str) -> str:
    """The text with `;` behind every `}` that ends a line before one that begins with a bracket."""
    return _CONTINUED_BLOCK.sub("};", source)


def mend_awaits(nodes: Iterable[Node]) -> bool:
    """Makes `await (x).y` and `await [x].y` what they are; whether anything was changed.

    The grammar takes `await` there for the name of a function or an array.
    """
    found = [node for node in nodes if node.kind == "identifier" and node.text == "await" and _is_operator(node)]
    for node in found:
        _mend(node)
    return bool(found)


def _is_operator(name: Node) -> bool:
    parent = name.parent
    return parent is not None and (
        (parent.kind == "call_expression" and name.field == "function")
        or (parent.kind == "subscript_expression" and name.field == "object")
    )


def _mend(name: Node) -> None:
    """Puts an `await_expression` around the whole chain that begins behind the name."""
    wrong = name.parent
    assert wrong is not None  # noqa: S101 - narrows the type; `_is_operator` looked
    top = wrong
    while top.parent is not None and top.parent.kind in _CHAIN and top.field in {"object", "function"}:
        top = top.parent
    holder, place = top.parent, top.field
    operand = _operand(wrong, name)
    awaiting = Node(
        name.source,
        "await_expression",
        name.start,
        top.end,
        row=name.row,
        column=name.column,
        named=True,
        missing=False,
    )
    awaiting.field, awaiting.parent = place, holder
    if holder is not None:
        holder.children[next(i for i, child in enumerate(holder.children) if child is top)] = awaiting
    if top is not wrong:
        _replace(wrong, operand)
        link: Node | None = operand.parent
        while link is not None and link is not holder:
            link.start, link.row, link.column = operand.start, operand.row, operand.column
            link = link.parent
        operand = top
    name.kind, name.named, name.field, name.parent = "await", False, None, awaiting
    operand.field, operand.parent = None, awaiting
    awaiting.children = [name, operand]


def _replace(old: Node, new: Node) -> None:
    parent = old.parent
    assert parent is not None  # noqa: S101 - narrows the type; only the root has none
    parent.children[next(i for i, child in enumerate(parent.children) if child is old)] = new
    new.parent, new.field = parent, old.field


def _operand(wrong: Node, name: Node) -> Node:
    """What stands behind `await`: the arguments as parentheses, or the index as an array."""
    rest = [child for child in wrong.children if child is not name]
    if wrong.kind == "call_expression":
        operand = rest[0]
        operand.kind = "parenthesized_expression"
        inner = operand.named_children()
        if len(inner) > 1:
            operand.children = [operand.children[0], _sequence(operand), operand.children[-1]]
        return operand
    first = rest[0]
    operand = Node(
        wrong.source, "array", first.start, wrong.end, row=first.row, column=first.column, named=True, missing=False
    )
    for child in rest:
        operand.children.extend(child.children if child.kind == "sequence_expression" else [child])
    for child in operand.children:
        child.parent, child.field = operand, None
    return operand


def _sequence(parentheses: Node) -> Node:
    parts = parentheses.children[1:-1]
    first = parts[0]
    sequence = Node(
        first.source,
        "sequence_expression",
        first.start,
        parts[-1].end,
        row=first.row,
        column=first.column,
        named=True,
        missing=False,
    )
    sequence.parent, sequence.children = parentheses, parts
    for part in parts:
        part.parent = sequence
    return sequence
