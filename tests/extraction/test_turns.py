"""Every text of `turns/` is read as what it is in an explore: a program, the answer, or neither."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.extraction.cases import CORPUS, Case, read_case
from vardy_worker.contracts.errors import JOB_ERRORS
from vardy_worker.contracts.explore import Answer
from vardy_worker.contracts.program import Extracted, NoProgram
from vardy_worker.programs import check, extract, read_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import Catalogue

TURNS = Path(__file__).parent / "turns"
PROGRAM_BYTES = 65_536
ANSWER_BYTES = 262_144
CASES = [read_case(path) for path in sorted(TURNS.glob("*.txt"))]
CORPUS_CASES = [read_case(path) for path in sorted(CORPUS.glob("*.txt"))]
ANSWERS_MIN = PROGRAMS_MIN = 20

SCRAPS = [
    "```",
    "```js",
    "`",
    "<think>",
    "</think>",
    '{"code": "',
    "async function run(params) {",
    "}",
    "await ",
    "|",
    " ",
]
IN_PASSING = {"19-in-a-sentence", "19-program-in-a-table"}
"""A program in the middle of a sentence: where an answer is expected too, it is part of one."""


def turn_of(case: Case, catalogue: Catalogue) -> Extracted | Answer | NoProgram:
    return read_turn(
        case.text,
        finish_reason=case.finish_reason,
        program_bytes_max=PROGRAM_BYTES,
        answer_bytes_max=ANSWER_BYTES,
        functions=[spec.name for spec in catalogue.functions],
    )


@pytest.mark.parametrize("case", [c for c in CASES if c.expect == "answer"], ids=lambda case: case.name)
def test_an_answer_is_the_text_as_it_was_said(case: Case, catalogue: Catalogue) -> None:
    said = case.text.strip() if isinstance(case.output, dict) else case.output
    assert turn_of(case, catalogue) == Answer(text=said)


@pytest.mark.parametrize("case", [c for c in CASES if c.expect == "program"], ids=lambda case: case.name)
def test_a_program_runs_as_the_model_meant_it(
    case: Case, catalogue: Catalogue, run_program: Callable[[str, dict[str, Any]], Any]
) -> None:
    turn = turn_of(case, catalogue)
    assert isinstance(turn, Extracted)
    ran = run_program(turn.source, case.params)
    assert (ran.ended, ran.output, ran.calls) == ("returned", case.output, case.calls)


@pytest.mark.parametrize("case", [c for c in CASES if c.expect.startswith("program.")], ids=lambda case: case.name)
def test_a_faulty_program_is_no_answer(case: Case, catalogue: Catalogue) -> None:
    turn = turn_of(case, catalogue)
    assert isinstance(turn, Extracted)
    first = check(turn.source, catalogue, line_map=turn.line_map)[0]
    assert (first.code, first.line) == (case.expect, case.at)


@pytest.mark.parametrize("case", [c for c in CASES if c.expect.startswith("generation.")], ids=lambda case: case.name)
def test_what_is_neither_says_why(case: Case, catalogue: Catalogue) -> None:
    turn = turn_of(case, catalogue)
    assert isinstance(turn, NoProgram)
    assert turn.code == case.expect
    assert turn.message


@pytest.mark.parametrize("case", CORPUS_CASES, ids=lambda case: case.name)
def test_what_extraction_finds_in_a_text_is_the_program_of_a_turn_too(case: Case, catalogue: Catalogue) -> None:
    functions = [spec.name for spec in catalogue.functions]
    found = extract(case.text, finish_reason=case.finish_reason, program_bytes_max=PROGRAM_BYTES, functions=functions)
    turn = turn_of(case, catalogue)
    if case.name in IN_PASSING:
        assert isinstance(turn, Answer)
    elif not isinstance(found, NoProgram) or found.code != "generation.no_program":
        assert turn == found
    elif case.text.strip():
        assert isinstance(turn, Answer)


@pytest.mark.parametrize("case", [c for c in CASES if c.finish_reason == "stop"], ids=lambda case: case.name)
def test_a_text_that_was_cut_off_is_never_an_answer(case: Case, catalogue: Catalogue) -> None:
    whole = turn_of(case, catalogue)
    size = min(len(case.text), 2_000)
    for end in range(1, size, max(size // 25, 1)):
        turn = turn_of(replace(case, text=case.text[:end], finish_reason="length"), catalogue)
        if isinstance(turn, Extracted):
            assert isinstance(whole, Extracted)
            assert "\n```" in case.text[:end], "only a program that the text closes itself is whole"
        else:
            assert isinstance(turn, NoProgram)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([*SCRAPS, *(case.text for case in CASES if len(case.text) < 500)]), max_size=4))
def test_every_text_is_one_of_the_three(catalogue: Catalogue, scraps: list[str]) -> None:
    text = "\n".join(scraps)
    turn = turn_of(Case("", text), catalogue)
    if isinstance(turn, Answer):
        assert turn.text == turn.text.strip() != ""
    elif isinstance(turn, NoProgram):
        assert turn.code in JOB_ERRORS


def test_there_are_many_texts_of_each_kind() -> None:
    kinds = Counter(case.expect.partition(".")[0] for case in CASES)
    assert kinds["answer"] >= ANSWERS_MIN
    assert kinds["program"] >= PROGRAMS_MIN


@pytest.mark.parametrize("case", [c for c in CASES if c.expect == "answer"], ids=lambda case: case.name)
def test_an_answer_beside_a_program_is_none(case: Case, catalogue: Catalogue) -> None:
    program = (TURNS / "program-fence.txt").read_text(encoding="utf-8").partition("\n---\n")[2]
    alone = read_turn(program, program_bytes_max=PROGRAM_BYTES, answer_bytes_max=ANSWER_BYTES, functions=())
    both = read_turn(
        f"{case.text}\n\n{program}",
        program_bytes_max=PROGRAM_BYTES,
        answer_bytes_max=ANSWER_BYTES,
        functions=[spec.name for spec in catalogue.functions],
    )
    assert isinstance(alone, Extracted)
    assert isinstance(both, Extracted)
    assert both.source == alone.source
