"""Rewrites a WebAssembly binary so that a fresh instance starts from a snapshot.

The module's memory, its stack pointer and its data are replaced by those of an instance
that was set up once. wasmtime then maps the data copy-on-write, so that a new guest
costs microseconds and only the pages that it touches. Only what the one module that we
load contains is understood: one memory, active data, the stack pointer as first global.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE_BYTES: Final = 65_536

_MAGIC: Final = b"\0asm\x01\0\0\0"
_CUSTOM, _IMPORT, _MEMORY, _GLOBAL, _EXPORT, _ELEMENT, _DATA = 0, 2, 5, 6, 7, 9, 11
_I32_CONST, _END = 0x41, 0x0B
_GAP_BYTES: Final = 512
"""Shorter runs of zeros stay inside a segment; longer ones are left out."""


class BadModuleError(ValueError):
    """The binary is not of the shape that this rewriter knows."""


def unsigned(value: int) -> bytes:
    """LEB128 of an unsigned integer."""
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if not value:
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


def signed(value: int) -> bytes:
    """LEB128 of a signed integer."""
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40):
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004 - the continuation bit of LEB128
                return value


def sections(binary: bytes) -> list[tuple[int, bytes]]:
    """The sections of a module, in order: id and body."""
    if not binary.startswith(_MAGIC):
        raise BadModuleError("not a WebAssembly module")
    reader = _Reader(binary)
    reader.at = len(_MAGIC)
    found = []
    while reader.at < len(binary):
        kind = reader.byte()
        found.append((kind, reader.take(reader.unsigned())))
    return found


def table_slot(binary: bytes, export: str) -> int:
    """The place of an exported function in the module's table: its C function pointer."""
    parts = dict(sections(binary))
    index = _function_index(parts[_EXPORT], export)
    reader = _Reader(parts[_ELEMENT])
    if reader.unsigned() != 1 or reader.unsigned() != 0 or reader.byte() != _I32_CONST:
        raise BadModuleError("expected one active element segment")
    first = reader.unsigned()
    if reader.byte() != _END:
        raise BadModuleError("expected a constant element offset")
    members = [reader.unsigned() for _ in range(reader.unsigned())]
    if index not in members:
        raise BadModuleError(f"{export} has no place in the table")
    return first + members.index(index)


def _function_index(section: bytes, name: str) -> int:
    reader = _Reader(section)
    for _ in range(reader.unsigned()):
        found = reader.take(reader.unsigned()).decode()
        kind, index = reader.byte(), reader.unsigned()
        if kind == 0 and found == name:
            return index
    raise BadModuleError(f"no exported function {name}")


def with_snapshot(binary: bytes, memory: bytes, stack_pointer: int) -> bytes:
    """The module with this memory and stack pointer as its beginning. Drops debug sections."""
    out = bytearray(_MAGIC)
    for kind, body in sections(binary):
        if kind == _CUSTOM:
            continue
        if kind == _MEMORY:
            body = b"\x01\x00" + unsigned(len(memory) // PAGE_BYTES)  # noqa: PLW2901 - the rewritten section
        elif kind == _GLOBAL:
            body = _with_stack_pointer(body, stack_pointer)  # noqa: PLW2901 - the same
        elif kind == _DATA:
            body = _data_section(memory)  # noqa: PLW2901 - the same
        out += bytes([kind]) + unsigned(len(body)) + body
    return bytes(out)


def _with_stack_pointer(body: bytes, stack_pointer: int) -> bytes:
    reader = _Reader(body)
    count = reader.unsigned()
    if reader.take(3) != b"\x7f\x01\x41":
        raise BadModuleError("expected the stack pointer, a mutable i32, as the first global")
    reader.unsigned()
    return unsigned(count) + b"\x7f\x01\x41" + signed(stack_pointer) + body[reader.at :]


def _data_section(memory: bytes) -> bytes:
    segments = [
        b"\x00" + bytes([_I32_CONST]) + signed(start) + bytes([_END]) + unsigned(stop - start) + memory[start:stop]
        for start, stop in _runs(memory)
    ]
    return unsigned(len(segments)) + b"".join(segments)


def _runs(memory: bytes) -> Iterator[tuple[int, int]]:
    """The stretches that are not zero, apart by at least `_GAP_BYTES` zeros."""
    gap = bytes(_GAP_BYTES)
    at = 0
    while at < len(memory):
        rest = memory[at : at + PAGE_BYTES]
        lead = len(rest) - len(rest.lstrip(b"\0"))
        at += lead
        if lead == len(rest):
            continue
        stop = memory.find(gap, at)
        if stop < 0:
            stop = len(memory)
        yield at, stop
        at = stop
