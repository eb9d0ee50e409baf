"""Words for people: safe text, short JSON, times and durations. Pure."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any

# Control characters would let stored text move the cursor or set the title of the
# terminal; invisible and direction-changing ones would show an approver other words.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with every character that could deceive a reader or a terminal spelled out."""
    return _HIDDEN.sub(lambda match: _spelled(match.group()), text)


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the end of the BMP


def escaped_json(text: str) -> str:
    """JSON text with such characters as JSON escapes: another spelling of the same value."""
    return _HIDDEN.sub(lambda match: json.dumps(match.group())[1:-1], text)


def one_line(text: str) -> str:
    """Visible text without line breaks."""
    return visible(" ".join(text.split()))


def short_json(value: Any, limit: int | None = None) -> str:
    """A JSON value on one line, cut at `limit` characters."""
    return cut(escaped_json(json.dumps(value, ensure_ascii=False)), limit)


def cut(text: str, limit: int | None) -> str:
    """The text, with `…` for what goes beyond `limit` characters."""
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def pretty_json(value: Any) -> str:
    """A JSON value over several lines; a bare string as it is."""
    if isinstance(value, str):
        return visible(value)
    return escaped_json(json.dumps(value, ensure_ascii=False, indent=2))


_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))


def duration(seconds: float) -> str:
    """A length of time in its largest unit: `0.4 s`, `12 s`, `5 min`, `3 h`, `2 d`."""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{round(seconds / size)} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"  # noqa: PLR2004 - tenths matter below


def ago(moment: datetime | None, now: datetime) -> str:
    """How long ago, `-` for never."""
    if moment is None:
        return "-"
    return f"{duration(max(0.0, (now - moment).total_seconds()))} ago"


def expiry(moment: datetime | None, now: datetime) -> str:
    """`expires in 3 h`, `expired`, or `-` for never."""
    if moment is None:
        return "-"
    left = moment - now
    return "expired" if left <= timedelta(0) else f"expires in {duration(left.total_seconds())}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 job`, `3 jobs`; with the plural where it is not the noun with an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
