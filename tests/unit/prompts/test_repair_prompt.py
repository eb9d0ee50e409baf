from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.errors import JOB_ERRORS, ErrorInfo
from vardy_worker.contracts.execution import CallSummary, ValueShape
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.program import Finding
from vardy_worker.functions import Functions, build_catalogue
from vardy_worker.prompts import FailedTry, program_prompt, repair_prompt, shape_of
from vardy_worker.prompts.failure import GENERAL_SENTENCE, SENTENCES

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.model import Message

MARKER = "marker-9b2e"
PROGRAM = """\
Here it is:

```javascript
async function run(params) {
  const order = await get_ordr({ order_id: 17 });
  return order.lines.first.name;
}
```
"""


def repaired(catalogue: Catalogue, *tries: FailedTry) -> tuple[Message, ...]:
    prompt = program_prompt(catalogue=catalogue, request="Ask", params={}, limits=Limits())
    messages = repair_prompt(prompt, tries, catalogue=catalogue)
    assert messages[:2] == prompt
    return messages


def complaint(catalogue: Catalogue, error: ErrorInfo, text: str = PROGRAM) -> str:
    return repaired(catalogue, FailedTry(text=text, error=error))[-1].content


def test_a_repair_continues_the_conversation(catalogue: Catalogue) -> None:
    first = FailedTry(text="Sorry.", error=ErrorInfo(code="generation.no_program", message="x"))
    second = FailedTry(text=PROGRAM, error=ErrorInfo(code="execution.cpu", message="x"))
    messages = repaired(catalogue, first, second)
    assert [message.role for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[2].content == "Sorry."
    assert messages[4].content == PROGRAM.strip()
    assert "whole corrected program" in messages[5].content


def test_a_finding_has_its_message_place_line_caret_and_hint(catalogue: Catalogue) -> None:
    finding = Finding(
        code="program.unknown_function",
        message="There is no function `get_ordr`.",
        line=5,
        column=23,
        hint="Did you mean `get_order`?",
    )
    error = ErrorInfo(code="validation.program", message="1 finding")
    text = repaired(catalogue, FailedTry(text=PROGRAM, error=error, findings=(finding,)))[-1].content
    assert "error at line 5, column 23: There is no function `get_ordr`. [program.unknown_function]" in text
    source = next(line for line in text.splitlines() if "await get_ordr" in line)
    caret = text.splitlines()[text.splitlines().index(source) + 1]
    assert source[caret.index("^") :].startswith("get_ordr")
    assert "hint: Did you mean `get_order`?" in text


def test_a_warning_is_fed_back_with_the_errors(catalogue: Catalogue) -> None:
    warning = Finding(
        code="program.no_return", message="No return.", line=1, column=1, hint="Return it.", severity="warning"
    )
    wrong = Finding(code="program.syntax", message="Wrong.", line=2, column=1)
    error = ErrorInfo(code="validation.program", message="1 finding")
    text = repaired(catalogue, FailedTry(text=PROGRAM, error=error, findings=(warning, wrong)))[-1].content
    assert "warning at line 1, column 1: No return. [program.no_return]" in text
    assert "hint: Return it." in text


def test_errors_come_before_warnings_and_not_all_of_a_flood(catalogue: Catalogue) -> None:
    warning = Finding(code="program.no_return", message="No return.", line=1, column=1, severity="warning")
    findings = (warning, *(Finding(code="program.syntax", message=f"e{n}.", line=1, column=1) for n in range(60)))
    error = ErrorInfo(code="validation.program", message="61 findings")
    text = repaired(catalogue, FailedTry(text=PROGRAM, error=error, findings=findings))[-1].content
    assert text.count("[program.syntax]") == 20
    assert "[program.no_return]" not in text


def test_an_error_of_the_engine_is_repeated_where_its_words_are_the_programs(catalogue: Catalogue) -> None:
    error = ErrorInfo(
        code="execution.thrown",
        message="The program threw TypeError: cannot read property 'first' of undefined",
        details={"name": "TypeError", "line": 6, "column": 16},
    )
    text = complaint(catalogue, error)
    assert "TypeError: cannot read property 'first' of undefined." in text
    assert "return order.lines.first.name;" in text


@pytest.mark.parametrize(
    "message",
    [
        f"The program threw TypeError: cannot read property '{MARKER.replace('-', '_')}' of undefined",
        f"The program threw TypeError: {MARKER}",
        f"The program threw TypeError: {MARKER}: not a function {MARKER}",
        f"The program threw TypeError: order {MARKER} is not a function",
    ],
)
def test_thrown_text_that_may_be_data_is_left_out(catalogue: Catalogue, message: str) -> None:
    error = ErrorInfo(code="execution.thrown", message=message, details={"name": "TypeError", "line": 6})
    text = complaint(catalogue, error)
    assert MARKER not in text
    assert MARKER.replace("-", "_") not in text
    assert "It was of the class TypeError." in text


def test_the_name_of_an_error_is_repeated_only_if_the_language_has_it(catalogue: Catalogue) -> None:
    error = ErrorInfo(code="execution.thrown", message="m", details={"name": MARKER})
    assert MARKER not in complaint(catalogue, error)


@pytest.mark.parametrize("code", sorted(JOB_ERRORS))
def test_no_error_whatever_it_carries_shows_its_message_or_unknown_details(catalogue: Catalogue, code: str) -> None:
    details = {
        "name": MARKER,
        "function": MARKER,
        "correlation_id": MARKER,
        "limit": MARKER,
        "value": MARKER,
        "line": MARKER,
        MARKER: {"at": MARKER},
        "problems": [{"at": f"/{MARKER}", "message": MARKER, "expected": MARKER}, MARKER],
    }
    failed = FailedTry(
        text=PROGRAM,
        error=ErrorInfo(code=code, message=MARKER, details=details),
        calls=(CallSummary(id=1, function=MARKER, ok=False, code="function.failed"),),
    )
    text = json.dumps([message.content for message in repaired(catalogue, failed)])
    assert MARKER not in text
    assert code in text


def test_every_error_of_generation_validation_and_execution_has_its_sentence() -> None:
    beyond_repair = {
        "generation.model_unavailable",
        "generation.model_rejected",
        "generation.not_configured",
        "generation.quota",
        "validation.recipe",
        "execution.judge_not_configured",
        "execution.sandbox_lost",
        "execution.poison",
        "execution.internal",
    }
    mendable = {
        code for code in JOB_ERRORS if code.startswith(("generation.", "validation.", "execution.", "function."))
    }
    assert mendable - beyond_repair == set(SENTENCES)


def test_an_error_that_no_program_can_mend_has_the_general_sentence(catalogue: Catalogue) -> None:
    assert GENERAL_SENTENCE in complaint(catalogue, ErrorInfo(code="execution.sandbox_lost", message="m"))


def test_a_limit_is_said_with_its_numbers(catalogue: Catalogue) -> None:
    error = ErrorInfo(
        code="execution.output_too_large",
        message="m",
        details={"limit": "output_bytes_max", "limit_value": 262144, "value": 300000},
    )
    assert "The limit is 262,144, it was 300,000." in complaint(catalogue, error)


def test_a_missing_thing_is_named_with_what_to_do_instead(catalogue: Catalogue) -> None:
    error = ErrorInfo(
        code="execution.missing",
        message="`Number.toLocaleString` does not exist here: format it yourself",
        details={"line": 6, "column": 10},
    )
    assert "`toLocaleString`: Locale formatting is not available." in complaint(catalogue, error)


def test_wrong_arguments_are_said_without_values_and_unknown_keys(catalogue: Catalogue) -> None:
    error = ErrorInfo(
        code="validation.arguments",
        message=f"send_email: argument /body: {MARKER}",
        details={
            "function": "send_email",
            "line": 5,
            "column": 17,
            "problems": [
                {"at": "/body", "message": "is missing", "expected": "a string"},
                {"at": "/subject", "message": f"must be a string, not an object with {MARKER}", "expected": "a string"},
                {"at": f"/{MARKER}/0", "message": "is not known here", "expected": "nothing"},
            ],
        },
    )
    text = complaint(catalogue, error)
    assert "It was a call of `send_email`." in text
    assert "- `body` is missing" in text
    assert "- `subject` must be a string\n" in text
    assert "- `…/…` is not known here" in text
    assert MARKER not in text


NUMBER = 77342119


@pytest.mark.parametrize(
    ("function", "at", "shown"),
    [
        ("book", ["lists", 3], "lists/3"),
        ("book", ["lists", 3, NUMBER], "lists/3/77342119"),
        ("book", ["maybe", 3], "maybe/3"),
        ("book", ["pair", 1], "pair/1"),
        ("book", ["rows", 3, "sums", NUMBER], "rows/3/sums/…"),
        ("book", ["sums", NUMBER], "sums/…"),
        ("book", ["sums", NUMBER, NUMBER], "sums/…/…"),
        ("book", ["either", NUMBER], "either/…"),
        ("book", ["anything", NUMBER], "anything/…"),
        ("book", ["lists", "3", str(NUMBER), NUMBER], "lists/3/77342119/…"),
        ("book", [NUMBER], "…"),
        ("classify", ["texts", 3], "texts/3"),
        ("classify", ["labels", 3], "labels/3"),
        ("classify", ["options", NUMBER], "options/…"),
        ("ai", ["options", "type", NUMBER], "options/type/…"),
        ("ai", ["options", "type", "type", NUMBER], "options/type/type/…"),
    ],
)
def test_a_number_is_shown_as_a_place_in_a_list_and_never_as_a_key(function: str, at: list[Any], shown: str) -> None:
    functions = Functions()

    class Row(BaseModel):
        sums: dict[int, int]

    @functions.read
    def book(
        lists: list[list[int]],
        maybe: list[int] | None,
        pair: tuple[int, int],
        rows: list[Row],
        sums: dict[str, dict[int, int]],
        either: list[int] | dict[str, int],
        anything: Any,
    ) -> None:
        """Books."""

    error = ErrorInfo(
        code="validation.arguments",
        message="m",
        details={
            "function": function,
            "problems": [{"at": make_pointer(at), "message": "must be an integer, not null"}],
        },
    )
    assert f"- `{shown}` must be an integer\n" in complaint(build_catalogue(functions), error)


def test_wrong_arguments_of_the_judge_are_said_alike(catalogue: Catalogue) -> None:
    error = ErrorInfo(
        code="validation.arguments",
        message=f"ai: argument /options/type: {MARKER}",
        details={
            "function": "ai",
            "problems": [
                {"at": "/options/type/city", "message": "must be a known type", "expected": "a type"},
                {"at": "/data", "message": "is missing, or undefined", "expected": "any value"},
                {"at": f"/options/{MARKER}", "message": "is not known here", "expected": "nothing"},
            ],
        },
    )
    text = complaint(catalogue, error)
    assert "It was a call of `ai`." in text
    assert "- `options/type/…` must be a known type" in text
    assert "- `data` is missing, or undefined" in text
    assert "- `options/…` is not known here" in text
    assert MARKER not in text


def test_calls_that_ran_are_counted_without_arguments(catalogue: Catalogue) -> None:
    calls = (
        CallSummary(id=1, function="list_orders", ok=True),
        CallSummary(id=2, function="list_orders", ok=True),
        CallSummary(id=3, function="get_order", ok=False, code="function.failed"),
    )
    failed = FailedTry(text=PROGRAM, error=ErrorInfo(code="execution.thrown", message="m"), calls=calls)
    text = repaired(catalogue, failed)[-1].content
    assert "- list_orders: 2 calls, done" in text
    assert "- get_order: 1 call, failed (function.failed)" in text


def test_shapes_of_values_are_shown(catalogue: Catalogue) -> None:
    shape = ValueShape(label="get_order returned", shape=shape_of({"id": 1}, known={"id"}))
    failed = FailedTry(text=PROGRAM, error=ErrorInfo(code="execution.thrown", message="m"), shapes=(shape,))
    assert "- get_order returned: {id: number}" in repaired(catalogue, failed)[-1].content


def test_a_cut_answer_is_sent_back_only_in_part(catalogue: Catalogue) -> None:
    failed = FailedTry(text="x" * 50_000, error=ErrorInfo(code="generation.truncated", message="m"))
    assert len(repaired(catalogue, failed)[2].content) < 2_100
    long = FailedTry(text="x" * 50_000, error=ErrorInfo(code="validation.program", message="m"))
    assert len(repaired(catalogue, long)[2].content) < 16_100


def test_an_empty_answer_is_still_a_turn(catalogue: Catalogue) -> None:
    failed = FailedTry(text=" \n", error=ErrorInfo(code="generation.no_program", message="m"))
    assert repaired(catalogue, failed)[2].content == "(no text)"


def test_a_program_of_which_only_the_source_is_left_keeps_the_models_lines(catalogue: Catalogue) -> None:
    failed = FailedTry(
        source="async function run(params) {\n  throw new Error();\n}",
        line_map=(4, 5, 6),
        error=ErrorInfo(code="execution.thrown", message="m", details={"name": "Error", "line": 5, "column": 3}),
    )
    messages = repaired(catalogue, failed)
    assert messages[2].content.startswith("```javascript\nasync function run")
    assert "> 5 |   throw new Error();" in messages[3].content
