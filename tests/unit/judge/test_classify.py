"""`classify`: one label for each text, asked once, in few calls."""

from __future__ import annotations

from tests.support.judge import ask, classify, make_judge, sorts
from vardy_worker.contracts.judge import Classified


def by_length(text: str) -> str:
    return "spam" if len(text) % 2 else "ham"


def test_each_text_gets_its_label_in_order() -> None:
    judged = ask(make_judge(sorts(by_length)), classify(["a", "bb", "ccc"]))
    assert judged.answers == (Classified(labels=("spam", "ham", "spam")),)
