"""Names of functions and arguments: stable ASCII identifiers that no program can misread."""

from __future__ import annotations

import keyword
import re
import unicodedata
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import RegistrationError

if TYPE_CHECKING:
    from collections.abc import Collection

NAME_LENGTH_MAX = 64

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")

RESERVED_WORDS = frozenset(
    """
    arguments as async await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for from function get if implements import in instanceof interface let loop
    namespace new null of package private protected public return set static super switch this throw true try
    typeof undefined using var void while with yield
    """.split()  # noqa: SIM905 - as a list it would be one word a line
)
"""Words that JavaScript or the language of rules reserves, or reads as syntax in some place."""

_LITERAL_WORDS = frozenset({"true", "false", "null"})
"""Words that no rule could write as `args.<name>`."""

GLOBAL_NAMES = frozenset(
    """
    AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack AsyncFunction AsyncGenerator
    Atomics BigInt BigInt64Array BigUint64Array Blob Boolean BroadcastChannel Buffer Bun DOMException DataView Date
    Deno DisposableStack Error EvalError EventSource File FileReader FinalizationRegistry Float16Array Float32Array
    Float64Array FormData Function Generator GeneratorFunction Headers Infinity Int16Array Int32Array Int8Array
    InternalError Intl Iterator JSON Map Math MessageChannel NaN Number Object Promise Proxy RangeError
    ReferenceError Reflect RegExp Request Response Set ShadowRealm SharedArrayBuffer String SuppressedError Symbol
    SyntaxError Temporal TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array
    Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WebSocket Worker XMLHttpRequest alert atob
    axios btoa clearImmediate clearInterval clearTimeout confirm crypto dayjs decodeURI decodeURIComponent define
    document encodeURI encodeURIComponent escape exports fetch fs global globalThis importScripts indexedDB isFinite
    isNaN localStorage location module moment navigator parseFloat parseInt performance postMessage print process
    prompt queueMicrotask requestAnimationFrame require self sessionStorage setImmediate setInterval setTimeout
    structuredClone unescape window
    """.split()  # noqa: SIM905 - as a list it would be one word a line
)
"""Globals of JavaScript, and of the browsers and servers that models have in mind."""

MEMBER_NAMES = frozenset(
    """
    apply bind call caller catch constructor finally hasOwnProperty isPrototypeOf length name
    propertyIsEnumerable prototype then toJSON toLocaleDateString toLocaleString toLocaleTimeString toString valueOf
    """.split()  # noqa: SIM905 - as a list it would be one word a line
)
"""Members that every object, function or promise has."""

VARDY_NAMES = frozenset(
    """
    ai args classify console effect functions job judge params plan recipe refs run std os scriptArgs user vardy
    """.split()  # noqa: SIM905 - as a list it would be one word a line
)
"""Names that a program, its sandbox or the rules give another meaning."""

_LOOK_ALIKES = str.maketrans(
    {
        **dict(zip("авекмнорстухіјѕԁԛԝ", "abekmhopctyxijsdqw", strict=True)),
        **dict(zip("АВЕКМНОРСТУХІЈЅ", "ABEKMHOPCTYXIJS", strict=True)),  # noqa: RUF001 - look-alikes are the point
        **dict(zip("αινορτυχ", "aivoptux", strict=True)),
        **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True)),  # noqa: RUF001 - look-alikes are the point
        **dict(zip("ıɡɑℓ", "igal", strict=True)),  # noqa: RUF001 - look-alikes are the point
    }
)
"""Letters of other alphabets that look like ASCII ones; only suggestions are made from it."""


def folded(name: str) -> str:
    """What two names must not share: case, underscores, and the pairs 0/O and 1/l do not count."""
    return name.lower().replace("_", "").replace("0", "o").replace("1", "l")


def check_function_name(name: str, taken: Collection[str]) -> None:
    """Raises `RegistrationError`, with the reason and a name to take instead."""
    reason = _why_no_function_name(name, taken)
    if reason:
        suggestion = suggest(name, taken)
        raise RegistrationError(
            f"A function cannot be named {name!r}: {reason} Name it {suggestion!r}, for example.",
            details={"name": name, "suggestion": suggestion},
        )


def check_argument_name(function: str, name: str) -> None:
    """Raises `RegistrationError` for an argument that programs cannot name safely."""
    reason = "rules read it as a value." if name in _LITERAL_WORDS else _why_no_identifier(name)
    if not reason:
        return
    suggestion = f"is_{name}" if name in _LITERAL_WORDS else _identifier_from(name)
    raise RegistrationError(
        f"The argument {name!r} of {function!r} cannot be named so: {reason} Name it {suggestion!r}, for example.",
        details={"function": function, "name": name, "suggestion": suggestion},
    )


def suggest(name: str, taken: Collection[str]) -> str:
    """A valid, free name close to the given one."""
    base = _identifier_from(name)
    candidates = [base, f"{base}_record", *(f"{base}_{number}" for number in range(2, 1000))]
    return next(candidate for candidate in candidates if not _why_no_function_name(candidate, taken))


def _why_no_function_name(name: str, taken: Collection[str]) -> str:
    """The reason as a sentence; empty when the name is fine."""
    reason = _why_no_identifier(name)
    if reason:
        return reason
    if name in RESERVED_WORDS or keyword.iskeyword(name):
        return "it is a reserved word, so a program could not call it."
    if name in GLOBAL_NAMES:
        return "JavaScript, or a system that models know, has a global of that name."
    if name in MEMBER_NAMES:
        return "every object in JavaScript has a member of that name."
    if folded(name) in {folded(own) for own in VARDY_NAMES}:
        return "Vardy gives that name a meaning of its own."
    if name in taken:
        return "a function of that name is registered already."
    other = next((known for known in taken if folded(known) == folded(name)), None)
    if other is not None:
        return f"it can be mistaken for {other!r}, which is registered already."
    return ""


def _why_no_identifier(name: str) -> str:
    if not name:
        return "it is empty."
    strange = next((character for character in name if not character.isascii()), None)
    if strange is not None:
        called = unicodedata.name(strange, f"U+{ord(strange):04X}")
        return f"it contains {strange!r} ({called}), and only ASCII letters, digits and underscores are allowed."
    if not _IDENTIFIER.match(name):
        return "it must begin with a letter, and have only ASCII letters, digits and underscores."
    if len(name) > NAME_LENGTH_MAX:
        return f"it has {len(name)} characters, and at most {NAME_LENGTH_MAX} are allowed."
    return ""


def _identifier_from(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.translate(_LOOK_ALIKES)).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_") or "function"
    if words[0].isdigit():
        words = f"get_{words}"
    return words[: NAME_LENGTH_MAX - len("_record")]
