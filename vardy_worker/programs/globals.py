"""The globals of a program: the one list that prompt and checks go by, and the sandbox is tested against."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGE_GLOBALS = frozenset(
    {
        "AggregateError",
        "Array",
        "ArrayBuffer",
        "BigInt",
        "BigInt64Array",
        "BigUint64Array",
        "Boolean",
        "DataView",
        "Date",
        "Error",
        "EvalError",
        "Float32Array",
        "Float64Array",
        "Infinity",
        "Int16Array",
        "Int32Array",
        "Int8Array",
        "JSON",
        "Map",
        "Math",
        "NaN",
        "Number",
        "Object",
        "Promise",
        "Proxy",
        "RangeError",
        "ReferenceError",
        "Reflect",
        "RegExp",
        "Set",
        "String",
        "Symbol",
        "SyntaxError",
        "TypeError",
        "URIError",
        "Uint16Array",
        "Uint32Array",
        "Uint8Array",
        "Uint8ClampedArray",
        "WeakMap",
        "WeakSet",
        "decodeURI",
        "decodeURIComponent",
        "encodeURI",
        "encodeURIComponent",
        "escape",
        "isFinite",
        "isNaN",
        "parseFloat",
        "parseInt",
        "undefined",
        "unescape",
    }
)
"""The globals of ES2023 that programs keep."""

PROVIDED_GLOBALS = frozenset({"console", "structuredClone"})
"""What Vardy adds for every program."""

JUDGE_GLOBALS = frozenset({"ai", "classify"})
"""What Vardy adds where the request or recipe says `judge: true`."""

ALLOWED_GLOBALS = LANGUAGE_GLOBALS | PROVIDED_GLOBALS

_NO_CODE = "Programs cannot compile code from text. Write the logic out."
_NO_NETWORK = "There is no network. Call one of the registered functions."
_NO_TIMERS = "There are no timers and nothing to wait for but functions. `await` the function you need."
_NO_FILES = "There are no files. Call one of the registered functions."
_NO_MODULES = "There are no modules. Everything a program needs is a global."
_NO_HOST = "There is no host environment. What the program needs comes in `params`."
_NO_BROWSER = "There is no browser. Return the value from `run`."
_NO_THREADS = "There is no shared memory. Use plain arrays and objects."
_NO_GLOBAL = "Name the global itself; there is no access by computed names."
_NO_LOCALE = "Locale formatting is not available. Build the text with `toFixed`, `padStart` and string methods."
_NO_CLOCK = "Use `Date.now()`; it stands at the time the job started."
_NO_BYTES = "Work with strings; there is no binary encoding of text."
_NO_URL = "Take the address apart with string methods and `decodeURIComponent`."
_NO_GARBAGE = "When memory is freed must not change a program. Use a `Map` or `WeakMap`."
_NO_CRYPTO = "There is no cryptography. Ids are made by the functions that store things."

MISSING_GLOBALS: Mapping[str, str] = MappingProxyType(
    {
        "eval": _NO_CODE,
        "Function": _NO_CODE,
        "AsyncFunction": _NO_CODE,
        "GeneratorFunction": _NO_CODE,
        "WebAssembly": _NO_CODE,
        "ShadowRealm": _NO_CODE,
        "globalThis": _NO_GLOBAL,
        "window": _NO_GLOBAL,
        "self": _NO_GLOBAL,
        "global": _NO_GLOBAL,
        "fetch": _NO_NETWORK,
        "axios": _NO_NETWORK,
        "XMLHttpRequest": _NO_NETWORK,
        "WebSocket": _NO_NETWORK,
        "EventSource": _NO_NETWORK,
        "Headers": _NO_NETWORK,
        "Request": _NO_NETWORK,
        "Response": _NO_NETWORK,
        "FormData": _NO_NETWORK,
        "Blob": _NO_NETWORK,
        "setTimeout": _NO_TIMERS,
        "setInterval": _NO_TIMERS,
        "setImmediate": _NO_TIMERS,
        "clearTimeout": _NO_TIMERS,
        "clearInterval": _NO_TIMERS,
        "clearImmediate": _NO_TIMERS,
        "queueMicrotask": _NO_TIMERS,
        "requestAnimationFrame": _NO_TIMERS,
        "AbortController": _NO_TIMERS,
        "AbortSignal": _NO_TIMERS,
        "require": _NO_MODULES,
        "module": _NO_MODULES,
        "exports": _NO_MODULES,
        "define": _NO_MODULES,
        "importScripts": _NO_MODULES,
        "__dirname": _NO_FILES,
        "__filename": _NO_FILES,
        "fs": _NO_FILES,
        "File": _NO_FILES,
        "FileReader": _NO_FILES,
        "process": _NO_HOST,
        "Deno": _NO_HOST,
        "Bun": _NO_HOST,
        "os": _NO_HOST,
        "std": _NO_HOST,
        "scriptArgs": _NO_HOST,
        "print": "Use `console.log`.",
        "document": _NO_BROWSER,
        "navigator": _NO_BROWSER,
        "location": _NO_BROWSER,
        "localStorage": _NO_BROWSER,
        "sessionStorage": _NO_BROWSER,
        "indexedDB": _NO_BROWSER,
        "alert": _NO_BROWSER,
        "confirm": _NO_BROWSER,
        "prompt": _NO_BROWSER,
        "Worker": _NO_THREADS,
        "SharedArrayBuffer": _NO_THREADS,
        "Atomics": _NO_THREADS,
        "MessageChannel": _NO_THREADS,
        "BroadcastChannel": _NO_THREADS,
        "Intl": _NO_LOCALE,
        "Temporal": "Use `Date`; it stands at the time the job started.",
        "performance": _NO_CLOCK,
        "crypto": _NO_CRYPTO,
        "Buffer": _NO_BYTES,
        "TextEncoder": _NO_BYTES,
        "TextDecoder": _NO_BYTES,
        "atob": _NO_BYTES,
        "btoa": _NO_BYTES,
        "URL": _NO_URL,
        "URLSearchParams": _NO_URL,
        "WeakRef": _NO_GARBAGE,
        "FinalizationRegistry": _NO_GARBAGE,
        "Iterator": "Use generators or arrays; `Iterator` is newer than ES2023.",
    }
)
"""What models reach for and programs do not have, with what to do instead."""

MISSING_METHODS: Mapping[str, str] = MappingProxyType(
    {
        "toLocaleString": _NO_LOCALE,
        "toLocaleDateString": _NO_LOCALE,
        "toLocaleTimeString": _NO_LOCALE,
    }
)
"""Methods that throw in the sandbox, with what to do instead."""
