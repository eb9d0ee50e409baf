"""Builds the image that children load: QuickJS with the prelude evaluated, compiled.

Runs in a process of its own, once for each worker start, so that the worker loads no
wasmtime and a child compiles nothing. The image is native code and goes to the children
through a sealed, nameless file.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Final

import wasmtime

from vardy_worker.sandbox import engine, protocol, wasm
from vardy_worker.sandbox.engine import Exports, GuestMemory, Layout

WASM_SHA256: Final = "718f30dac3b2b42f2ab18d622f8ca11139e193e40f941519165710e4a9b168a3"
"""Of `qjs-wasi-reactor.wasm` 0.15.1: the last release that exports the C interface."""

GUEST_FILES: Final = (
    "intrinsics.js",
    "errors.js",
    "placeholders.js",
    "values.js",
    "console.js",
    "removals.js",
    "repairs.js",
    "collation.js",
    "clone.js",
    "bridge.js",
)

_CONSOLE_BYTES: Final = protocol.CONSOLE_HEADER.size + protocol.CONSOLE_BYTES_MAX
_SCRATCH_BYTES: Final = 256
_EVAL_COMPILE_ONLY: Final = 1 << 5
_WRITE_BYTECODE: Final = 1
_WRITE_STRIP_SOURCE: Final = 1 << 4
_WRITE_STRIP_DEBUG: Final = 1 << 5
_READ_BYTECODE: Final = 1
_STD_THREAD_STATE: Final = 0
"""The command of `js_std_cmd` that gives the runtime's `JSThreadState`."""
_REJECTIONS_OFFSET: Final = 32
"""Of `rejected_promise_list` in QuickJS's `JSThreadState` on wasm32."""


class BadImageError(RuntimeError):
    """The engine's file is missing or is not the one that this version was made for."""


def read_wasm() -> bytes:
    """The engine's binary. Raises `BadImageError` unless it is exactly the pinned one."""
    try:
        distribution = importlib.metadata.distribution("qjs-wasi-reactor.wasm")
        binary = Path(str(distribution.locate_file("qjs-wasi-reactor/qjs-wasi-reactor.wasm"))).read_bytes()
    except (importlib.metadata.PackageNotFoundError, OSError) as error:
        raise BadImageError("The package qjs-wasi-reactor.wasm is not installed.") from error
    found = hashlib.sha256(binary).hexdigest()
    if found != WASM_SHA256:
        raise BadImageError(f"qjs-wasi-reactor.wasm has the hash {found}, not the pinned one; reinstall it.")
    return binary


def prelude_source() -> str:
    """The guest's JavaScript: the files in one function, so that they share a closed scope."""
    folder = Path(__file__).parent / "guest"
    missing = (folder / "missing.json").read_text(encoding="utf-8")
    parts = [f"const missingGlobals = {{ __proto__: null, ...{missing}}};"]
    parts.extend((folder / name).read_text(encoding="utf-8") for name in GUEST_FILES)
    return '(function (consoleBuffer) {\n"use strict";\n' + "\n".join(parts) + "\n})"


def build() -> tuple[bytes, Layout]:
    """The serialised module and where things are in its memory."""
    binary = read_wasm()
    memory, layout, stack_pointer = _snapshot(binary)
    module = wasmtime.Module(wasmtime.Engine(engine.child_config()), wasm.with_snapshot(binary, memory, stack_pointer))
    return bytes(module.serialize()), layout


def _snapshot(binary: bytes) -> tuple[bytes, Layout, int]:
    config = wasmtime.Config()
    config.cranelift_opt_level = "none"
    host = wasmtime.Engine(config)
    store = wasmtime.Store(host)
    linker = wasmtime.Linker(host)
    engine.define_imports(linker, lambda: 0)
    exports = Exports(store, linker.instantiate(store, wasmtime.Module(host, binary)))
    memory = GuestMemory(store, exports.memory())
    call = exports.call32

    call("_initialize")
    runtime = call("JS_NewRuntime")
    call("js_std_init_handlers", runtime)
    tracker = wasm.table_slot(binary, "js_std_promise_rejection_tracker")
    call("JS_SetHostPromiseRejectionTracker", runtime, tracker, 0)
    context = call("JS_NewContext", runtime)
    guard = -(-call("malloc", engine.STACK_BYTES + 2 * engine.GUARD_BYTES) // engine.GUARD_BYTES) * engine.GUARD_BYTES
    scratch = call("calloc", _SCRATCH_BYTES, 1)
    memory.write(scratch + 64, b"bridge\0")
    memory.write(scratch, runtime.to_bytes(4, "little"))
    rejections = call("js_std_cmd", _STD_THREAD_STATE, scratch) + _REJECTIONS_OFFSET
    if memory.u32(rejections) != rejections:
        raise BadImageError("QuickJS keeps its rejected promises elsewhere than expected.")
    buffer = call("malloc", engine.BUFFER_BYTES)
    console = call("calloc", _CONSOLE_BYTES, 1)

    install = _bytecode(exports, memory, context, scratch, prelude_source())
    records = exports.call("JS_NewArrayBuffer", context, console, _CONSOLE_BYTES, 0, 0, 0)
    memory.write(scratch, engine.value_bytes(records))
    entries = exports.call("JS_Call", context, install, engine.UNDEFINED, 1, scratch)
    _check(exports, memory, context, scratch, entries)
    start, step, resume, collect, lost = (exports.call("JS_GetPropertyUint32", context, entries, i) for i in range(5))
    call("js_std_loop_once", context)
    call("JS_RunGC", runtime)
    layout = Layout(
        runtime=runtime,
        context=context,
        scratch=scratch,
        buffer=buffer,
        console=console,
        guard=guard,
        size=memory.size(),
        rejections=rejections,
        start=start,
        step=step,
        resume=resume,
        collect=collect,
        lost=lost,
    )
    return memory.read(0, memory.size()), layout, guard + engine.GUARD_BYTES + engine.STACK_BYTES


def _bytecode(exports: Exports, memory: GuestMemory, context: int, scratch: int, source: str) -> int:
    """Evaluates a script without its source, so that no function can show it to a program."""
    text = source.encode() + b"\0"
    at = exports.call32("malloc", len(text))
    memory.write(at, text)
    compiled = exports.call("JS_Eval", context, at, len(text) - 1, scratch + 64, _EVAL_COMPILE_ONLY)
    _check(exports, memory, context, scratch, compiled)
    flags = _WRITE_BYTECODE | _WRITE_STRIP_SOURCE | _WRITE_STRIP_DEBUG
    written = exports.call32("JS_WriteObject", context, scratch, compiled, flags)
    size = memory.u32(scratch)
    exports.call("JS_FreeValue", context, compiled)
    code = exports.call("JS_ReadObject", context, written, size, _READ_BYTECODE)
    _check(exports, memory, context, scratch, code)
    result = exports.call("JS_EvalFunction", context, code)
    _check(exports, memory, context, scratch, result)
    memory.write(at, bytes(len(text)))
    memory.write(written, bytes(size))
    exports.call("free", at)
    exports.call("js_free", context, written)
    return result


def _check(exports: Exports, memory: GuestMemory, context: int, scratch: int, value: int) -> None:
    if not engine.is_exception(value):
        return
    error = exports.call("JS_GetException", context)
    stack = scratch + 128
    memory.write(stack, b"stack\0")
    trace = exports.call("JS_GetPropertyStr", context, error, stack)
    said = []
    for part in (error, trace):
        text = exports.call32("JS_ToCStringLen2", context, scratch + 32, part, 0)
        said.append(memory.read(text, memory.u32(scratch + 32)).decode(errors="replace"))
    raise BadImageError("The prelude failed: " + " ".join(said))


def build_into(descriptor: int) -> None:
    """Writes the serialised module to a file; prints the layout, or the reason of a failure."""
    try:
        module, layout = build()
    except (BadImageError, wasm.BadModuleError, wasmtime.WasmtimeError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - the parent reads it
        sys.exit(1)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(module)
    print(layout.to_json())  # noqa: T201 - the same
