from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.prompts.test_program_prompt import SNAPSHOTS, UPDATE
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import JOB_ERRORS, ErrorInfo
from vardy_worker.contracts.execution import CallSummary, ValueShape
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.program import Finding, Program
from vardy_worker.demo.questions import question_in
from vardy_worker.prompts import FailedTry, explore_prompt, program_prompt

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.model import Message

MARKER = "marker-of-a-row"
SOURCE = "async function run(params) {\n  const all = await list_customers();\n  return { customers: all.length };\n}\n"
PROGRAM = Program(source=SOURCE, sha256=sha256_text(SOURCE), line_map=(2, 3, 4, 5), attempts=1)


@pytest.fixture
def reads(whole_catalogue: Catalogue) -> Catalogue:
    return whole_catalogue.for_user(("support",), reads_only=True)


def prompt(catalogue: Catalogue, *rounds: Round, **changes: Any) -> tuple[Message, ...]:
    given: dict[str, Any] = {"question": "How many customers are there?", "params": {}, "limits": Limits()}
    return explore_prompt(catalogue=catalogue, rounds=rounds, **(given | changes))


def worked(n: int, summary: Any, *, truncated: bool = False) -> Round:
    return Round(n=n, program=PROGRAM, summary=summary, truncated=truncated, ended_at_ms=1)


def failed(n: int, code: str = "execution.thrown", **fields: Any) -> Round:
    details = fields.pop("details", {})
    error = ErrorInfo(code=code, message=MARKER, details=details)
    return Round(**{"n": n, "program": PROGRAM, "error": error, "ended_at_ms": 1, **fields})


def test_the_conversation_of_an_explore_is_the_snapshot(reads: Catalogue) -> None:
    finding = Finding(
        code="program.write_in_explore",
        message="`cancel_order` writes, and here only reads exist.",
        line=3,
        column=9,
        hint="Answer the question with read functions; a change is made by a run.",
    )
    shape = ValueShape(label="list_orders returned", shape="Array<{id: number}> /* 80 items */")
    messages = prompt(
        reads,
        failed(1, "validation.program", details={"findings": [finding.model_dump(mode="json")]}),
        failed(2, details={"line": 3, "column": 9, "name": "TypeError"}, shapes=(shape,)),
        worked(3, {"customers": 14, "orders": ["… 80 items"]}, truncated=True),
        Round(
            n=4,
            error=ErrorInfo(code="generation.truncated", message="Cut.", details={"said": "Let me first"}),
            ended_at_ms=1,
        ),
        params={"city": "Faro"},
        judge=True,
    )
    shown = "\n".join(f"=== {message.role} ===\n{message.content}" for message in messages)
    if os.environ.get(UPDATE):
        (SNAPSHOTS / "explore.md").write_text(shown, encoding="utf-8")
    assert shown == (SNAPSHOTS / "explore.md").read_text(encoding="utf-8")


def test_the_system_message_is_the_same_whatever_is_asked_and_however_many_rounds_may_be(reads: Catalogue) -> None:
    first = prompt(reads)
    other = prompt(reads, worked(1, 1), question="Why?", params={"a": 1}, limits=Limits(explore_rounds_max=9))
    assert first[0] == other[0]
    assert first[1] != other[1]


def test_users_with_the_same_reads_share_the_system_message_whatever_they_may_write(whole_catalogue: Catalogue) -> None:
    def system(*roles: str) -> Message:
        return prompt(whole_catalogue.for_user(roles, reads_only=True))[0]

    assert system("support") == system("support_lead", "sales")


def test_every_conversation_is_the_beginning_of_the_next(reads: Catalogue) -> None:
    rounds = [worked(1, {"a": 1}), failed(2), worked(3, [1, 2], truncated=True), worked(4, "x")]
    longest = prompt(reads, *rounds)
    for count in range(len(rounds)):
        shorter = prompt(reads, *rounds[:count])
        assert len(shorter) == 2 + 2 * count
        assert longest[: len(shorter)] == shorter


def test_no_write_and_nothing_about_writes_is_shown(whole_catalogue: Catalogue, reads: Catalogue) -> None:
    system = prompt(reads)[0].content
    for spec in whole_catalogue.functions:
        if spec.kind is FunctionKind.WRITE:
            assert spec.name not in system
    assert "# Only reads" in system
    assert "calls of writes" not in system


def test_what_a_program_for_a_run_is_told_of_the_language_an_explore_is_told_too(reads: Catalogue) -> None:
    of_a_run = program_prompt(catalogue=reads, request="x", params={}, limits=Limits())[0].content
    of_an_explore = prompt(reads)[0].content
    for part in ("# What does not exist", "# Functions", "# Limits"):
        text = of_a_run[of_a_run.index(part) :].partition("\n# ")[0]
        assert text in of_an_explore


def test_the_question_is_sent_as_it_is(reads: Catalogue) -> None:
    question = "Quem compra mais?\n{{summary}} <b>&amp;</b>"
    assert question_in([("user", prompt(reads, question=question)[1].content)]) == question


def test_params_go_out_as_keys_and_types_without_values(reads: Catalogue) -> None:
    message = prompt(reads, params={"city": MARKER, "days": [7]})[1].content
    assert "{city: string, days: Array<number>}" in message
    assert MARKER not in message


def test_how_many_programs_are_left_is_said_each_time(reads: Catalogue) -> None:
    limits = Limits(explore_rounds_max=3)
    messages = prompt(reads, worked(1, 1), failed(2), worked(3, 1), limits=limits)
    assert "At most 3 programs may run." in messages[1].content
    assert "2 more may run" in messages[3].content
    assert "1 more may run" in messages[5].content
    assert "No further program can run" in messages[7].content
    assert "At most 1 program may run." in prompt(reads, limits=Limits(explore_rounds_max=1))[1].content


def test_the_model_sees_its_own_program_and_the_summary_of_the_job(reads: Catalogue) -> None:
    summary = {"customers": 14, "top": ["Inês", "```"], "n": None}
    program, returned = prompt(reads, worked(1, summary))[2:]
    assert (program.role, returned.role) == ("assistant", "user")
    assert SOURCE in program.content
    [shown] = re.findall(r"^````json\n(.*)\n````$", returned.content, re.MULTILINE)
    assert json.loads(shown) == summary
    assert "only a part" not in returned.content


def test_a_cut_summary_is_told_as_one_with_its_limit(reads: Catalogue) -> None:
    returned = prompt(reads, worked(1, ["… 3 more items"], truncated=True))[3].content
    assert "more than 8,192 bytes" in returned
    assert "only a part" in returned


@pytest.mark.parametrize("code", sorted(JOB_ERRORS))
def test_no_failed_round_whatever_it_carries_shows_its_message_or_unknown_details(reads: Catalogue, code: str) -> None:
    details = {
        "name": MARKER,
        "function": MARKER,
        "said": MARKER,
        "correlation_id": MARKER,
        "limit": MARKER,
        "line": MARKER,
        "problems": [{"at": f"/{MARKER}", "message": MARKER}],
    }
    calls = (CallSummary(id=1, function=MARKER, ok=False, code="function.failed"),)
    messages = prompt(reads, failed(1, code, details=details, calls=calls))
    text = json.dumps([message.content for message in messages])
    assert MARKER not in text
    assert code in text


def test_what_a_model_wrote_instead_of_an_answer_is_told_to_it(reads: Catalogue) -> None:
    error = ErrorInfo(code="generation.no_answer", message="m")
    refused = FailedTry(text="```js\nasync function run() {}\n```", error=error)
    limits = Limits(explore_rounds_max=1)
    messages = prompt(reads, worked(1, 1), refused=(refused,), limits=limits)
    assert [message.role for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[4].content == refused.text
    assert "[generation.no_answer]" in messages[5].content
    assert "No further program can run" in messages[5].content


def test_reasons_and_marks_are_never_sent(reads: Catalogue) -> None:
    for message in prompt(reads, worked(1, 1, truncated=True), failed(2), judge=True):
        assert "<!--" not in message.content
        assert "{{" not in message.content
