"""What a program returned, cut by its structure so that it can be shown to a model.

    {"city": "Porto", "orders": [{"id": 1}, {"id": 2}, "… 998 more items"], "…": "3 more keys"}

The cut value is JSON again, of the same shape as far as it goes; `…` stands where something
was left out and says how much.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonValue

FLOOR_BYTES = 32
"""The room that every value is given that is shown at all; whatever it is, it fits when cut."""
SHARES = 4
"""An item of an array is shown whole up to this part of the array's room; the rest is for its neighbours."""
ELLIPSIS = "…"
BRACKETS = 2


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
    note = f"{ELLIPSIS} ({len(text):,} characters in all)"
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
    sizes = [_size(item) for item in items]
    inside = room - BRACKETS
    share = max(FLOOR_BYTES, inside // SHARES)
    kept = _kept([min(size, share) + 1 for size in sizes], inside, _size(_more(len(items), "item")) + 1)
    if kept == 0:
        return f"{ELLIPSIS} {_count(len(items), 'item')}"
    hidden = len(items) - kept
    note = [_more(hidden, "item")] if hidden else []
    rooms = _rooms(sizes[:kept], inside - kept - sum(_size(text) + 1 for text in note))
    return [*map(_fitted, items[:kept], sizes, rooms), *note]


def _cut_object(value: dict[str, JsonValue], room: int) -> JsonValue:
    mark = ELLIPSIS
    while mark in value:
        mark += ELLIPSIS
    names = list(value)
    sizes = [_size(item) for item in value.values()]
    inside = room - BRACKETS
    costs = [min(size, FLOOR_BYTES) + _size(name) + 2 for name, size in zip(names, sizes, strict=True)]
    kept = _kept(costs, inside, _size(mark) + _size(_count(len(names), "more key")) + 2)
    if kept == 0:
        return f"{ELLIPSIS} {_count(len(names), 'key')}"
    hidden = len(names) - kept
    note = {mark: _count(hidden, "more key")} if hidden else {}
    taken = sum(_size(name) + 2 for name in names[:kept]) + sum(_size(note[mark]) + _size(mark) + 2 for _ in note)
    rooms = _rooms(sizes[:kept], inside - taken)
    return dict(zip(names[:kept], map(_fitted, value.values(), sizes, rooms), strict=True)) | note


def _kept(costs: Sequence[int], room: int, note: int) -> int:
    """How many of the first parts fit with the least room of each: all, or those that a note leaves room for."""
    if sum(costs) <= room:
        return len(costs)
    spent = accumulate(costs, initial=note)
    return sum(1 for total in spent if total <= room) - 1 if note <= room else 0


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


def _more(number: int, word: str) -> str:
    return f"{ELLIPSIS} {_count(number, f'more {word}')}"
