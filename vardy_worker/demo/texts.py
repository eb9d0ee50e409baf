"""The texts of the scripted model: its programs, and what it finds in a prompt."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def program(name: str, values: Mapping[str, str]) -> str:
    """An answer of the folder `answers`, a program in a fence, with its numbers filled in."""
    text = _answer_text(name)
    for key, value in values.items():
        # A number written 007 would be octal in JavaScript.
        text = text.replace("{{" + key + "}}", value.lstrip("0") or "0")
    if not name.endswith(".js"):
        return text
    return f"```javascript\n{text.strip()}\n```\n"


def tagged(messages: Sequence[tuple[str, str]], tag: str) -> str | None:
    """What the first user message that has such tags carries between them."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    for role, content in messages:
        start, end = content.find(opening), content.rfind(closing)
        if role == "user" and 0 <= start < end:
            return content[start + len(opening) : end].strip()
    return None


def shorten(text: str, length: int = 200) -> str:
    """The text, with `…` for what goes beyond the length."""
    return text if len(text) <= length else text[:length] + "…"


@cache
def _answer_text(name: str) -> str:
    return resources.files("vardy_worker.demo").joinpath("answers", name).read_text(encoding="utf-8")
