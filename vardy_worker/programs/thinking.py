"""Takes a model's thinking out of its text, so that code tried out there is not the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_worker.programs.sheet import Sheet, blanked

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "analysis")
_PAIRS = (
    *((f"<{name}>", f"</{name}>") for name in _NAMES),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
)
_FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is left of a text, with every line where it was. `open_ended`: thinking never ended."""

    sheet: Sheet
    open_ended: bool


def without_thinking(sheet: Sheet) -> Spoken:
    """Blanks every stretch of thinking. Tags count at the start of a line, outside of fences."""
    lines = sheet.text.split("\n")
    _blank_orphan(lines)
    closer, fence = "", ""
    for number, line in enumerate(lines):
        rest, kept = line, ""
        if not closer:
            fence = _fence_after(line, fence)
            opened = "" if fence else _opened(line)
            if not opened:
                continue
            closer, rest = opened, line
        end = rest.lower().find(closer)
        if end >= 0:
            done = end + len(closer)
            kept = rest[done:]
            closer = ""
        lines[number] = (blanked(line[: len(line) - len(kept)]) + kept).rstrip()
    return Spoken(Sheet("\n".join(lines), sheet.lines), bool(closer))


def _opened(line: str) -> str:
    start = line.lstrip().lower()
    return next((close for opening, close in _PAIRS if start.startswith(opening)), "")


def _fence_after(line: str, fence: str) -> str:
    start = line.lstrip()[:3]
    if start not in _FENCES:
        return fence
    if not fence:
        return start
    return "" if start == fence else fence


def _blank_orphan(lines: list[str]) -> None:
    """Chat templates may swallow the opening tag: then all before the closing one is thinking."""
    for number, line in enumerate(lines):
        if _opened(line):
            return
        word = line.strip().lower()
        close = next((close for _, close in _PAIRS if word.startswith(close) or word.endswith(close)), "")
        if close and _has_text(lines[number:], close):
            end = line.lower().find(close) + len(close)
            lines[:number] = [""] * number
            lines[number] = blanked(line[:end]) + line[end:]
            return


def _has_text(lines: Sequence[str], close: str) -> bool:
    return any(line.strip() for line in lines[1:]) or not lines[0].lower().rstrip().endswith(close)
