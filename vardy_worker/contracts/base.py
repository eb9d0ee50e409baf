"""What every contract shares: frozen models, JSON types, hashing of JSON."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import rfc8785
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Iterable

INT_SAFE_MAX = 2**53 - 1
"""The largest integer that a JavaScript number, and so RFC 8785, holds exactly."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,14}")
"""ASCII digits without leading zeros, and no more of them than a length can have."""

JsonValue: TypeAlias = Any
"""Any JSON value: None, bool, int, float, str, list or dict with string keys.

Spelled `Any` because pydantic's recursive `JsonValue` costs a full walk at every
validation, and every producer in Vardy already holds parsed JSON.
"""

JsonObject: TypeAlias = dict[str, Any]


class Contract(BaseModel):
    """Base of the contract types: immutable, and unknown fields are refused.

    The errors of validation do not quote the value: they end in logs, and it may be a row.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def canonical_json(value: JsonValue) -> bytes:
    """The RFC 8785 (JCS) form of a JSON value.

    Raises `rfc8785.CanonicalizationError` for NaN, Infinity and for integers beyond
    ±(2^53 - 1), which callers turn into decimal strings first (`safe_integers`).
    """
    canonical: bytes = rfc8785.dumps(value)
    return canonical


def sha256_json(value: JsonValue) -> str:
    """Hex SHA-256 over the canonical form; integers beyond 2^53 count as decimal strings."""
    return hashlib.sha256(canonical_json(safe_integers(value))).hexdigest()


def sha256_text(text: str) -> str:
    """Hex SHA-256 of the UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def well_formed(text: str) -> str:
    """The text with every lone surrogate as U+FFFD, so that it can be stored and sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def safe_integers(value: JsonValue) -> JsonValue:
    """The value with every integer beyond ±(2^53 - 1) as its decimal string."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -INT_SAFE_MAX <= value <= INT_SAFE_MAX else str(value)
    if isinstance(value, dict):
        return {key: safe_integers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [safe_integers(item) for item in value]
    return value


def pointer_parts(pointer: str) -> list[str]:
    """The unescaped tokens of a JSON Pointer (RFC 6901); `""` is the whole document.

    Raises `ValueError` for a pointer that does not begin with `/`.
    """
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        msg = f"not a JSON Pointer: {pointer!r}"
        raise ValueError(msg)
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def make_pointer(parts: Iterable[str | int]) -> str:
    """The JSON Pointer of the given tokens."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def pointer_get(document: JsonValue, pointer: str) -> JsonValue:
    """The value at a pointer. Raises `LookupError` when the document has no such place."""
    value = document
    for part in pointer_parts(pointer):
        if isinstance(value, dict):
            value = value[part]
        elif isinstance(value, list):
            value = value[_place(part, len(value), pointer)]
        else:
            raise LookupError(pointer)  # noqa: TRY004 - the document is at fault, not a type
    return value


def pointer_set(document: JsonValue, pointer: str, item: JsonValue) -> JsonValue:
    """A copy of the document with the item at the pointer.

    The last token may name a new key of an object or an existing index of an array.
    Raises `LookupError` when the place cannot exist.
    """
    parts = pointer_parts(pointer)
    if not parts:
        return item
    head, rest = parts[0], make_pointer(parts[1:])
    if isinstance(document, dict):
        inner = document.get(head) if not rest else document[head]
        return {**document, head: pointer_set(inner, rest, item)}
    if isinstance(document, list):
        index = _place(head, len(document), pointer)
        return [*document[:index], pointer_set(document[index], rest, item), *document[index + 1 :]]
    raise LookupError(pointer)


def array_index(token: str) -> int | None:
    """A pointer's token as a place in an array, as RFC 6901 writes one; None when it is none."""
    return int(token) if _INDEX.fullmatch(token) else None


def _place(token: str, length: int, pointer: str) -> int:
    index = array_index(token)
    if index is None or index >= length:
        raise LookupError(pointer)
    return index
