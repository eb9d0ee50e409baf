"""A thin wasmtime driver of QuickJS-NG's WASI reactor build.

One `Guest` is one fresh instance: its own memory, nothing granted by WASI but the job's
clock. wasmtime enforces the limits: epochs stop any guest code, native loops included,
and the store caps the memory. A trap throws the instance away.

The C interface of QuickJS is called directly. Its values are NaN-boxed 64-bit integers
on wasm32, with the tag in the upper 32 bits.
"""

from __future__ import annotations

import ctypes
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import wasmtime
from wasmtime import _bindings as c_api
from wasmtime._ffi import dll

from vardy_worker.sandbox import protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_MIB: Final = 1024 * 1024
STACK_BYTES: Final = 4 * _MIB
"""The guest's own stack, in its memory. QuickJS does not check it in this build."""
NATIVE_STACK_BYTES: Final = 4 * _MIB
"""wasmtime's stack for the guest, which ordinary recursion exhausts first: a clean trap.

The thread that runs a guest needs more than this.
"""
GUARD_BYTES: Final = 1 * _MIB
"""Made inaccessible below the guest's stack: larger than any one frame, so that none skips it."""
BUFFER_BYTES: Final = 64 * 1024
"""Messages up to this size need no allocation in the guest."""

_FAULT: Final = re.compile(r"memory fault at wasm address 0x([0-9a-f]+)")
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_EBADF: Final = 8
_EXCEPTION_TAG: Final = 6
_OBJECT_TAG: Final = 0xFFFFFFFF
UNDEFINED: Final = 3 << 32
FALSE: Final = 1 << 32
TRUE: Final = FALSE + 1


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in the memory of every fresh guest; the same in all of them."""

    runtime: int
    context: int
    scratch: int
    buffer: int
    console: int
    guard: int
    """Where the guard below the stack begins."""
    size: int
    """Bytes of memory that a guest has before its program begins."""
    rejections: int
    """The head of QuickJS's list of rejected promises that nobody handles."""
    start: int
    step: int
    resume: int
    collect: int
    lost: int
    """JavaScript functions of the prelude, as values."""

    def to_json(self) -> str:
        """For the child."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Layout:
        """The opposite of `to_json`."""
        return cls(**json.loads(text))


class GuestTrap(Exception):  # noqa: N818 - a trap is wasmtime's word for it
    """The instance is dead. `stack`: wasmtime's stack was full. `address`: of a memory fault."""

    def __init__(self, message: str, *, stack: bool = False) -> None:
        super().__init__(message)
        self.stack = stack
        fault = _FAULT.search(message)
        self.address = int(fault[1], 16) if fault else None


class GuestFailure(Exception):  # noqa: N818 - not an error of this module
    """The prelude itself threw: there was no memory or stack left for it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def child_config() -> wasmtime.Config:
    """How children compile and run. Builder and children must agree to the letter."""
    config = wasmtime.Config()
    config.epoch_interruption = True
    # It must be as large as the other, though nothing runs asynchronously; the package binds no setter.
    dll.wasmtime_config_async_stack_size_set(config.ptr(), ctypes.c_uint64(NATIVE_STACK_BYTES))
    config.max_wasm_stack = NATIVE_STACK_BYTES
    config.wasm_threads = False
    return config


def define_imports(linker: wasmtime.Linker, now_ns: Callable[[], int]) -> None:
    """Answers WASI with nothing: no file, no variable, no randomness, and the job's clock."""
    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()

    def refuse(*_: int) -> int:
        return _EBADF

    def environ_sizes_get(caller: wasmtime.Caller, count: int, size: int) -> int:
        _write(caller, count, bytes(4))
        _write(caller, size, bytes(4))
        return 0

    def clock_time_get(caller: wasmtime.Caller, _clock: int, _precision: int, at: int) -> int:
        _write(caller, at, now_ns().to_bytes(8, "little"))
        return 0

    def proc_exit(_code: int) -> None:
        raise GuestTrap("the guest called exit")

    refused = {
        "environ_get": [i32, i32],
        "fd_close": [i32],
        "fd_fdstat_get": [i32, i32],
        "fd_fdstat_set_flags": [i32, i32],
        "fd_prestat_get": [i32, i32],
        "fd_prestat_dir_name": [i32, i32, i32],
        "fd_read": [i32, i32, i32, i32],
        "fd_readdir": [i32, i32, i32, i64, i32],
        "fd_seek": [i32, i64, i32, i32],
        "fd_write": [i32, i32, i32, i32],
        "path_create_directory": [i32, i32, i32],
        "path_filestat_get": [i32, i32, i32, i32, i32],
        "path_filestat_set_times": [i32, i32, i32, i32, i64, i64, i32],
        "path_open": [i32, i32, i32, i32, i32, i64, i64, i32, i32],
        "path_remove_directory": [i32, i32, i32],
        "path_rename": [i32, i32, i32, i32, i32, i32],
        "path_unlink_file": [i32, i32, i32],
        "poll_oneoff": [i32, i32, i32, i32],
    }
    module = "wasi_snapshot_preview1"
    for name, parameters in refused.items():
        linker.define_func(module, name, wasmtime.FuncType(parameters, [i32]), refuse)
    linker.define_func(
        module, "environ_sizes_get", wasmtime.FuncType([i32, i32], [i32]), environ_sizes_get, access_caller=True
    )
    linker.define_func(
        module, "clock_time_get", wasmtime.FuncType([i32, i64, i32], [i32]), clock_time_get, access_caller=True
    )
    linker.define_func(module, "proc_exit", wasmtime.FuncType([i32], []), proc_exit)


def _write(caller: wasmtime.Caller, at: int, data: bytes) -> None:
    memory = caller["memory"]
    if isinstance(memory, wasmtime.Memory):
        memory.write(caller, bytearray(data), at & 0xFFFFFFFF)


class Exports:
    """The exported C functions of one instance, fetched by name when first called.

    `Func.__call__` of the wasmtime package boxes every argument and checks every type;
    a program needs some dozens of calls, so they go to the unchecked entry of the C API,
    which the same package binds, with the signatures fixed by the module's hash.
    """

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance) -> None:
        self._store = store
        self._instance = instance
        self._context = store._context()  # noqa: SLF001 - the C API takes the raw context
        self._functions: dict[str, Any] = {}
        self._slots = (c_api.wasmtime_val_raw_t * 8)()
        self._trap = ctypes.POINTER(c_api.wasm_trap_t)()

    def _item(self, name: str) -> Any:
        item = c_api.wasmtime_extern_t()
        encoded = name.encode()
        found = c_api.wasmtime_instance_export_get(
            self._context,
            ctypes.byref(self._instance._instance),  # noqa: SLF001 - the C API takes the raw instance
            encoded,
            len(encoded),
            ctypes.byref(item),
        )
        if not found:
            raise LookupError(name)
        return item

    def memory(self) -> wasmtime.Memory:
        """The linear memory."""
        return wasmtime.Memory._from_raw(self._item("memory").of.memory)  # noqa: SLF001 - no public way by name

    def call(self, name: str, *arguments: int) -> int:
        """Calls a function. 32-bit results come back sign-extended, values as they are.

        Raises `GuestTrap`.
        """
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._item(name).of.func
        slots = self._slots
        for index, argument in enumerate(arguments):
            slots[index].i64 = argument
        error = c_api.wasmtime_func_call_unchecked(
            self._context, ctypes.byref(function), slots, len(slots), ctypes.byref(self._trap)
        )
        if self._trap:
            trap = wasmtime.Trap._from_ptr(self._trap)  # noqa: SLF001 - owns and frees the raw trap
            self._trap = ctypes.POINTER(c_api.wasm_trap_t)()
            raise GuestTrap(trap.message, stack=trap.trap_code is wasmtime.TrapCode.STACK_OVERFLOW)
        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)  # noqa: SLF001 - the same
        result: int = slots[0].i64
        return result

    def call32(self, name: str, *arguments: int) -> int:
        """Calls a function that returns a pointer or a 32-bit number."""
        return self.call(name, *arguments) & 0xFFFFFFFF


class GuestMemory:
    """Bounds-checked access to the linear memory, which may move when it grows."""

    def __init__(self, store: wasmtime.Store, memory: wasmtime.Memory) -> None:
        self._store = store
        self._memory = memory

    def size(self) -> int:
        """Bytes."""
        return self._memory.data_len(self._store)

    def view(self, at: int, count: int) -> ctypes.Array[ctypes.c_ubyte]:
        """The bytes in place. Valid until the guest runs again."""
        if at < 0 or count < 0 or at + count > self.size():
            raise GuestTrap("a pointer of the guest is outside its memory")
        return self._memory.get_buffer_ptr(self._store, count, at)

    def forbid(self, at: int, count: int) -> None:
        """Makes whole pages inaccessible: touching them is a trap, which wasmtime handles as any other."""
        address = ctypes.addressof(self._memory.data_ptr(self._store).contents) + at
        if _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(count), 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect failed")

    def read(self, at: int, count: int) -> bytes:
        """A copy of the bytes."""
        return bytes(self.view(at, count))

    def write(self, at: int, data: bytes) -> None:
        """Overwrites the bytes."""
        ctypes.memmove(self.view(at, len(data)), data, len(data))

    def u32(self, at: int) -> int:
        """A 32-bit number or pointer."""
        return int.from_bytes(self.view(at, 4), "little")


class Image:
    """The compiled module with its snapshot, ready to make guests."""

    def __init__(self, path: str, layout: Layout) -> None:
        self.engine = wasmtime.Engine(child_config())
        self.layout = layout
        self.now_ms = 0
        linker = wasmtime.Linker(self.engine)
        define_imports(linker, lambda: self.now_ms * 1_000_000)
        module = wasmtime.Module.deserialize_file(self.engine, path)
        self._ready = linker.instantiate_pre(module)

    def guest(self, memory_bytes: int) -> Guest:
        """A fresh guest whose program may use so much memory. The engine's next tick stops it."""
        store = wasmtime.Store(self.engine)
        memory_bytes += self.layout.size
        store.set_limits(memory_size=memory_bytes)
        store.set_epoch_deadline(1)
        return Guest(store, self._ready.instantiate(store), self.layout, memory_bytes)


class Guest:
    """One program's world. All methods raise `GuestTrap` when a limit or a fault ends it."""

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance, layout: Layout, memory_bytes: int) -> None:
        self._exports = Exports(store, instance)
        self._memory = GuestMemory(store, self._exports.memory())
        self._layout = layout
        self._memory_bytes = memory_bytes
        self._memory.forbid(layout.guard, GUARD_BYTES)
        self._exports.call("JS_UpdateStackTop", layout.runtime)

    def place(self, count: int) -> int | None:
        """Where `count` bytes of a message can be written; None when they do not fit."""
        if count < BUFFER_BYTES:
            return self._layout.buffer
        return self._exports.call32("malloc", count + 1) or None

    def view(self, at: int, count: int) -> ctypes.Array[ctypes.c_ubyte]:
        """Where to write the message."""
        return self._memory.view(at, count)

    def start(self, at: int, count: int) -> None:
        """Hands the job (JSON, at a `place`) to the prelude and runs until nothing is left to run."""
        todo = self._send(self._layout.start, at, count)
        while todo >> 32 & 0xFFFFFFFF == _OBJECT_TAG:
            # The program is called from here, so that nothing of the prelude is below it on the stack.
            result = self._exports.call("JS_Call", self._layout.context, todo, UNDEFINED, 0, 0)
            failed = is_exception(result)
            if failed:
                result = self._exports.call("JS_GetException", self._layout.context)
            self._free(todo)
            todo = self._call(self._layout.step, TRUE if failed else FALSE, result)
            self._free(result)
        self._drain()

    def resume(self, at: int, count: int) -> None:
        """Hands replies (JSON, at a `place`) to the prelude and runs until nothing is left to run."""
        self._free(self._send(self._layout.resume, at, count))
        self._drain()

    def _send(self, function: int, at: int, count: int) -> int:
        exports, layout = self._exports, self._layout
        self._memory.write(at + count, b"\0")
        value = exports.call("JS_ParseJSON", layout.context, at, count, layout.scratch + 64)
        if at != layout.buffer:
            exports.call("free", at)
        self._check(value)
        result = self._call(function, value)
        self._free(value)
        return result

    def _drain(self) -> None:
        if self._exports.call32("js_std_loop_once", self._layout.context) == 0xFFFFFFFE:  # noqa: PLR2004 - -2: a job threw
            self._check(_EXCEPTION_TAG << 32)

    def collect(self) -> bytes:
        """What the prelude has to say: `C` and calls, or `E` and the end, in UTF-8."""
        exports, layout = self._exports, self._layout
        value = self._call(layout.collect)
        text = exports.call32("JS_ToCStringLen2", layout.context, layout.scratch + 32, value, 0)
        if not text:
            self._check(_EXCEPTION_TAG << 32)
        said = self._memory.read(text, self._memory.u32(layout.scratch + 32))
        exports.call("JS_FreeCString", layout.context, text)
        self._free(value)
        return said

    def report_lost_rejections(self, most: int) -> None:
        """Tells the prelude of rejected promises that nobody handled."""
        head = self._layout.rejections
        entry = self._memory.u32(head + 4)
        for _ in range(most):
            if entry == head:
                return
            entry, reason = self._memory.u32(entry + 4), int.from_bytes(self._memory.read(entry + 16, 8), "little")
            self._free(self._call(self._layout.lost, reason))

    def console(self) -> tuple[bytes, bool]:
        """The console records so far, and whether anything was cut; readable after a trap too."""
        at = self._layout.console
        used, cut = protocol.CONSOLE_HEADER.unpack(self._memory.read(at, protocol.CONSOLE_HEADER.size))
        return self._memory.read(at + protocol.CONSOLE_HEADER.size, min(used, protocol.CONSOLE_BYTES_MAX)), bool(cut)

    def stack_overflowed(self, trap: GuestTrap) -> bool:
        """Whether the trap was one stack or the other running over."""
        guard = self._layout.guard
        return trap.stack or (trap.address is not None and guard <= trap.address < guard + GUARD_BYTES)

    def memory_is_full(self) -> bool:
        """Whether the guest came near its memory limit."""
        return self._memory.size() > self._memory_bytes * 0.9

    def _call(self, function: int, *arguments: int) -> int:
        at = self._layout.scratch
        self._memory.write(at, b"".join(value_bytes(argument) for argument in arguments))
        result = self._exports.call("JS_Call", self._layout.context, function, UNDEFINED, len(arguments), at)
        self._check(result)
        return result

    def _free(self, value: int) -> None:
        self._exports.call("JS_FreeValue", self._layout.context, value)

    def _check(self, value: int) -> None:
        if not is_exception(value):
            return
        exports, layout = self._exports, self._layout
        error = exports.call("JS_GetException", layout.context)
        text = exports.call32("JS_ToCStringLen2", layout.context, layout.scratch + 32, error, 0)
        if not text:
            raise GuestFailure("")
        raise GuestFailure(self._memory.read(text, self._memory.u32(layout.scratch + 32)).decode(errors="replace"))


def is_exception(value: int) -> bool:
    """Whether a result says that an exception is pending."""
    return value >> 32 & 0xFFFFFFFF == _EXCEPTION_TAG


def value_bytes(value: int) -> bytes:
    """A value as it stands in the guest's memory."""
    return (value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
