"""What a program returned, cut by its structure so that it can be shown to a model.

    {"city": "Porto", "orders": [{"id": 1}, {"id": 2}, "… 998 more items"], "…": "3 more keys"}

The cut value is JSON again, of the same shape as far as it goes; `…` stands where something
was left out and says how much.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonValue

FLOOR_BYTES = 32
"""The room that every value is given that is shown at all; whatever it is, it fits when cut."""
SHARES = 8
"""An item of an array is shown whole up to this part of the array's room; the rest is for its neighbours."""
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a model sees of what a program returned, and whether that is only a part."""

    value: JsonValue
    truncated: bool


def summarise(value: JsonValue, bytes_max: int) -> Summary:
    """The value, cut so that its JSON (`summary_text`) has at most `bytes_max` bytes of UTF-8.

    Long arrays lose their tail, objects their last keys, texts their end, and deep parts
    everything but their size. What fits is left as it is, and the same value is always cut
    in the same way. `bytes_max` is at least `FLOOR_BYTES`.
    """
    if _size(value) <= bytes_max:
        return Summary(value, truncated=False)
    return Summary(_cut(value, bytes_max), truncated=True)


def summary_text(value: JsonValue) -> str:
    """A summary as a model reads it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _size(value: JsonValue) -> int:
    return len(summary_text(value).encode())


def _fitted(value: JsonValue, size: int, room: int) -> JsonValue:
    return value if size <= room else _cut(value, room)


def _cut(value: JsonValue, room: int) -> JsonValue:
    """Of a value larger than its room, which is at least the floor, what fits."""
    match value:
        case str():
            return _cut_text(value, room)
        case list():
            return _cut_array(value, room)
        case dict():
            return _cut_object(value, room)
        case _:
            # A number of so many digits; its start would be another number.
            return ELLIPSIS


def _cut_text(text: str, room: int) -> str:
    note = f"{ELLIPSIS} ({len(text):,} characters)"
    left = room - _size(note)
    if left <= 0:
        return ELLIPSIS
    kept = 0
    for character in text[:left]:
        left -= _size(character) - 2
        if left < 0:
            break
        kept += 1
    return text[:kept] + note


def _cut_array(items: list[JsonValue], room: int) -> JsonValue:
    note = f"{ELLIPSIS} {len(items):,} more items"
    inside = room - 2 - _size(note) - 1
    share = max(FLOOR_BYTES, inside // SHARES)
    sizes: list[int] = []
    left = inside
    for item in items:
        size = _size(item)
        left -= min(size, share) + 1
        if left < 0:
            break
        sizes.append(size)
    if not sizes:
        return f"{ELLIPSIS} {_count(len(items), 'item')}"
    rooms = _rooms(sizes, inside - len(sizes))
    shown = [_fitted(item, size, given) for item, size, given in zip(items, sizes, rooms, strict=False)]
    hidden = len(items) - len(shown)
    return [*shown, f"{ELLIPSIS} {hidden:,} more {'item' if hidden == 1 else 'items'}"] if hidden else shown


def _cut_object(value: dict[str, JsonValue], room: int) -> JsonValue:
    mark = ELLIPSIS
    while mark in value:
        mark += ELLIPSIS
    inside = room - 2 - _size({mark: f"{len(value):,} more keys"}) - 1
    names: list[str] = []
    sizes: list[int] = []
    left = inside
    for name, item in value.items():
        size = _size(item)
        left -= min(size, FLOOR_BYTES) + _size(name) + 2
        if left < 0:
            break
        names.append(name)
        sizes.append(size)
    if not names:
        return f"{ELLIPSIS} {_count(len(value), 'key')}"
    rooms = _rooms(sizes, inside - sum(_size(name) + 2 for name in names))
    shown = {name: _fitted(value[name], size, given) for name, size, given in zip(names, sizes, rooms, strict=True)}
    hidden = len(value) - len(shown)
    return {**shown, mark: f"{hidden:,} more {'key' if hidden == 1 else 'keys'}"} if hidden else shown


def _rooms(sizes: Sequence[int], room: int) -> list[int]:
    """How the room is shared: what is small has all it needs, the large ones share the rest evenly."""
    rooms = [0] * len(sizes)
    left = room
    waiting = len(sizes)
    for place in sorted(range(len(sizes)), key=lambda place: sizes[place]):
        rooms[place] = min(sizes[place], left // waiting)
        left -= rooms[place]
        waiting -= 1
    return rooms


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
