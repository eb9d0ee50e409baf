"""Headers that came in several lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Scope

LISTS: Final = (b"accept", b"idempotency-key", b"if-match", b"if-none-match", b"prefer")
"""Lists, which may come in several lines, and two that must not be one of several.

Of these, what was joined names no single key, and no single plan, so it is refused as such.
"""


def join_lines(scope: Scope) -> None:
    """Makes one line of the lines of each list, before anything reads the first of them alone."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    for name in LISTS:
        lines = [value for each, value in headers if each == name]
        if len(lines) > 1:
            headers = [(each, value) for each, value in headers if each != name] + [(name, b", ".join(lines))]
    scope["headers"] = headers
