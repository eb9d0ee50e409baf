"""CEL expressions in their serialised form (protocol buffers `cel.expr`), read and changed.

The CEL library compiles and runs, but shows no syntax tree; it does give and take
serialised expressions. Field numbers: https://github.com/google/cel-spec, `proto/cel/expr`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Field: TypeAlias = tuple[int, int, int | bytes]
"""Field number, wire type, and an integer (wire type 0) or raw bytes."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_MORE = 0x80
"""The bit of a varint's byte that says that another byte follows."""

ARITHMETIC = frozenset({"_+_", "_-_", "_*_", "_/_", "double"})
"""The functions that can make a float that is not finite out of finite values."""

TYPE_DOUBLE = b"\x18\x04"
"""`Type{primitive: DOUBLE}`; the others alike."""
_TYPE_BOOL, _TYPE_STRING, _TYPE_ANY = b"\x18\x01", b"\x18\x05", b"\x0a\x00"
TYPE_DYN = 1
"""The field of `Type` that is set for a type known only at run time."""


@dataclass(frozen=True, slots=True)
class Ident:
    """A name."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or `has(operand.field)`."""

    id: int
    operand: Expr
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal."""

    id: int
    value: str


@dataclass(frozen=True, slots=True)
class Constant:
    """Any other literal: `value` as CEL has it, of the variant `kind` of `cel.expr.Constant`."""

    id: int
    kind: int
    value: bool | int | float | bytes | None


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator."""

    id: int
    function: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A comprehension; `variables` are visible in `steps` only."""

    id: int
    range: Expr
    start: Expr
    iterator: str
    variables: tuple[str, ...]
    steps: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A list, a map (keys and values in turn), or a message, whose field names are not kept."""

    id: int
    parts: tuple[Expr, ...]
    kind: Literal["list", "map", "message"] = "message"


Expr: TypeAlias = Ident | Select | Text | Constant | Call | Loop | Group


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message, in order."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = _varint(message, at)
            yield number, wire, value
            continue
        if wire == BYTES:
            size, at = _varint(message, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:
            msg = f"wire type {wire} in a serialised expression"
            raise ValueError(msg)
        yield number, wire, message[at : at + size]
        at += size


def message(*parts: Field) -> bytes:
    """The message of the given fields."""
    out = bytearray()
    for number, wire, value in parts:
        out += _number(number << 3 | wire)
        if isinstance(value, int):
            out += _number(value)
        else:
            if wire == BYTES:
                out += _number(len(value))
            out += value
    return bytes(out)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & (_MORE - 1)) << shift
        if byte < _MORE:
            return value, at
        shift += 7


def _number(value: int) -> bytes:
    out = bytearray()
    while value >= _MORE:
        out.append(value & (_MORE - 1) | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def _get(data: bytes, number: int) -> bytes:
    """The last value of a message field; empty when it is not set."""
    found = b""
    for each, _, value in fields(data):
        if each == number and isinstance(value, bytes):
            found = value
    return found


def _text(data: bytes, number: int) -> str:
    return _get(data, number).decode()


def unwrap(serialised: bytes) -> bytes:
    """The expression inside the `google.protobuf.Any` that the library hands out."""
    return _get(serialised, 2)


# --- reading a parsed expression ---------------------------------------------------------


def read_parsed(serialised: bytes) -> tuple[Expr, dict[int, int]]:
    """The tree of a parsed expression, and the offset (in characters) of each node by its id."""
    parsed = unwrap(serialised)
    positions: dict[int, int] = {}
    for number, _, value in fields(_get(parsed, 3)):
        if number == 4 and isinstance(value, bytes):  # noqa: PLR2004 - a field number
            entry = {key: item for key, wire, item in fields(value) if wire == VARINT}
            positions[_int(entry.get(1, 0))] = _int(entry.get(2, 0))
    return _expr(_get(parsed, 2)), positions


def _int(value: int | bytes) -> int:
    return value if isinstance(value, int) else 0


def _expr(data: bytes) -> Expr:
    node_id, kind, body = 0, 0, b""
    for number, _, value in fields(data):
        if isinstance(value, int):
            node_id = value
        else:
            kind, body = number, value
    match kind:
        case 3:
            return _literal(node_id, body)
        case 4:
            return Ident(node_id, _text(body, 1))
        case 5:
            test = any(number == 3 and value for number, _, value in fields(body))  # noqa: PLR2004 - test_only
            return Select(node_id, _expr(_get(body, 1)), _text(body, 2), test)
        case 6:
            operands = tuple(_expr(v) for n, _, v in fields(body) if n in (1, 3) and isinstance(v, bytes))
            return Call(node_id, _text(body, 2), operands)
        case 7:
            items = tuple(_expr(v) for n, _, v in fields(body) if n == 1 and isinstance(v, bytes))
            return Group(node_id, items, "list")
        case 8:
            return Group(node_id, tuple(_entries(body)), "message" if _get(body, 1) else "map")
        case 9:
            parts = {number: value for number, _, value in fields(body) if isinstance(value, bytes)}
            names = tuple(parts[number].decode() for number in (1, 3, 8) if parts.get(number))
            steps = tuple(_expr(parts[number]) for number in (5, 6, 7))
            return Loop(node_id, _expr(parts[2]), _expr(parts[4]), names[0], names, steps)
        case _:
            return Group(node_id, ())


def _literal(node_id: int, body: bytes) -> Text | Constant:
    """A `Constant` message; what is left out in it is the variant's zero."""
    kind, raw = next(((number, value) for number, _, value in fields(body)), (1, 0))
    match kind, raw:
        case 1, _:
            return Constant(node_id, kind, None)
        case 2, int():
            return Constant(node_id, kind, bool(raw))
        case 3, int():
            return Constant(node_id, kind, raw - 2**64 if raw >= 2**63 else raw)
        case 5, bytes():
            number: float = struct.unpack("<d", raw)[0]
            return Constant(node_id, kind, number)
        case 6, bytes():
            return Text(node_id, raw.decode())
        case _:
            return Constant(node_id, kind, raw)


def _entries(entries: bytes) -> Iterator[Expr]:
    for number, _, entry in fields(entries):
        if number == 2 and isinstance(entry, bytes):  # noqa: PLR2004 - a field number
            for part, _, value in fields(entry):
                if part in (3, 4) and isinstance(value, bytes):
                    yield _expr(value)


# --- guarding a checked expression -------------------------------------------------------


class UntypedArithmetic(Exception):  # noqa: N818 - says what was found
    """Arithmetic on operands whose types are known only at run time."""

    def __init__(self, function: str) -> None:
        super().__init__(function)
        self.function = function


class Guard:
    """Makes the float arithmetic of a checked expression fail where its result is not finite.

    Comparisons with NaN are false in CEL, so that a rule which should block would pass
    silently. Each arithmetic node N becomes a variable n in `n - n == 0.0 ? n : {}["…"]`,
    which has no such key: an error whose message contains `failure`. (A function of Python's
    would be simpler, but the library leaks memory at each call of one.)
    """

    def __init__(self, checked: bytes, *, failure: str) -> None:
        self._checked = checked
        self._failure = failure
        self._types: dict[int, bytes] = {}
        for number, _, value in fields(checked):
            if number == 3 and isinstance(value, bytes):  # noqa: PLR2004 - type_map
                parts = list(fields(value))
                key = next((v for n, _, v in parts if n == 1 and isinstance(v, int)), 0)
                self._types[key] = next((v for n, _, v in parts if isinstance(v, bytes)), b"")
        self._next_id = max([*self._types, 0]) + 1
        self._added: list[Field] = []

    def apply(self) -> bytes | None:
        """The guarded expression; None when there was nothing to guard. Raises `UntypedArithmetic`."""
        parts: list[Field] = [
            (number, wire, self._rewrite(value) if number == 4 and isinstance(value, bytes) else value)  # noqa: PLR2004 - expr
            for number, wire, value in fields(self._checked)
        ]
        return message(*parts, *self._added) if self._added else None

    def _rewrite(self, expr: bytes) -> bytes:
        """An `Expr` message with the arithmetic in it wrapped."""
        out: list[Field] = []
        node, function = 0, ""
        for number, wire, value in fields(expr):
            if isinstance(value, int):
                node = value
                out.append((number, wire, value))
                continue
            if number == 6:  # noqa: PLR2004 - call_expr
                function = _text(value, 2)
            out.append((number, wire, self._rewrite_body(number, value)))
        made = message(*out)
        if function not in ARITHMETIC:
            return made
        kind = self._types.get(node, b"")
        if any(number == TYPE_DYN for number, _, _ in fields(kind)):
            raise UntypedArithmetic(function)
        return self._wrap(made) if kind == TYPE_DOUBLE else made

    def _rewrite_body(self, kind: int, body: bytes) -> bytes:
        inner = {5: (1,), 6: (1, 3), 7: (1,), 9: (2, 4, 5, 6, 7)}
        if kind == 8:  # noqa: PLR2004 - struct_expr
            return message(
                *(
                    (number, wire, self._rewrite_entry(value) if number == 2 and isinstance(value, bytes) else value)  # noqa: PLR2004 - the same
                    for number, wire, value in fields(body)
                )
            )
        places = inner.get(kind, ())
        return message(
            *(
                (number, wire, self._rewrite(value) if number in places and isinstance(value, bytes) else value)
                for number, wire, value in fields(body)
            )
        )

    def _rewrite_entry(self, entry: bytes) -> bytes:
        return message(
            *(
                (number, wire, self._rewrite(value) if number in (3, 4) and isinstance(value, bytes) else value)
                for number, wire, value in fields(entry)
            )
        )

    def _wrap(self, expr: bytes) -> bytes:
        """The loop over nothing that CEL's own `bind` macro makes, to name a value."""
        name = b"@finite%d" % self._next_id

        def value() -> bytes:
            return self._node(4, message((1, BYTES, name)), TYPE_DOUBLE)

        zero = self._node(3, message((5, FIXED64, bytes(8))), TYPE_DOUBLE)
        difference = self._call("_-_", "subtract_double", TYPE_DOUBLE, value(), value())
        finite = self._call("_==_", "equals", _TYPE_BOOL, difference, zero)
        key = self._node(3, message((6, BYTES, self._failure.encode())), _TYPE_STRING)
        failure = self._call("_[_]", "index_map", TYPE_DOUBLE, self._node(8, b"", _TYPE_ANY), key)
        result = self._call("_?_:_", "conditional", TYPE_DOUBLE, finite, value(), failure)
        loop = message(
            (1, BYTES, b"#unused"),
            (2, BYTES, self._node(7, b"", _TYPE_ANY)),
            (3, BYTES, name),
            (4, BYTES, expr),
            (5, BYTES, self._node(3, message((2, VARINT, 0)), _TYPE_BOOL)),
            (6, BYTES, value()),
            (7, BYTES, result),
        )
        return self._node(9, loop, TYPE_DOUBLE)

    def _call(self, function: str, overload: str, kind: bytes, *operands: bytes) -> bytes:
        body = message((2, BYTES, function.encode()), *((3, BYTES, operand) for operand in operands))
        reference = message((3, BYTES, overload.encode()))
        self._added.append((2, BYTES, message((1, VARINT, self._next_id), (2, BYTES, reference))))
        return self._node(6, body, kind)

    def _node(self, number: int, body: bytes, kind: bytes) -> bytes:
        """A new `Expr` of the given variant, with its entry in the map of types."""
        node = self._next_id
        self._next_id += 1
        self._added.append((3, BYTES, message((1, VARINT, node), (2, BYTES, kind))))
        return message((2, VARINT, node), (number, BYTES, body))
