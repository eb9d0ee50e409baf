from __future__ import annotations

import pytest

from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.program import Extracted, Finding, NoProgram
from vardy_worker.demo.phrases import PHRASES, answer_to
from vardy_worker.demo.shop import functions
from vardy_worker.functions import build_catalogue
from vardy_worker.programs import check, extract
from vardy_worker.prompts.example import example_program

WRONG = {"open_tickets_wrong.js", "clear_warehouse.js"}
PROGRAMS = [
    (name, phrase.example, turn, phrase.judge)
    for phrase in PHRASES
    for turn, name in enumerate(phrase.answers)
    if name.endswith(".js")
]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return build_catalogue(functions).for_user(("support",))


def findings(catalogue: Catalogue, request: str, turn: int, *, judge: bool) -> tuple[Finding, ...]:
    messages = [("user", f"<request>\n{request}\n</request>"), *[("assistant", "…")] * turn]
    extracted = extract(answer_to(messages).text, finish_reason="stop", program_bytes_max=65_536)
    assert isinstance(extracted, Extracted)
    return check(extracted.source, catalogue, judge=judge, line_map=extracted.line_map)


@pytest.mark.parametrize(("name", "request_text", "turn", "judge"), PROGRAMS, ids=[name for name, *_ in PROGRAMS])
def test_an_answer_passes_the_checks_unless_it_is_meant_not_to(
    catalogue: Catalogue, name: str, request_text: str, turn: int, *, judge: bool
) -> None:
    codes = {finding.code for finding in findings(catalogue, request_text, turn, judge=judge)}
    assert codes == ({"program.unknown_function"} if name in WRONG else set())


def test_the_example_of_the_prompt_passes_the_checks(catalogue: Catalogue) -> None:
    assert check(example_program(catalogue), catalogue) == ()


@pytest.mark.parametrize("request_text", ["Write me a poem", "Sell the shop"])
def test_a_refusal_holds_no_program(request_text: str) -> None:
    text = answer_to([("user", f"<request>\n{request_text}\n</request>")]).text
    extracted = extract(text, finish_reason="stop", program_bytes_max=65_536)
    assert isinstance(extracted, NoProgram)
    assert extracted.code == "generation.no_program"
