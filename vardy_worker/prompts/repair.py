"""The prompt that asks for a corrected program."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from vardy_worker.contracts.base import Contract
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import CallSummary
from vardy_worker.contracts.model import Message
from vardy_worker.contracts.program import Finding
from vardy_worker.prompts.failure import place_of, problems_of, sentence_of
from vardy_worker.prompts.template import fenced, template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.functions import Catalogue

ANSWER_CHARACTERS_MAX = 16_000
"""How much of a failed answer is sent back; of one that was cut or too long, far less."""
CUT_ANSWER_CHARACTERS_MAX = 2_000
FINDINGS_SHOWN = 20
NO_ANSWER = "(no text)"

_CUT = frozenset({"generation.truncated", "generation.program_too_large"})


class ValueShape(Contract):
    """The shape of a value that may have surprised the program: never the value (`shape_of`)."""

    label: str = Field(description="what it is, in Vardy's words, e.g. `list_orders returned`")
    shape: str


class FailedTry(Contract):
    """One answer of the model that did not do, and why.

    `text` is what the model wrote; lines of findings and of `error.details` count in it. A
    program of which only the source is left goes in as its source, with its own lines.
    """

    text: str
    error: ErrorInfo
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    shapes: tuple[ValueShape, ...] = ()


def repair_prompt(
    prompt: tuple[Message, ...], tries: Sequence[FailedTry], *, catalogue: Catalogue
) -> tuple[Message, ...]:
    """The program prompt, continued by each failed answer and what was wrong with it.

    Of an error only what Vardy knows to be free of data is said: its code, its place, a
    sentence of Vardy's own, numbers of limits. Messages of functions, texts that the program
    threw or printed, and values are left out, whatever the error carries.
    """
    messages = list(prompt)
    for failed in tries:
        messages.append(Message(role="assistant", content=_answer(failed)))
        messages.append(Message(role="user", content=_complaint(failed, catalogue)))
    return tuple(messages)


def _answer(failed: FailedTry) -> str:
    text = failed.text.strip()
    most = CUT_ANSWER_CHARACTERS_MAX if failed.error.code in _CUT else ANSWER_CHARACTERS_MAX
    if len(text) > most:
        text = text[:most] + "\n… (the rest is left out)"
    return text or NO_ANSWER


def _complaint(failed: FailedTry, catalogue: Catalogue) -> str:
    place = place_of(failed.error)
    values = {
        "code": failed.error.code,
        "sentence": sentence_of(failed.error, failed.text, catalogue),
        "findings": "\n\n".join(_finding(finding, failed.text) for finding in _errors_first(failed.findings)),
        "excerpt": excerpt(failed.text, *place) if place and not failed.findings else "",
        "problems": "\n".join(f"- {problem}" for problem in problems_of(failed.error, catalogue)),
        "calls": _calls(failed.calls, catalogue),
        "shapes": "\n".join(f"- {shape.label}: {shape.shape}" for shape in failed.shapes),
    }
    parts = frozenset(name for name in ("findings", "excerpt", "problems", "calls", "shapes") if values[name])
    return template("repair").fill(values, parts=parts)


def _errors_first(findings: tuple[Finding, ...]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.severity != "error")[:FINDINGS_SHOWN]


def _finding(finding: Finding, text: str) -> str:
    head = f"{finding.severity} at line {finding.line}, column {finding.column}: {finding.message} [{finding.code}]"
    lines = [head, excerpt(text, finding.line, finding.column)]
    if finding.hint:
        lines.append(f"hint: {finding.hint}")
    return "\n".join(line for line in lines if line)


def _calls(calls: tuple[CallSummary, ...], catalogue: Catalogue) -> str:
    counted = Counter((call.function, call.ok, call.code) for call in calls if catalogue.get(call.function))
    return "\n".join(
        f"- {function}: {count} {'call' if count == 1 else 'calls'}, {'done' if ok else f'failed ({code})'}"
        for (function, ok, code), count in counted.items()
    )


def excerpt(text: str, line: int, column: int) -> str:
    """The line with its neighbours and a caret under the column, in a fence; "" outside of the text."""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    width = len(str(min(line + 1, len(lines))))
    shown: list[str] = []
    for number in range(max(1, line - 1), min(len(lines), line + 1) + 1):
        shown.append(f"{number:>{width}} | {lines[number - 1]}")
        if number == line and column >= 1:
            shown.append(f"{' ' * width} | {' ' * (column - 1)}^")
    return fenced("\n".join(shown), "")
