"""The shape of a value: its types, keys and lengths, and none of its contents."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from vardy_worker.contracts.base import JsonValue

DEPTH_MAX = 6
KEYS_MAX = 40
ITEMS_LOOKED_AT = 50
VARIANTS_MAX = 4
KEY_CHARACTERS_MAX = 80

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def shape_of(value: JsonValue, *, known: AbstractSet[str] | None = None, lengths: bool = False) -> str:
    """A TypeScript-like text of a JSON value's shape, of bounded size.

    `known` are the keys that may be shown: a key can be data too (totals by customer, say),
    so of a value made from the company's data only keys that stand in schemas or in the
    program are shown, and the others become `[key: string]`. None shows every key, for
    values that are the caller's own. `lengths` adds the lengths of texts and arrays.
    """
    return _shape(value, known, lengths, 0)


def _shape(value: JsonValue, known: AbstractSet[str] | None, lengths: bool, depth: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return f"string /* {len(value)} characters */" if lengths else "string"
    if isinstance(value, dict):
        return "{…}" if depth >= DEPTH_MAX else _object(value, known, lengths, depth)
    if isinstance(value, list | tuple):
        return "Array<…>" if depth >= DEPTH_MAX else _array(list(value), known, lengths, depth)
    return type(value).__name__


def _object(value: dict[str, JsonValue], known: AbstractSet[str] | None, lengths: bool, depth: int) -> str:
    shown = [key for key in value if known is None or key in known]
    hidden = [key for key in value if known is not None and key not in known]
    parts = [f"{_key(key)}: {_shape(value[key], known, lengths, depth + 1)}" for key in shown[:KEYS_MAX]]
    if len(shown) > KEYS_MAX:
        parts.append(f"… /* {len(shown) - KEYS_MAX} more keys */")
    if hidden:
        inner = _union([value[key] for key in hidden], known, lengths, depth + 1)
        count = f" /* {len(hidden)} keys */" if lengths else ""
        parts.append(f"[key: string]: {inner}{count}")
    return "{" + ", ".join(parts) + "}"


def _array(value: list[JsonValue], known: AbstractSet[str] | None, lengths: bool, depth: int) -> str:
    if not value:
        return "[] /* empty */"
    inner = _union(value, known, lengths, depth + 1)
    count = f" /* {len(value)} items */" if lengths else ""
    return f"Array<{inner}>{count}"


def _union(values: list[JsonValue], known: AbstractSet[str] | None, lengths: bool, depth: int) -> str:
    # Lengths of items differ from item to item, and would make each a variant of its own.
    lengths = lengths and len(values) == 1
    variants = list(dict.fromkeys(_shape(item, known, lengths, depth) for item in values[:ITEMS_LOOKED_AT]))
    shown = variants[:VARIANTS_MAX]
    if len(variants) > VARIANTS_MAX or len(values) > ITEMS_LOOKED_AT:
        shown.append("…")
    return " | ".join(shown)


def _key(key: str) -> str:
    short = key if len(key) <= KEY_CHARACTERS_MAX else key[:KEY_CHARACTERS_MAX] + "…"
    return short if _IDENTIFIER.fullmatch(short) else json.dumps(short, ensure_ascii=False)
