from __future__ import annotations

import pytest

from vardy_worker.contracts.program import Extracted, NoProgram
from vardy_worker.programs import extract

LIMIT = 65_536
PROGRAM = "async function run(params) {\n  return 1;\n}\n"


@pytest.mark.parametrize("fence", ["```js\n", ""])
def test_a_program_after_thinking_that_never_ends_is_taken_all_the_same(fence: str) -> None:
    text = f"<think>\nI need one number.\n\n{fence}{PROGRAM}{'```' if fence else ''}"

    found = extract(text, program_bytes_max=LIMIT)

    assert isinstance(found, Extracted)
    assert found.source.strip() == PROGRAM.strip()
    assert found.model_line(1) == text.split("\n").index("async function run(params) {") + 1


def test_a_program_in_thinking_that_was_cut_off_was_only_thought_of() -> None:
    found = extract(f"<think>\nMaybe:\n```js\n{PROGRAM}```\nNo, ", finish_reason="length", program_bytes_max=LIMIT)

    assert isinstance(found, NoProgram)
    assert found.code == "generation.truncated"


def test_any_number_of_lines_of_ticks_may_stand_in_a_template() -> None:
    ticks = "```\n" * 10
    program = f"async function run(params) {{\n  return `\n{ticks}`;\n}}\n"

    found = extract(f"Here it is:\n\n```js\n{program}```\n\nThat is all.", program_bytes_max=LIMIT)

    assert isinstance(found, Extracted)
    assert found.source == program


def test_a_program_before_a_closing_tag_without_an_opening_one_was_only_thought_of() -> None:
    text = f"Maybe:\n```js\n{PROGRAM}```\n</think>\n\n```js\nreturn 2;\n```"

    found = extract(text, program_bytes_max=LIMIT)

    assert isinstance(found, Extracted)
    assert "return 1" not in found.source
    assert "2" in found.source
