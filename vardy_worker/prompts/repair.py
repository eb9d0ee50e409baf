"""The prompt that asks for a corrected program."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from vardy_worker.contracts.base import Contract
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import CallSummary, ValueShape
from vardy_worker.contracts.model import Message
from vardy_worker.contracts.program import Finding
from vardy_worker.programs import excerpt
from vardy_worker.prompts.failure import is_callable, place_of, problems_of, sentence_of
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


class FailedTry(Contract):
    """One answer of the model that did not do, and why.

    `text` is what the model wrote, and lines of findings and of `error.details` count in it.
    Of a program that was accepted and then failed, only `source` and `line_map` need be left.
    """

    text: str = ""
    error: ErrorInfo
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    shapes: tuple[ValueShape, ...] = ()
    source: str = ""
    line_map: tuple[int, ...] = ()

    def excerpt(self, line: int, column: int) -> str:
        """The place in a fence, with a caret; "" for a place outside of the program."""
        found = excerpt(self.text, line, column) if self.text else excerpt(self.source, line, column, self.line_map)
        return fenced(found, "") if found else ""


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
        messages.append(Message(role="assistant", content=answer_of(failed)))
        values, parts = complaint(failed, catalogue)
        messages.append(Message(role="user", content=template("repair").fill(values, parts=parts)))
    return tuple(messages)


def answer_of(failed: FailedTry) -> str:
    """What the model wrote, as it is sent back to it; in part where it was long, or cut itself."""
    text = failed.text.strip() or (fenced(failed.source, "javascript") if failed.source else "")
    most = CUT_ANSWER_CHARACTERS_MAX if failed.error.code in _CUT else ANSWER_CHARACTERS_MAX
    if len(text) > most:
        text = text[:most] + "\n… (the rest is left out)"
    return text or NO_ANSWER


def complaint(failed: FailedTry, catalogue: Catalogue) -> tuple[dict[str, str], frozenset[str]]:
    """The values and the parts of a text that says what was wrong."""
    place = place_of(failed.error)
    program = failed.text or failed.source
    values = {
        "code": failed.error.code,
        "sentence": sentence_of(failed.error, program, catalogue),
        "findings": "\n\n".join(_finding(finding, failed) for finding in _errors_first(failed.findings)),
        "excerpt": failed.excerpt(*place) if place and not failed.findings else "",
        "problems": "\n".join(f"- {problem}" for problem in problems_of(failed.error, program, catalogue)),
        "calls": _calls(failed.calls, catalogue),
        "shapes": "\n".join(f"- {shape.label}: {shape.shape}" for shape in failed.shapes),
    }
    parts = frozenset(name for name in ("findings", "excerpt", "problems", "calls", "shapes") if values[name])
    return values, parts


def _errors_first(findings: tuple[Finding, ...]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.severity != "error")[:FINDINGS_SHOWN]


def _finding(finding: Finding, failed: FailedTry) -> str:
    head = f"{finding.severity} at line {finding.line}, column {finding.column}: {finding.message} [{finding.code}]"
    lines = [head, failed.excerpt(finding.line, finding.column)]
    if finding.hint:
        lines.append(f"hint: {finding.hint}")
    return "\n".join(line for line in lines if line)


def _calls(calls: tuple[CallSummary, ...], catalogue: Catalogue) -> str:
    counted = Counter((call.function, call.ok, call.code) for call in calls if is_callable(call.function, catalogue))
    return "\n".join(
        f"- {function}: {count} {'call' if count == 1 else 'calls'}, {'done' if ok else f'failed ({code})'}"
        for (function, ok, code), count in counted.items()
    )
