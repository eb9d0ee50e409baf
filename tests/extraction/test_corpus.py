"""Every text of the corpus gives the program it means, and that program does what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.extraction.cases import CORPUS, KINDS, Case, read_case
from vardy_worker.contracts.program import Extracted, NoProgram
from vardy_worker.programs import check, extract

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import Catalogue

LIMIT = 65_536
STYLES_MIN = 3
CASES = [read_case(path) for path in sorted(CORPUS.glob("*.txt"))]
PROGRAMS = [case for case in CASES if case.expect == "program"]
FOUND = [case for case in CASES if case.expect.startswith("program.")]
NOTHING = [case for case in CASES if case.expect.startswith("generation.")]


def _extracted(case: Case) -> Extracted:
    result = extract(case.text, finish_reason=case.finish_reason, program_bytes_max=LIMIT)
    assert isinstance(result, Extracted), result
    return result


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
def test_the_program_runs_as_the_model_meant_it(
    case: Case, catalogue: Catalogue, run_program: Callable[[str, dict[str, Any]], Any]
) -> None:
    result = _extracted(case)

    findings = check(result.source, catalogue, line_map=result.line_map)
    ran = run_program(result.source, case.params)

    assert [finding for finding in findings if finding.severity == "error"] == []
    assert (ran.ended, ran.output, ran.calls) == ("returned", case.output, case.calls)


@pytest.mark.parametrize("case", [case for case in PROGRAMS if case.line], ids=lambda case: case.name)
def test_lines_lead_back_to_the_model_s_text(case: Case) -> None:
    result = _extracted(case)

    for word, line in case.line.items():
        rows = [row for row, text in enumerate(result.source.split("\n"), start=1) if f"{word}(" in text]
        assert [result.model_line(row) for row in rows] == [line]


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
def test_every_line_that_is_not_added_has_a_line_in_the_text(case: Case) -> None:
    result = _extracted(case)
    lines = re.split("\r\n|[\r\n\u2028\u2029]", case.text)

    assert len(result.line_map) == result.source.count("\n") + 1
    assert all(0 <= line <= len(lines) for line in result.line_map)
    known = [line for line in result.line_map if line]
    assert known == sorted(known)


@pytest.mark.parametrize("case", FOUND, ids=lambda case: case.name)
def test_a_faulty_program_is_found_fault_with_in_the_model_s_line(case: Case, catalogue: Catalogue) -> None:
    result = _extracted(case)

    findings = check(result.source, catalogue, line_map=result.line_map)

    assert (findings[0].code, findings[0].line) == (case.expect, case.at)


@pytest.mark.parametrize("case", NOTHING, ids=lambda case: case.name)
def test_a_text_without_a_usable_program_says_why(case: Case) -> None:
    result = extract(case.text, finish_reason=case.finish_reason, program_bytes_max=LIMIT)

    assert isinstance(result, NoProgram)
    assert result.code == case.expect
    assert result.message


def test_the_corpus_has_at_least_three_styles_of_every_kind() -> None:
    kinds = [case.name.split("-")[0] for case in CASES]

    assert set(kinds) == set(KINDS)
    assert [kind for kind in KINDS if kinds.count(kind) < STYLES_MIN] == []


def test_what_the_model_said_is_kept_without_growing() -> None:
    result = extract("No. " * 5_000, program_bytes_max=LIMIT)

    assert isinstance(result, NoProgram)
    assert result.details["said"].startswith("No. No. ")
    assert len(result.details["said"]) == 2_000
