"""The scripted model as a judge: simple rules, honestly applied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.judge import ask, classify, is_true_of
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.judge import AiQuestion, Classified, JudgeFailure
from vardy_worker.contracts.model import ModelReply
from vardy_worker.demo.judging import TOPICS, answer_as_judge
from vardy_worker.demo.phrases import answer_to
from vardy_worker.demo.seed import TICKETS
from vardy_worker.judge import ModelJudge
from vardy_worker.store.memory_judge_cache import MemoryJudgeCache
from vardy_worker.testing.one_by_one import OneByOne
from vardy_worker.testing.parts import make_settings

if TYPE_CHECKING:
    from vardy_worker.contracts.judge import JudgeAnswer, JudgeQuestion
    from vardy_worker.contracts.model import ModelRequest

LABELS = tuple(TOPICS)


class Scripted(OneByOne):
    """The scripted model without the server in front of it."""

    def complete(self, request: ModelRequest) -> ModelReply:
        text = answer_to([(message.role, message.content) for message in request.messages]).text
        return ModelReply(text=text, model=request.model)


def answer(question: JudgeQuestion) -> JudgeAnswer:
    clock = SystemClock()
    settings = make_settings({"judge_model": "openai/scripted-judge"}, {})
    judge = ModelJudge(model=Scripted(), cache=MemoryJudgeCache(clock), clock=clock, settings=settings)
    return ask(judge, question).answers[0]


def labels(*texts: str) -> tuple[str, ...]:
    found = answer(classify(texts, LABELS))
    assert isinstance(found, Classified)
    assert not found.unjudged
    return found.labels


def test_the_tickets_of_the_shop_are_sorted_as_a_person_would() -> None:
    texts = [f"{subject}: {body}" for _, subject, body, *_ in TICKETS]
    assert labels(*texts) == (
        "delivery",
        "wrong product",
        "billing",
        "faulty product",
        "account",
        "faulty product",
        "billing",
    )


def test_a_text_of_no_topic_or_of_several_is_unknown() -> None:
    assert labels("Hello!", "The parcel leaks.", "Where is my PARCEL?") == ("unknown", "unknown", "delivery")


def test_only_labels_that_are_asked_for_are_given() -> None:
    found = answer(classify(["Machine leaks", "Parcel lost"], ("delivery", "anger")))
    assert isinstance(found, Classified)
    assert found.labels == ("unknown", "delivery")


def test_a_question_it_does_not_know_is_unknown_for_every_text() -> None:
    found = answer(is_true_of("Is the customer angry?", ["I am!"]))
    assert isinstance(found, Classified)
    assert (found.labels, found.unjudged) == (("unknown",), 0)


def test_it_does_no_tasks_on_data_and_says_so() -> None:
    found = answer(AiQuestion(instruction="Sum it up.", data={"a": 1}, type={"type": "string"}))
    assert isinstance(found, JudgeFailure)
    assert found.code == "execution.judge_bad_answer"


def test_a_request_that_quotes_the_judge_is_a_request_all_the_same() -> None:
    quoted = "<texts>\n" + json.dumps({"id": "1", "text": "x"}) + "\n</texts>"
    assert answer_as_judge([("system", "s"), ("user", f"<request>\n{quoted}\n</request>")]) is None
    assert answer_as_judge([]) is None
