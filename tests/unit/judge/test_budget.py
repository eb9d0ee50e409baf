"""The judge's budget: told before a call is made, and never passed."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest

from tests.support.judge import JudgingModel, ai, ask, classify, make_judge, sorts
from vardy_worker.contracts.judge import AiValue, Classified, JudgeBudget, JudgeFailure
from vardy_worker.contracts.model import ModelReply, TokenUsage
from vardy_worker.judge import classify as judge_classify
from vardy_worker.judge.classify import Topic
from vardy_worker.judge.estimate import tokens_of, tokens_of_messages

TEXTS = [f"message number {number}" for number in range(200)]


def ham() -> JudgingModel:
    return JudgingModel(sorts(lambda _: "ham"))


def test_a_question_that_needs_too_many_calls_fails_before_any_is_made() -> None:
    model = ham()
    judged = ask(make_judge(model), classify(TEXTS), budget=JudgeBudget(calls=4, tokens=10_000_000))
    [answer] = judged.answers
    assert isinstance(answer, JudgeFailure)
    assert answer.code == "execution.judge_budget"
    assert answer.details == {"limit": "judge_calls_max", "needed": 5, "left": 4}
    assert "5 calls" in answer.message
    assert (model.asked, judged.usage.calls) == ([], 0)


def test_a_question_that_needs_too_many_tokens_fails_before_any_call() -> None:
    model = ham()
    [answer] = ask(make_judge(model), classify(TEXTS), budget=JudgeBudget(calls=20, tokens=5_000)).answers
    assert isinstance(answer, JudgeFailure)
    assert answer.details["limit"] == "judge_tokens_max"
    assert answer.details["needed"] > answer.details["left"] == 5_000
    assert model.asked == []


def test_questions_are_covered_in_their_order_each_whole_or_not_at_all() -> None:
    model = ham()
    judged = ask(
        make_judge(model),
        classify(TEXTS[:80]),
        classify(TEXTS),
        classify(TEXTS[:10], ("ham", "eggs")),
        classify(TEXTS[:10], ("ham", "eggs", "spam")),
        ai("Do it.", {}, {"type": "string"}),
        budget=JudgeBudget(calls=3, tokens=10_000_000),
    )
    assert [type(answer) for answer in judged.answers] == [
        Classified,
        JudgeFailure,
        Classified,
        JudgeFailure,
        JudgeFailure,
    ]
    assert len(model.asked) == judged.usage.calls == 3


def test_what_is_known_costs_nothing() -> None:
    judge = make_judge(ham())
    ask(judge, classify(TEXTS))
    nothing = JudgeBudget(calls=0, tokens=0)
    assert isinstance(ask(judge, classify(TEXTS), budget=nothing).answers[0], Classified)
    assert isinstance(ask(judge, classify([*TEXTS, "new"]), budget=nothing).answers[0], JudgeFailure)


def test_a_shared_text_is_paid_for_once() -> None:
    budget = JudgeBudget(calls=1, tokens=10_000_000)
    judged = ask(make_judge(ham()), classify(TEXTS[:40]), classify(TEXTS[:40]), classify(TEXTS[:41]), budget=budget)
    assert [type(answer) for answer in judged.answers] == [Classified, Classified, JudgeFailure]


def test_a_question_pays_for_what_it_takes_beyond_those_before_it() -> None:
    model = ham()
    budget = JudgeBudget(calls=2, tokens=10_000_000)
    judged = ask(make_judge(model), classify(TEXTS[:40]), classify(TEXTS[:41]), budget=budget)
    assert [type(answer) for answer in judged.answers] == [Classified, Classified]
    assert len(model.asked) == 2


def test_the_same_task_is_paid_for_once() -> None:
    judge = make_judge(lambda _: '{"value": "short"}')
    question = ai("Do it.", {}, {"type": "string"})
    budget = JudgeBudget(calls=1, tokens=10_000_000)
    assert ask(judge, question, question, budget=budget).answers == (AiValue(value="short"),) * 2


def test_what_is_left_goes_to_the_call_for_most_texts() -> None:
    model = JudgingModel(lambda _: "no")
    questions = (classify(TEXTS[:3]), classify(TEXTS[:40], ("ham", "eggs")), classify(TEXTS[:2], ("a", "b")))
    ask(make_judge(model), *questions, budget=JudgeBudget(calls=4, tokens=10_000_000))
    assert [[len(one.texts) for one in wave] for wave in model.waves] == [[3, 40, 2], [20]]


def test_asking_again_comes_out_of_the_same_budget_and_the_rest_is_unknown() -> None:
    # Of each call the model labels one text.
    model = JudgingModel(lambda one: json.dumps({next(iter(one.texts)): "ham"}))
    judged = ask(make_judge(model), classify(TEXTS[:40]), budget=JudgeBudget(calls=4, tokens=10_000_000))
    [answer] = judged.answers
    assert isinstance(answer, Classified)
    assert (Counter(answer.labels), answer.unjudged) == ({"ham": 4, "unknown": 36}, 36)
    assert len(model.asked) == judged.usage.calls == 4
    assert [len(wave) for wave in model.waves] == [1, 2, 1]


def test_tokens_that_a_call_did_not_take_are_there_for_the_next() -> None:
    taken = TokenUsage(prompt_tokens=10, completion_tokens=1)
    model = JudgingModel(lambda _: ModelReply(text="no", model="fake/judge", usage=taken))
    judge = make_judge(model)
    ask(judge, classify(["a"]), budget=JudgeBudget(calls=20, tokens=3_500))
    assert len(model.asked) == 2
    ask(judge, classify(["b"]), budget=JudgeBudget(calls=20, tokens=2_500))
    assert len(model.asked) == 2


def test_a_task_that_runs_out_of_budget_between_tries_has_a_bad_answer() -> None:
    answers = iter(["no", '{"value": "short"}'])
    model = JudgingModel(lambda _: next(answers))
    question = ai("Do it.", {}, {"type": "string"})
    [answer] = ask(make_judge(model), question, budget=JudgeBudget(calls=1, tokens=10_000_000)).answers
    assert isinstance(answer, JudgeFailure)
    assert (answer.code, answer.details) == ("execution.judge_bad_answer", {"tries": 1})


def test_data_beyond_the_tokens_left_is_not_sent() -> None:
    model = JudgingModel(lambda _: '{"value": "short"}')
    big, small = (ai("Do it.", "words " * size, {"type": "string"}) for size in (100_000, 1_000))
    judged = ask(make_judge(model), big, small, budget=JudgeBudget(calls=20, tokens=200_000))
    assert isinstance(judged.answers[0], JudgeFailure)
    assert judged.answers[1] == AiValue(value="short")


@pytest.mark.parametrize("text_id", ["00000000", "abcdefab"])
@pytest.mark.parametrize(
    "texts",
    [
        ["a"],
        ["", " ", "7" * 100, '"quoted" \\ and\nbroken', "<tag>", "\x00\u200b", "包裹没有到", "🎉🎉🎉"],
        [f"message number {number}" for number in range(40)],
        ["word " * 10_000],
    ],
)
def test_a_call_is_paid_for_with_no_less_than_its_messages_and_its_longest_answer_take(
    text_id: str, texts: list[str]
) -> None:
    ids = (f"{text_id[:6]}{number:02}" for number in itertools.count())
    topic = Topic(classify(texts, question="Is it late?"), "fake/judge", lambda: next(ids))
    for call in topic.batches(texts):
        needed = tokens_of_messages(call.messages) + call.answer_tokens_max
        assert needed <= call.price.tokens <= needed + 12 * len(texts)


def test_many_small_questions_of_one_tick_share_calls_and_work_each_text_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: Counter[str] = Counter()

    def shown(text: str) -> str:
        looked_at[text] += 1
        return whole(text)

    whole = judge_classify.shown
    monkeypatch.setattr(judge_classify, "shown", shown)
    model = ham()
    judged = ask(make_judge(model), *(classify([text]) for text in TEXTS))
    assert [type(answer) for answer in judged.answers] == [Classified] * len(TEXTS)
    assert judged.usage.calls == 5
    # Once to be weighed, and once to be sent: also what was planned again and again with each further question.
    assert looked_at == dict.fromkeys(TEXTS, 2)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("The parcel has not arrived, and nobody answers my letters. I want my money back.", 18),
        ("A encomenda não chegou e ninguém responde às minhas mensagens.", 19),
        ("Посылка не пришла, и никто не отвечает на мои письма.", 28),
        ("包裹没有到,也没有人回复我的邮件。我要退款。", 20),
        ("荷物が届かず、誰も返事をくれません。", 23),
        ("الطرد لم يصل ولا أحد يرد على رسائلي.", 26),
        ("पार्सल नहीं आया और कोई मेरे पत्रों का जवाब नहीं देता।", 52),
        ("ပါဆယ်မရောက်သေးပါ။ ဘယ်သူမှ ပြန်မဖြေပါ။", 74),
        ('{"order_id":918273645,"total_cents":129900,"paid":true}', 19),
        ("🎉🎉🎉", 9),
    ],
)
def test_the_estimate_is_above_what_a_common_tokenizer_counts(text: str, counted: int) -> None:
    # Counted with cl100k_base.
    assert counted <= tokens_of(text) <= 2.5 * counted + 5


def test_the_estimate_of_a_text_grows_with_it() -> None:
    assert tokens_of("") == 0
    assert tokens_of("ab " * 1_000) == 1_200
    assert tokens_of("\ud800") >= 1
