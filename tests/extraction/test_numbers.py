"""The numbers that docs/extraction.md publishes are those measured here, in the real sandbox.

`VARDY_UPDATE_SNAPSHOTS=1 pytest tests/extraction/test_numbers.py` writes them into the document.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.extraction.cases import CORPUS, read_case
from tests.extraction.numbers import Answer, Judge, corpus_table, mutation_table
from vardy_worker.programs import FINDING_CODES

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import Catalogue

DOCUMENT = Path(__file__).parents[2] / "docs" / "extraction.md"
GOOD = (
    "```js\nasync function run(params) {\n"
    "  const rows = await list_invoices({ customer_id: params.customer_id });\n"
    "  return rows.length;\n}\n```"
)


@pytest.fixture(scope="module")
def judge(catalogue: Catalogue, run_program: Callable[[str, dict[str, Any]], Any]) -> Judge:
    return Judge(catalogue, run_program)


def published(name: str, measured: str) -> str:
    """The table of that name in the document, which is the measured one after an update."""
    text = DOCUMENT.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {name} -->\n\n)(.*?)(\n\n<!-- end of {name} -->)", re.DOTALL)
    if os.environ.get("VARDY_UPDATE_SNAPSHOTS"):
        text = pattern.sub(lambda found: found[1] + measured + found[3], text)
        DOCUMENT.write_text(text, encoding="utf-8")
    found = pattern.search(text)
    assert found is not None, f"docs/extraction.md has no table {name}"
    return found[2]


def test_the_published_numbers_of_the_corpus_are_the_measured_ones(judge: Judge) -> None:
    measured = corpus_table([read_case(path) for path in sorted(CORPUS.glob("*.txt"))], judge)

    assert published("corpus", measured) == measured


def test_the_published_numbers_of_the_mutations_are_the_measured_ones(judge: Judge) -> None:
    measured = mutation_table(judge)

    assert published("mutations", measured) == measured


@pytest.mark.parametrize(
    ("answer", "as_meant"),
    [
        (Answer(GOOD, output=2), True),
        (Answer(GOOD, output=3), False),
        (Answer(GOOD, code="generation.truncated"), False),
        (Answer(GOOD.replace("list_invoices", "get_customer"), output=2), False),
        (Answer(GOOD.replace("list_invoices", "lst_invoices"), output=2), False),
        (Answer("Sorry.", output=2), False),
        (Answer("Sorry.", code="generation.truncated"), False),
        (Answer("Sorry.", code="generation.no_program"), True),
    ],
)
def test_what_differs_from_what_was_meant_does_not_count(judge: Judge, answer: Answer, as_meant: bool) -> None:
    assert judge.answer(answer) is as_meant


def test_the_document_names_every_code_of_an_answer_without_a_program() -> None:
    codes = set(re.findall(r"`(generation\.\w+)`", DOCUMENT.read_text(encoding="utf-8")))

    assert {"generation.no_program", "generation.truncated", "generation.program_too_large"} <= codes
    named = set(re.findall(r"`(program\.\w+)`", DOCUMENT.read_text(encoding="utf-8")))
    assert named <= set(FINDING_CODES)
