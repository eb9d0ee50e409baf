"""Whatever a model answers: a label out of the set for each text, in any order, and never beyond the budget."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.judge import Asked, JudgingModel, ai, ask, classify, counted_ids, make_judge
from vardy_worker.contracts.base import sha256_text, well_formed
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.judge import AiValue, Classified, JudgeBudget, JudgeFailure
from vardy_worker.contracts.model import ModelFailed, ModelReply, TokenUsage
from vardy_worker.judge.answers import Labels, read_labels, read_values
from vardy_worker.judge.classify import NONE_JUDGED_MAX

if TYPE_CHECKING:
    from tests.support.judge import Answer

LABELS = ("spam", "ham", "Ham", "“ü” ")
TEXTS = st.lists(st.one_of(st.text(max_size=30), st.sampled_from(["a", "b", "c"])), max_size=60)
WORDS = st.sampled_from([*LABELS, "unknown", "SPAM", " ham\n", "admin", ""])
NO_REPLY = ErrorInfo(code="generation.model_unavailable", message="No model could be reached.")


def right(text: str) -> str:
    return LABELS[int(sha256_text(well_formed(text)), 16) % len(LABELS)]


@st.composite
def scripts(draw: st.DrawFn) -> Any:
    """Models that answer rightly, in part, with nonsense, cut, or not at all, as they are told one by one."""
    kinds = draw(st.lists(st.sampled_from(["right", "half", "wrong", "cut", "talk", "content", "empty"]), min_size=1))
    talk = draw(st.text(max_size=40))
    words = draw(st.lists(WORDS, min_size=1, max_size=5))
    turn = 0

    def script(one: Asked) -> Answer:
        nonlocal turn
        kind = kinds[turn % len(kinds)]
        turn += 1
        whole = json.dumps({text_id: right(text) for text_id, text in one.texts.items()})
        match kind:
            case "half":
                return json.dumps({i: right(text) for i, text in list(one.texts.items())[::2]})
            case "wrong":
                return json.dumps({i: words[n % len(words)] for n, i in enumerate(one.texts)})
            case "cut":
                return ModelReply(text=whole[: len(whole) // 2], finish_reason="length", model="fake/judge")
            case "talk":
                return f"{talk}{whole}{talk}"
            case "content":
                return ModelFailed(error=NO_REPLY, about="content")
            case "empty":
                return talk
            case _:
                return whole

    return script


@given(texts=TEXTS, script=scripts())
def test_every_text_gets_one_label_of_the_set_whatever_a_model_answers(texts: list[str], script: Any) -> None:
    [answer] = ask(make_judge(script), classify(texts, LABELS)).answers
    if isinstance(answer, JudgeFailure):
        assert (answer.code, len(set(texts)) > NONE_JUDGED_MAX) == ("execution.judge_unavailable", True)
        return
    assert isinstance(answer, Classified)
    assert len(answer.labels) == len(texts)
    assert set(answer.labels) <= {*LABELS, "unknown"}
    assert answer.unjudged <= answer.labels.count("unknown")
    by_text: dict[str, str] = {}
    for text, label in zip(texts, answer.labels, strict=True):
        assert by_text.setdefault(well_formed(text), label) == label


@given(texts=TEXTS, seed=st.integers(0, 100))
def test_the_order_of_texts_changes_neither_labels_nor_calls(texts: list[str], seed: int) -> None:
    order = list(range(len(texts)))
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    asked, labels = [], []
    for given_order in (range(len(texts)), order):
        # The label depends on the whole batch, so that only the same batches give the same labels.
        model = JudgingModel(
            lambda one: json.dumps(
                {i: LABELS[len(text + "".join(one.texts.values())) % 3] for i, text in one.texts.items()}
            )
        )
        [answer] = ask(
            make_judge(model, new_id=counted_ids()), classify([texts[n] for n in given_order], LABELS)
        ).answers
        assert isinstance(answer, Classified)
        labels.append(dict(zip(given_order, answer.labels, strict=True)))
        asked.append([one.request.messages for one in model.asked])
    assert labels[0] == labels[1]
    assert asked[0] == asked[1]


@given(texts=TEXTS)
def test_each_distinct_text_is_asked_once_and_never_again(texts: list[str]) -> None:
    model = JudgingModel(lambda one: json.dumps({i: right(text) for i, text in one.texts.items()}))
    judge = make_judge(model)
    for _ in range(2):
        [answer] = ask(judge, classify(texts, LABELS)).answers
        assert answer == Classified(labels=tuple(map(right, texts)))
    sent = [text for one in model.asked for text in one.texts.values()]
    assert sorted(sent) == sorted({well_formed(text) for text in texts})


@given(
    questions=st.lists(TEXTS, min_size=1, max_size=4),
    script=scripts(),
    calls=st.integers(0, 6),
    tokens=st.integers(0, 30_000),
    share=st.floats(0, 1),
)
def test_neither_calls_nor_tokens_ever_pass_the_budget(
    questions: list[list[str]], script: Any, calls: int, tokens: int, share: float
) -> None:
    asked: list[Asked] = []

    def metered(one: Asked) -> Answer:
        asked.append(one)
        answer = script(one)
        if isinstance(answer, ModelFailed):
            return answer
        most = one.request.answer_tokens_max
        assert most is not None
        usage = TokenUsage(prompt_tokens=len(one.user + one.system) // 4, completion_tokens=int(share * most))
        text = answer if isinstance(answer, str) else answer.text
        return ModelReply(text=text, model="fake/judge", usage=usage)

    budget = JudgeBudget(calls=calls, tokens=tokens)
    task = ai("Do it.", questions, {"type": "string"})
    judged = ask(make_judge(metered), *(classify(texts, LABELS) for texts in questions), task, budget=budget)
    assert judged.usage.calls == len(asked) <= calls
    assert judged.usage.prompt_tokens + judged.usage.completion_tokens <= tokens
    for answer, texts in zip(judged.answers, questions, strict=False):
        if isinstance(answer, JudgeFailure):
            # Questions with the same labels are asked together.
            useless = len({text for each in questions for text in each}) > NONE_JUDGED_MAX
            assert answer.code == "execution.judge_budget" or (answer.code == "execution.judge_unavailable" and useless)
        else:
            assert isinstance(answer, Classified)
            assert len(answer.labels) == len(texts)


@given(text=st.text(), labels=st.lists(st.text(max_size=10), max_size=6))
def test_reading_an_answer_finds_only_asked_ids_and_given_labels(text: str, labels: list[str]) -> None:
    ids = ["00000001", "00000002"]
    pairs = "".join(f'"{text_id}": {json.dumps(label)}, ' for text_id in (*ids, "00000003") for label in labels[:2])
    found = read_labels(text + pairs, ids, Labels(labels))
    assert found.keys() <= set(ids)
    assert set(found.values()) <= {*labels, "unknown"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON, before=st.text(max_size=20), after=st.text(max_size=20))
def test_every_value_is_read_back_out_of_an_answer(value: Any, before: str, after: str) -> None:
    talk = {ord(character): None for character in '{}<[◁"'}
    written = f"{before.translate(talk)}{json.dumps({'value': value})}{after.translate(talk)}"
    assert read_values(written)[0] == value


@given(text=st.text(alphabet='{}[]"value:, 13eNa\\u\n`', max_size=200))
def test_reading_values_never_raises_and_gives_only_what_json_can_hold(text: str) -> None:
    for value in read_values(text):
        json.dumps(value, allow_nan=False).encode()


@given(data=JSON, written=st.one_of(st.text(), JSON.map(lambda value: json.dumps({"value": value}))))
def test_ai_gives_a_value_of_the_type_or_a_failure(data: Any, written: str) -> None:
    [answer] = ask(make_judge(lambda _: written), ai("Do it.", data, {"type": "string"})).answers
    assert isinstance(answer, AiValue | JudgeFailure)
    if isinstance(answer, AiValue):
        assert isinstance(answer.value, str)
