"""The prompt of an explore: a question, and the rounds so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.model import Message
from vardy_worker.contracts.program import Finding
from vardy_worker.prompts.program import described, described_parts, limit_text, params_text
from vardy_worker.prompts.repair import FailedTry, answer_of, complaint
from vardy_worker.prompts.summary import summary_text
from vardy_worker.prompts.template import fenced, template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.explore import Round
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.limits import Limits


def explore_prompt(
    *,
    catalogue: Catalogue,
    question: str,
    params: JsonObject,
    limits: Limits,
    judge: bool = False,
    rounds: Sequence[Round] = (),
    refused: Sequence[FailedTry] = (),
) -> tuple[Message, ...]:
    """A system and a user message, then two for each round and each refused answer.

    The system message depends on the catalogue, the limits of programs and `judge` alone,
    and every message stays as it is when rounds follow. Of a round the model sees its own
    program and the summary that it returned, or its error as a repair would tell it.
    `refused` are answers that were none, when no program may run any more.
    """
    messages = [
        Message(role="system", content=_system(catalogue, limits, judge=judge)),
        Message(role="user", content=_user(question, params, limits.explore_rounds_max)),
    ]
    for each in rounds:
        failed = failed_round(each)
        messages.append(Message(role="assistant", content=answer_of(failed) if failed else _program(each)))
        left = limits.explore_rounds_max - each.n
        told = _failed(failed, catalogue, left) if failed else _returned(each, limits, left)
        messages.append(Message(role="user", content=told))
    for failed in refused:
        messages.append(Message(role="assistant", content=answer_of(failed)))
        messages.append(Message(role="user", content=_failed(failed, catalogue, 0)))
    return tuple(messages)


def failed_round(each: Round) -> FailedTry | None:
    """A round's failure as a repair would tell it; None for a round that worked."""
    if each.error is None:
        return None
    said = each.error.details.get("said", "")
    findings = each.error.details.get("findings", ())
    return FailedTry(
        text=said if each.program is None else "",
        error=each.error,
        findings=tuple(Finding.model_validate(finding) for finding in findings),
        calls=each.calls,
        shapes=each.shapes,
        source=each.program.source if each.program else "",
        line_map=each.program.line_map if each.program else (),
    )


def _system(catalogue: Catalogue, limits: Limits, *, judge: bool) -> str:
    values = described(catalogue, limits) | {"summary_bytes_max": limit_text(limits.summary_bytes_max)}
    return template("explore").fill(values, parts=described_parts(catalogue, judge=judge))


def _user(question: str, params: JsonObject, rounds_max: int) -> str:
    programs = "1 program" if rounds_max == 1 else f"{rounds_max} programs"
    return f"<question>\n{question.strip()}\n</question>\n\n{params_text(params)}\nAt most {programs} may run.\n"


def _program(each: Round) -> str:
    return fenced(each.program.source if each.program else "", "javascript")


def _returned(each: Round, limits: Limits, left: int) -> str:
    values = {
        "n": str(each.n),
        "left": str(left),
        "summary": fenced(summary_text(each.summary), "json"),
        "summary_bytes_max": limit_text(limits.summary_bytes_max),
    }
    cut = frozenset({"cut"} if each.truncated else ())
    return template("round").fill(values, parts=cut | _next(left))


def _failed(failed: FailedTry, catalogue: Catalogue, left: int) -> str:
    values, parts = complaint(failed, catalogue)
    return template("round_failed").fill(values | {"left": str(left)}, parts=parts | _next(left))


def _next(left: int) -> frozenset[str]:
    return frozenset({"more" if left > 0 else "last"})
