"""The globals of a program: the one list that prompt and checks go by, and the sandbox is tested against."""

from __future__ import annotations

import json
from pathlib import Path
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

NEWER_GLOBALS = frozenset(
    {"AsyncDisposableStack", "DisposableStack", "Float16Array", "InternalError", "Iterator", "SuppressedError"}
)
"""What the engine has beyond ES2023: not promised, and no reason to refuse a program."""

PROVIDED_GLOBALS = frozenset({"DOMException", "atob", "btoa", "console", "queueMicrotask", "structuredClone"})
"""What every program has that is no part of the language."""

JUDGE_GLOBALS = frozenset({"ai", "classify"})
"""What Vardy adds where the request or recipe says `judge: true`."""

ALLOWED_GLOBALS = LANGUAGE_GLOBALS | NEWER_GLOBALS | PROVIDED_GLOBALS
"""Every global of a program but `globalThis`, of which only the members can be named."""

_MISSING_FILE = Path(__file__).parents[1] / "sandbox" / "guest" / "missing.json"

MISSING_GLOBALS: Mapping[str, str] = MappingProxyType(json.loads(_MISSING_FILE.read_text(encoding="utf-8")))
"""What models reach for and programs do not have, with what to do instead.

The guest reads the same file, so that a program which is stopped says what the checks say.
"""

_NO_LOCALE = MISSING_GLOBALS["Intl"]

MISSING_METHODS: Mapping[str, str] = MappingProxyType(
    {
        "toLocaleString": _NO_LOCALE,
        "toLocaleDateString": _NO_LOCALE,
        "toLocaleTimeString": _NO_LOCALE,
    }
)
"""Methods that throw in the sandbox, with what to do instead."""
