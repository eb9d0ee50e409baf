"""The rewriting of the engine's binary into one that starts from a snapshot."""

from __future__ import annotations

import pytest
import wasmtime
from hypothesis import given
from hypothesis import strategies as st
from wasmtime._instance import InstanceExports

from vardy_worker.sandbox import image, wasm

COUNTER = """
(module
  (memory (export "memory") 1)
  (global $stack (mut i32) (i32.const 4096))
  (global i32 (i32.const 7))
  (table 2 funcref)
  (elem (i32.const 1) $next)
  (func $next (export "next") (result i32)
    (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (i32.const 1)))
    (i32.load (i32.const 16)))
  (func (export "stack") (result i32) (global.get $stack))
  (data (i32.const 16) "\\05"))
"""


def instance(binary: bytes) -> tuple[wasmtime.Store, InstanceExports]:
    store = wasmtime.Store()
    return store, wasmtime.Instance(store, wasmtime.Module(store.engine, binary), []).exports(store)


def call(store: wasmtime.Store, exports: InstanceExports, name: str) -> object:
    function = exports[name]
    assert isinstance(function, wasmtime.Func)
    return function(store)


def test_a_fresh_instance_goes_on_where_the_snapshot_was_taken() -> None:
    binary = bytes(wasmtime.wat2wasm(COUNTER))
    store, exports = instance(binary)
    assert call(store, exports, "next") == 6
    memory = exports["memory"]
    assert isinstance(memory, wasmtime.Memory)
    snapshot = bytes(memory.read(store))
    for _ in range(2):
        fresh_store, fresh = instance(wasm.with_snapshot(binary, snapshot, 60_000))
        assert call(fresh_store, fresh, "next") == 7
        assert call(fresh_store, fresh, "stack") == 60_000


def test_the_table_slot_of_an_exported_function_is_its_c_pointer() -> None:
    binary = bytes(wasmtime.wat2wasm(COUNTER))
    assert wasm.table_slot(binary, "next") == 1
    with pytest.raises(wasm.BadModuleError, match="no place in the table"):
        wasm.table_slot(binary, "stack")
    with pytest.raises(wasm.BadModuleError, match="no exported function"):
        wasm.table_slot(binary, "nothing")


@pytest.mark.parametrize("binary", [b"", b"\0asm", b"MZ" + bytes(20)])
def test_what_is_no_module_is_refused(binary: bytes) -> None:
    with pytest.raises(wasm.BadModuleError):
        wasm.sections(binary)


@given(st.lists(st.tuples(st.integers(0, 3 * wasm.PAGE_BYTES - 1), st.binary(min_size=1, max_size=900)), max_size=8))
def test_any_memory_survives(writes: list[tuple[int, bytes]]) -> None:
    memory = bytearray(3 * wasm.PAGE_BYTES)
    for at, data in writes:
        memory[at : at + len(data)] = data[: len(memory) - at]
    store, exports = instance(wasm.with_snapshot(bytes(wasmtime.wat2wasm(COUNTER)), bytes(memory), 4096))
    found = exports["memory"]
    assert isinstance(found, wasmtime.Memory)
    assert bytes(found.read(store)) == bytes(memory)


@given(st.integers(-(2**31), 2**31 - 1))
def test_signed_numbers_survive_their_encoding(value: int) -> None:
    source = f'(module (memory 1) (func (export "v") (result i32) (i32.const {value})))'
    assert wasm.signed(value) in bytes(wasmtime.wat2wasm(source))


def test_a_binary_that_is_not_the_pinned_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert image.read_wasm().startswith(b"\0asm")
    monkeypatch.setattr(image, "WASM_SHA256", "0" * 64)
    with pytest.raises(image.BadImageError, match="reinstall"):
        image.read_wasm()
