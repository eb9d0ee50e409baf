"""What a model wrote, read as far as it can be: labels by id, and JSON values."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from vardy_worker.contracts.base import well_formed
from vardy_worker.contracts.judge import UNKNOWN
from vardy_worker.programs.judge_arguments import folded_label
from vardy_worker.programs.sheet import Sheet
from vardy_worker.programs.thinking import without_thinking

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from vardy_worker.contracts.base import JsonValue

OBJECTS_TRIED_MAX: Final = 50
"""Places in an answer where an object is looked for; each may cost a look at the rest of it."""

LEVELS_MAX: Final = 128
"""Of lists and objects in each other, as in what programs hand over. Deeper ones could not be walked through."""

# `"id": "label"`, and `"id": "…", "label": "…"`, but no key in the place of a label, as `text` in an
# answer that repeats what was asked. No JSON parser: an answer that was cut, or has a comma too many,
# still tells the labels that stand in it whole.
_PAIR: Final = re.compile(
    r"""["']([0-9a-f]{8})["']\s{0,99}[:,]\s{0,99}(?:["']label["']\s{0,99}:\s{0,99})?"""
    r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')(?!\s{0,99}:)"""
)
_FENCE: Final = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)


def spoken(text: str) -> str:
    """The text without the model's thinking."""
    return without_thinking(Sheet.of(text)).sheet.text.strip()


class Labels:
    """A closed set of labels, and what counts as one of them."""

    def __init__(self, labels: Sequence[str]) -> None:
        """`labels` are those asked for; `unknown` is always one."""
        self._exact = frozenset({*labels, UNKNOWN})
        folded: dict[str, list[str]] = {}
        for label in self._exact:
            folded.setdefault(folded_label(label), []).append(label)
        # Labels that differ in case or spaces alone are told apart, so they must be hit exactly.
        self._folded = {key: found[0] for key, found in folded.items() if len(found) == 1}

    def read(self, written: JsonValue) -> str | None:
        """The label that is meant, whatever its case and spaces; None for anything else."""
        if not isinstance(written, str):
            return None
        return written if written in self._exact else self._folded.get(folded_label(written))


def read_labels(text: str, ids: Collection[str], labels: Labels) -> dict[str, str]:
    """Each of the ids that has exactly one label in the answer, with that label.

    Other ids, and labels that are none, count for nothing; an id with two labels has none.
    """
    found: dict[str, set[str]] = {}
    for text_id, literal in _PAIR.findall(spoken(text)):
        label = labels.read(_string(literal)) if text_id in ids else None
        if label is not None:
            found.setdefault(text_id, set()).add(label)
    return {text_id: next(iter(said)) for text_id, said in found.items() if len(said) == 1}


def read_values(text: str) -> list[JsonValue]:
    """What may be the value that an answer gives, likeliest first.

    That is what the last `{"value": …}` holds, then earlier ones, then the whole answer as JSON.
    """
    said = spoken(text)
    found = [item["value"] for item in _objects(said) if "value" in item]
    found.reverse()
    fence = _FENCE.search(said)
    with suppress(ValueError, RecursionError):
        found.append(_loads(fence[1] if fence else said))
    return list(_cleaned(found))


def _cleaned(values: Iterable[JsonValue]) -> Iterator[JsonValue]:
    for value in values:
        with suppress(ValueError):
            yield clean(value)


def _string(literal: str) -> str | None:
    if literal.startswith("'"):
        literal = '"' + literal[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    try:
        value: str = json.loads(literal, strict=False)
    except ValueError:
        return None
    return value


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, one after the other."""
    decoder = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_no_number)
    start = text.find("{")
    for _ in range(OBJECTS_TRIED_MAX):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _loads(text: str) -> JsonValue:
    return json.loads(text, strict=False, parse_float=_finite, parse_constant=_no_number)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = "a number beyond all that can be stored"
        raise ValueError(msg)
    return number


def _no_number(name: str) -> float:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


def clean(value: JsonValue, levels: int = LEVELS_MAX) -> JsonValue:
    """The value with every half of a surrogate pair as U+FFFD: escapes can bring them in again.

    Raises `ValueError` for one of more levels.
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list | dict) and levels == 0:
        msg = "the value has too many levels"
        raise ValueError(msg)
    if isinstance(value, list):
        return [clean(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {well_formed(key): clean(item, levels - 1) for key, item in value.items()}
    return value
