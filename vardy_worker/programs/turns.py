"""One turn of an explore, as a model wrote it: a program, or the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vardy_worker.contracts.explore import Answer
from vardy_worker.contracts.program import NoProgram
from vardy_worker.programs.blocks import without_tokens
from vardy_worker.programs.candidates import TIER_FUNCTIONS, TIER_RUN, TIER_STATEMENTS, TIER_WAITING, Place
from vardy_worker.programs.extraction import CUT_REASONS, extract
from vardy_worker.programs.line_ends import plain_lines
from vardy_worker.programs.sheet import Sheet
from vardy_worker.programs.thinking import without_thinking

if TYPE_CHECKING:
    from collections.abc import Collection

    from vardy_worker.contracts.program import Extracted
    from vardy_worker.programs.candidates import Candidate

FILTERED = "content_filter"
"""The finish reason that says that the provider took the rest of a text away: what is left may lack what matters."""

_RUN = re.compile(r"\bfunction\s{1,9}run\s{0,9}\(|\brun\s{0,9}=\s{0,9}(?:async\b|function\b|\()")
_WRAPPED = re.compile(
    r"<(?P<tag>answer|response|output)>(?P<tagged>.*)</(?P=tag)>|```(?:markdown|md)\n(?P<fenced>.*)\n```",
    re.DOTALL | re.IGNORECASE,
)
_FINAL = "<|channel|>final<|message|>"
"""Before it, models of the Harmony format think. Providers take the format away, some servers do not."""
_EMPTY = re.compile(r"(?:```|~~~)[\w-]*\s*(?:```|~~~)?")
_AWAITED_CALL = re.compile(r"\bawait\s{1,9}[\w$.]{1,99}\(")


def read_turn(
    text: str,
    *,
    finish_reason: str = "stop",
    program_bytes_max: int,
    answer_bytes_max: int,
    functions: Collection[str],
) -> Extracted | Answer | NoProgram:
    """The program in a model's text, or else the text as the answer, without what the model thought.

    A program is code that is meant to be run: a fence or a whole text that defines `run`, or
    else calls one of the `functions`, as `extract` finds it. Prose with a table, with JSON,
    with code of other languages or with a few words of code is an answer; prose beside a
    program is not. `NoProgram` where there is neither: nothing was said, it was cut off, or
    is too large.
    """
    found = extract(
        text,
        finish_reason=finish_reason,
        program_bytes_max=program_bytes_max,
        functions=functions,
        is_meant=lambda candidate: _is_meant(candidate, functions),
    )
    if not isinstance(found, NoProgram) or finish_reason.lower() in CUT_REASONS:
        return found
    if found.code == "generation.program_too_large" and _RUN.search(text):
        return found
    if finish_reason.lower() == FILTERED:
        return NoProgram(
            code="generation.no_answer",
            message="The provider's content filter stopped the model before its answer ended.",
            details={"finish_reason": FILTERED},
        )
    said = plain_lines(text.removeprefix("\ufeff")).rpartition(_FINAL)[2]
    spoken = without_thinking(without_tokens(Sheet.of(said))).sheet
    answer = _unwrapped("\n".join(line.rstrip() for line in spoken.text.split("\n")).strip())
    if not answer or _EMPTY.fullmatch(answer):
        return NoProgram(
            code="generation.no_answer", message="The model gave neither a program nor an answer.", details={}
        )
    size = len(answer.encode())
    if size > answer_bytes_max:
        return NoProgram(
            code="generation.no_answer",
            message=f"The model's answer has {size:,} bytes; at most {answer_bytes_max:,} are allowed.",
            details={"limit": "output_bytes_max", "limit_value": answer_bytes_max, "value": size},
        )
    return Answer(text=answer)


def _unwrapped(answer: str) -> str:
    """The answer out of tags, or a fence of Markdown, around the whole of it."""
    wrapped = _WRAPPED.fullmatch(answer)
    inner = next((part for part in wrapped.group("tagged", "fenced") if part is not None), "") if wrapped else ""
    return inner.strip() if wrapped and "```" not in (wrapped["fenced"] or "") else answer


def _is_meant(candidate: Candidate, functions: Collection[str]) -> bool:
    """Whether a stretch is there to be run, and not a part of an answer that only looks like code."""
    code, tier = candidate.sheet.text, candidate.tier
    if not candidate.parsed:
        return _RUN.search(code) is not None or (candidate.place is Place.SCRIPT and _calls(code, functions))
    match candidate.place:
        case Place.SPAN:
            return False
        case Place.PROSE:
            return tier >= TIER_RUN or (_AWAITED_CALL.search(code) is not None and _calls(code, functions))
        case Place.JSON | Place.FENCE:
            return tier >= TIER_RUN or (tier >= TIER_STATEMENTS and _calls(code, functions))
        case Place.SCRIPT | Place.WHOLE if tier == TIER_WAITING:
            return _AWAITED_CALL.search(code) is not None
        case Place.SCRIPT | Place.WHOLE:
            return tier >= TIER_FUNCTIONS or (tier >= TIER_STATEMENTS and _calls(code, functions))


def _calls(code: str, functions: Collection[str]) -> bool:
    names = "|".join(re.escape(name) for name in functions)
    return bool(names) and re.search(rf"(?<![\w$])(?:{names})\s{{0,9}}\(", code) is not None
