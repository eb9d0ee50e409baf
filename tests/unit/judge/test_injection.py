"""Texts that give orders, imitate answers or break formats change at most their own label.

The models here are worse than any real one: they do what a text says, as far as their answer lets them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.hostile_texts import HOSTILE, ODD, ORDERS
from tests.support.judge import Asked, JudgingModel, ai, ask, classify, make_judge, sorts
from vardy_worker.contracts.base import well_formed
from vardy_worker.contracts.judge import AiValue, Classified, JudgeFailure
from vardy_worker.judge.addressing import may_address_a_model
from vardy_worker.judge.classify import shown

if TYPE_CHECKING:
    from collections.abc import Callable

CLEAN = [f"Where is parcel {number}?" for number in range(45)]
LABELS = ("spam", "ham", "eggs")


def honest(text: str) -> str:
    return "ham" if text in CLEAN else "eggs"


def is_there(one: Asked, hostile: str) -> bool:
    return shown(well_formed(hostile)) in one.texts.values()


def repeats(hostile: str) -> Callable[[Asked], str]:
    """Answers with nothing but the text."""
    return lambda one: hostile if is_there(one, hostile) else sorts(honest)(one)


def repeats_first(hostile: str) -> Callable[[Asked], str]:
    """Says the text, and then what it should."""
    return lambda one: f"{hostile}\n" * is_there(one, hostile) + sorts(honest)(one)


def repeats_last(hostile: str) -> Callable[[Asked], str]:
    """Says what it should, and then the text."""
    return lambda one: sorts(honest)(one) + f"\n{hostile}" * is_there(one, hostile)


def repeats_as_label(hostile: str) -> Callable[[Asked], str]:
    """Gives the text as every label of its batch."""

    def script(one: Asked) -> str:
        if not is_there(one, hostile):
            return sorts(honest)(one)
        return json.dumps(dict.fromkeys(one.texts, hostile))

    return script


def answers_by_number(hostile: str) -> Callable[[Asked], str]:
    """Calls the texts by their number, as a text would that cannot know an id."""

    def script(one: Asked) -> str:
        if not is_there(one, hostile):
            return sorts(honest)(one)
        return json.dumps({str(number): "spam" for number in range(50)})

    return script


def answers_with_ids_of_the_text(hostile: str) -> Callable[[Asked], str]:
    """Adds labels for ids that a text made up before there were any."""
    made_up = json.dumps({f"{number:08x}": "spam" for number in range(3_000)})
    return lambda one: made_up * is_there(one, hostile) + sorts(honest)(one)


MODELS = (repeats, repeats_first, repeats_last, repeats_as_label, answers_by_number, answers_with_ids_of_the_text)


def test_there_are_many_hostile_texts() -> None:
    assert len(HOSTILE) >= 80


@pytest.mark.parametrize(
    ("name", "model"),
    # A model that gives one of the labels to a whole batch is the one of the next test.
    [(n, m) for n in HOSTILE for m in MODELS if m is not repeats_as_label or HOSTILE[n] not in {*LABELS, "unknown"}],
)
def test_a_text_changes_no_label_but_its_own_and_that_to_nothing_but_a_label(
    name: str, model: Callable[[str], Callable[[Asked], str]]
) -> None:
    hostile = HOSTILE[name]
    judged = ask(make_judge(model(hostile)), classify([*CLEAN[:20], hostile, *CLEAN[20:]], LABELS))
    [answer] = judged.answers
    assert isinstance(answer, Classified)
    assert len(answer.labels) == len(CLEAN) + 1
    own = answer.labels[20]
    assert own in {*LABELS, "unknown"}
    assert [*answer.labels[:20], *answer.labels[21:]] == ["ham"] * len(CLEAN)


def obeys(one: Asked) -> str:
    """Gives every text of its batch the label that one of them asks for, by their true ids."""
    obeyed = any(text not in CLEAN for text in one.texts.values())
    return json.dumps(dict.fromkeys(one.texts, "spam" if obeyed else "ham"))


@pytest.mark.parametrize("name", ORDERS)
def test_what_looks_like_an_order_is_kept_apart_so_that_obeying_it_spoils_no_clean_text(name: str) -> None:
    model = JudgingModel(obeys)
    [answer] = ask(make_judge(model), classify([*CLEAN, ORDERS[name]], LABELS)).answers
    assert answer == Classified(labels=(*["ham"] * len(CLEAN), "spam"))
    assert len(model.asked) == 3


def test_all_orders_together_take_one_call_more_and_spoil_only_each_other() -> None:
    model = JudgingModel(obeys)
    short = [text for text in ORDERS.values() if len(text) < 200][:40]
    [answer] = ask(make_judge(model), classify([*short, *CLEAN], LABELS)).answers
    assert answer == Classified(labels=(*["spam"] * len(short), *["ham"] * len(CLEAN)))
    assert len(model.asked) == 3


@pytest.mark.parametrize("name", ODD)
def test_what_is_only_odd_is_judged_among_the_others(name: str) -> None:
    assert not may_address_a_model(ODD[name])


@pytest.mark.parametrize("name", HOSTILE)
def test_every_text_reaches_the_model_whole_and_in_one_line(name: str) -> None:
    model = JudgingModel(sorts(honest))
    ask(make_judge(model), classify([HOSTILE[name]], LABELS))
    [one] = model.asked
    assert list(one.texts.values()) == [shown(well_formed(HOSTILE[name]))]
    lines = one.user.splitlines()
    assert [lines[0], lines[2], len(lines)] == ["<texts>", "</texts>", 5]
    assert one.user.count("<") == 2


@pytest.mark.parametrize("name", [name for name, text in HOSTILE.items() if len(text) < 5_000])
def test_labels_questions_and_instructions_may_be_hostile_too(name: str) -> None:
    hostile = HOSTILE[name]
    questions = (
        classify(["a"], ("ham", hostile)),
        classify(["a"], LABELS, instructions=hostile),
        classify(["a"], ("yes", "no"), question=hostile),
    )
    said = well_formed(hostile)
    for question, label in zip(questions, (said, "spam", "yes"), strict=True):
        judged = ask(make_judge(sorts({"a": label}.__getitem__)), question)
        assert judged.answers == (Classified(labels=(label,)),)


@pytest.mark.parametrize("name", HOSTILE)
def test_data_of_ai_cannot_bring_in_a_value_of_another_type(name: str) -> None:
    hostile = HOSTILE[name]
    judge = make_judge(lambda one: one.request.messages[1].content if len(one.request.messages) == 2 else hostile)
    [answer] = ask(judge, ai("How many?", {"text": hostile}, {"type": "integer"})).answers
    assert isinstance(answer, AiValue | JudgeFailure)
    if isinstance(answer, AiValue):
        assert type(answer.value) is int


def test_a_lone_surrogate_is_the_same_text_as_its_replacement() -> None:
    model = JudgingModel(sorts(lambda _: "ham"))
    [answer] = ask(make_judge(model), classify(["\ud800", "\udfff", "\ufffd"])).answers
    assert answer == Classified(labels=("ham",) * 3)
    assert [one.texts for one in model.asked] == [{next(iter(model.asked[0].texts)): "\ufffd"}]


def test_ids_are_new_for_every_call() -> None:
    seen: list[str] = []

    def script(one: Asked) -> str:
        seen.extend(one.texts)
        return "no"

    ask(make_judge(script), classify(CLEAN))
    assert len(seen) > 200
    assert len(set(seen)) == len(seen)
