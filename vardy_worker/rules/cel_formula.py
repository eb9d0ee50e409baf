"""CEL's syntax trees as formulas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from vardy_worker.rules.cel_wire import Call, Constant, Expr, Group, Ident, Loop, Select, Text
from vardy_worker.rules.formula import ALTERNATIVES_MAX, Both, Comparison, Either, Fact, Formula, Not, Truth
from vardy_worker.rules.vocabulary import ROOTS

if TYPE_CHECKING:
    from vardy_worker.rules.formula import Operator, Value

_OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "==", "_!=_": "!="}
)
_MIRRORED: Mapping[Operator, Operator] = MappingProxyType(
    {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
)
_PLAIN_CONSTANTS = frozenset({1, 2, 3, 5})
"""Null, bool, int, double: literals whose values compare in Python as they do in CEL."""


class _NoLiteral:
    """No value, where null is one."""


_NO_LITERAL = _NoLiteral()


def formula_of(tree: Expr) -> Formula:
    """What the tree asks."""
    match tree:
        case Call(function="_&&_", operands=(left, right)):
            return Both(formula_of(left), formula_of(right))
        case Call(function="_||_", operands=(left, right)):
            return Either(formula_of(left), formula_of(right))
        case Call(function="!_", operands=(part,)):
            return Not(formula_of(part))
        case Call(function="@in", operands=(member, Group(kind="list", parts=(_, *_) as items))):
            return _one_of(tree, member, items)
        case Call(function=function, operands=(left, right)) if function in _OPERATORS:
            return _comparison(tree, _OPERATORS[function], left, right)
        case Constant(kind=2, value=bool() as value):
            return Truth(value)
        case _:
            name = _name(tree)
            return Comparison(name, "==", value=True) if name else Fact(_text(tree))


def _comparison(tree: Call, operator: Operator, left: Expr, right: Expr) -> Formula:
    one, other = _literal(left), _literal(right)
    if isinstance(one, _NoLiteral) is isinstance(other, _NoLiteral):
        return Fact(_text(tree))
    if isinstance(other, _NoLiteral):
        left, other, operator = right, one, _MIRRORED[operator]
    subject = _subject(left)
    return Comparison(subject, operator, other) if subject and not isinstance(other, _NoLiteral) else Fact(_text(tree))


def _one_of(tree: Call, member: Expr, items: tuple[Expr, ...]) -> Formula:
    subject = _subject(member)
    values = [_literal(item) for item in items]
    if not subject or len(values) > ALTERNATIVES_MAX or any(isinstance(value, _NoLiteral) for value in values):
        return Fact(_text(tree))
    found: Formula = Truth(value=False)
    for value in values:
        if not isinstance(value, _NoLiteral):
            found = Either(found, Comparison(subject, "==", value))
    return found


def _literal(node: Expr) -> Value | _NoLiteral:
    match node:
        case Text(value=text):
            return text
        case Constant(kind=kind, value=value) if kind in _PLAIN_CONSTANTS and not isinstance(value, bytes):
            return value
        case Call(function="-_", operands=(Constant(kind=3 | 5, value=int() | float() as value),)):
            return -value
        case _:
            return _NO_LITERAL


def _subject(node: Expr) -> str:
    """What a comparison is about, as a person would write it; empty for anything but names, their sums, and sizes."""
    match node:
        case Call(function="_+_", operands=(left, right)):
            one, other = _subject(left), _subject(right)
            return f"{one} + {other}" if one and other and " + " not in other else ""
        case Call(function="size" | "int" | "double" as function, operands=(operand,)):
            inner = _name(operand)
            return f"{function}({inner})" if inner else ""
        case _:
            return _name(node)


def _name(node: Expr) -> str:
    """The dotted name that a node is; empty when it is none."""
    match node:
        case Ident(name=name) if name in ROOTS:
            return name
        case Select(operand=operand, field=field, test=False):
            inner = _name(operand)
            return f"{inner}.{field}" if inner else ""
        case _:
            return ""


def _text(node: Expr) -> str:
    """The same for trees that mean the same: without places, blanks and brackets."""
    match node:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=field, test=test):
            return f"has({_text(operand)}.{field})" if test else f"{_text(operand)}.{field}"
        case Text(value=value):
            return repr(value)
        case Constant(kind=kind, value=value):
            return f"{kind}:{value!r}"
        case Call(function=function, operands=operands):
            return f"{function}({', '.join(map(_text, operands))})"
        case Loop():
            inner = [node.range, node.start, *node.steps]
            return f"loop({', '.join(node.variables)}: {', '.join(map(_text, inner))})"
        case Group(kind="message"):
            # Its field names are not known here, so it is like nothing else.
            return f"message#{id(node)}"
        case Group(kind=kind, parts=parts):
            return f"{kind}({', '.join(map(_text, parts))})"
