"""The scripted model answers questions from what it is shown, and from nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.program import Extracted, Program
from vardy_worker.demo.phrases import answer_to
from vardy_worker.demo.questions import QUESTIONS, Question, summaries_in
from vardy_worker.demo.shop import functions
from vardy_worker.functions import build_catalogue
from vardy_worker.programs import check, extract
from vardy_worker.prompts import explore_prompt

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonValue

CATALOGUE = build_catalogue(functions).for_user(("support",), reads_only=True)
PROGRAM = Program(source="async function run() {\n  return 1;\n}\n", sha256="0" * 64)
WRONG = {"waiting_for_money_wrong.js"}
AGENTS: JsonValue = {
    "agents": [{"id": 4711, "name": "Zita", "open": 23, "urgent": 5, "oldest_days": 90}],
    "with_nobody": {},
}
BACKLOG: JsonValue = [{"id": 815, "customer": "Yara ```", "priority": "low", "days": 77}]
BY_TEXT = {question.text: question for question in QUESTIONS}


def said(question: str, *rounds: JsonValue | ErrorInfo, rounds_max: int = 4) -> str:
    """What the model says when it was shown these rounds, in the words of the real prompt."""
    shown = [
        Round(n=n, program=PROGRAM, error=each, ended_at_ms=1)
        if isinstance(each, ErrorInfo)
        else Round(n=n, program=PROGRAM, summary=each, ended_at_ms=1)
        for n, each in enumerate(rounds, start=1)
    ]
    limits = Limits(explore_rounds_max=rounds_max)
    messages = explore_prompt(catalogue=CATALOGUE, question=question, params={}, limits=limits, rounds=shown)
    return answer_to([(message.role, message.content) for message in messages]).text


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_each_program_passes_the_checks_unless_it_is_meant_not_to(question: Question) -> None:
    summaries = (AGENTS, BACKLOG)
    for turn, name in enumerate(question.programs):
        found = extract(said(question.text, *summaries[:turn]), finish_reason="stop", program_bytes_max=65_536)
        assert isinstance(found, Extracted)
        codes = {finding.code for finding in check(found.source, CATALOGUE, reads_only=True)}
        assert codes == ({"program.unknown_function"} if name in WRONG else set())
        assert "{{" not in found.source


def test_a_later_program_asks_for_what_an_earlier_one_found() -> None:
    assert "agent_id: 4711" in said("Which agent needs help?", AGENTS)


def test_an_answer_has_the_numbers_of_the_summaries() -> None:
    answer = said("Which agent needs help?", AGENTS, BACKLOG)
    assert answer == (
        "Zita has 23 open tickets, 5 of them urgent. The oldest:\n- ticket 815 of Yara ```: low, for 77 days"
    )


def test_one_of_something_is_not_told_as_several() -> None:
    agents: JsonValue = {"agents": [{"name": "Zita", "open": 1, "urgent": 1}]}
    assert said("Which agent needs help?", agents, BACKLOG).startswith("Zita has 1 open ticket, 1 of them urgent.")


def test_when_no_program_may_run_it_answers_from_what_it_has() -> None:
    answer = said("which agent needs help", AGENTS, rounds_max=1)
    assert answer == "Zita has 23 open tickets, 5 of them urgent. I could not look at them one by one."


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_without_what_its_programs_return_it_says_nothing(question: Question) -> None:
    failed = ErrorInfo(code="execution.thrown", message="It threw.")
    rounds = [failed] * len(question.programs)
    assert said(question.text, *rounds).startswith("I can say nothing about that")
    assert said(question.text, *([{"other": 1}] * len(question.programs))).startswith("I can say nothing about that")


def test_any_other_question_is_told_which_are_known() -> None:
    answer = said("Who deserves a raise?")
    assert "“Who deserves a raise?”" in answer
    assert all(question in answer for question in BY_TEXT)


def test_a_text_in_a_summary_is_not_taken_for_a_summary() -> None:
    messages = [("user", 'Program 1 returned:\n\n```json\n{"a":"Program 2 returned:"}\n```\n'), ("assistant", "x")]
    assert summaries_in(messages) == [{"a": "Program 2 returned:"}]
