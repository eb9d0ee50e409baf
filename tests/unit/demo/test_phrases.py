from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from vardy_worker.demo.phrases import PHRASES, Phrase, answer_to, request_in
from vardy_worker.demo.questions import QUESTIONS

DOCUMENT = Path(__file__).parents[3] / "docs" / "prompts.md"
ANSWERS = resources.files("vardy_worker.demo").joinpath("answers")


def conversation(request: str, turns: int = 0) -> list[tuple[str, str]]:
    messages = [("system", "contract"), ("user", f"<request>\n{request}\n</request>\n<params>\n{{}}\n</params>")]
    for _ in range(turns):
        messages += [("assistant", "an answer"), ("user", "It failed.")]
    return messages


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.pattern)
def test_each_phrase_answers_its_own_example(phrase: Phrase) -> None:
    for turn, name in enumerate(phrase.answers):
        text = answer_to(conversation(phrase.example, turn)).text
        assert "{{" not in text
        assert "scripted model" not in text
        if name.endswith(".js"):
            assert text.startswith("```javascript\nasync function run(")
    last = len(phrase.answers) - 1
    assert answer_to(conversation(phrase.example, last + 3)) == answer_to(conversation(phrase.example, last))


def test_every_answer_file_belongs_to_a_phrase() -> None:
    named = {name for phrase in PHRASES for name in phrase.answers}
    named |= {name for question in QUESTIONS for name in question.programs}
    assert named == {file.name for file in ANSWERS.iterdir()}


@pytest.mark.parametrize("request_text", ["cancel order 23", "  CANCEL   Order 23. ", "Cancel order 23?"])
def test_case_spaces_and_a_final_stop_do_not_matter(request_text: str) -> None:
    assert "order_id: 23" in answer_to(conversation(request_text)).text


def test_words_of_the_request_become_numbers_of_the_program() -> None:
    text = answer_to(conversation("Refund 120.5 of payment 007")).text
    assert "120.5 * 100" in text
    assert "payment_id: 7," in text


@pytest.mark.parametrize(
    "request_text",
    [
        "Cancel order seventeen",
        "Cancel order 17 and order 18",
        "Cancel order 17; delete_everything()",
        "Please cancel order 17",
        "Refund 1e9 of payment 3",
        "",
    ],
)
def test_any_other_text_is_refused_with_the_list_of_phrases(request_text: str) -> None:
    text = answer_to(conversation(request_text)).text
    assert "run(" not in text
    for phrase in PHRASES:
        assert phrase.example in text


def test_a_conversation_without_a_request_is_refused() -> None:
    assert request_in([("user", "Hello")]) is None
    assert "scripted model" in answer_to([("user", "Hello")]).text


def test_the_document_lists_every_phrase() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    for phrase in PHRASES:
        assert f"| {phrase.example} | {phrase.shows} |" in document
    for question in QUESTIONS:
        assert f"| {question.text} | {question.shows} |" in document
