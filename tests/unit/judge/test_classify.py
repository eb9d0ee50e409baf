"""`classify`: one label for each text, asked once, in few calls."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from tests.support.judge import (
    Asked,
    JudgingModel,
    ask,
    classify,
    counted_ids,
    is_true_of,
    make_judge,
    sorts,
)
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.judge import Classified, JudgeFailure
from vardy_worker.contracts.model import ModelFailed, ModelReply
from vardy_worker.judge.classify import (
    BEGINNING_CHARACTERS,
    CALL_TOKENS_MAX,
    END_CHARACTERS,
    NONE_JUDGED_MAX,
    TEXTS_PER_CALL_MAX,
)
from vardy_worker.judge.estimate import tokens_of
from vardy_worker.store.memory_judge_cache import MemoryJudgeCache
from vardy_worker.testing.clock import MovableClock

if TYPE_CHECKING:
    from tests.support.judge import Answer
    from vardy_worker.contracts.judge import JudgeAnswer

TEXTS = [f"message number {number}" for number in range(300)]


def by_digit(text: str) -> str:
    return "spam" if text[-1] in "13579" else "ham"


def labels_of(answer: JudgeAnswer) -> tuple[str, ...]:
    assert isinstance(answer, Classified)
    return answer.labels


def failed(about: str, *, message: str = "It was so.") -> ModelFailed:
    error = ErrorInfo(code="generation.model_unavailable", message=message, details={"models": []})
    return ModelFailed.model_validate({"error": error, "about": about})


def test_each_text_gets_its_label_in_order() -> None:
    judged = ask(make_judge(sorts(by_digit)), classify(["m 1", "m 2", "m 3", "m 2"]))
    assert judged.answers == (Classified(labels=("spam", "ham", "spam", "ham")),)


def test_no_texts_take_no_call() -> None:
    model = JudgingModel(sorts(by_digit))
    assert ask(make_judge(model), classify([])).answers == (Classified(labels=()),)
    assert model.asked == []


def test_a_question_is_answered_with_yes_no_or_unknown() -> None:
    answers = {"rude": "yes", "kind": "no", "?": "unknown"}
    judged = ask(make_judge(sorts(answers.__getitem__)), is_true_of("Is it rude?", ["rude", "?", "kind"]))
    assert judged.answers == (Classified(labels=("yes", "unknown", "no")),)


def test_three_hundred_texts_take_eight_calls_and_the_same_again_none() -> None:
    model = JudgingModel(sorts(by_digit))
    judge = make_judge(model)
    texts = [*TEXTS, *TEXTS, *TEXTS]
    random.Random(1).shuffle(texts)  # noqa: S311 - an order, not a secret
    first = ask(judge, classify(texts))
    assert first.usage.calls == len(model.asked) == 8
    assert first.usage.prompt_tokens == 800
    assert first.usage.cost_usd == pytest.approx(4)
    assert labels_of(first.answers[0]) == tuple(map(by_digit, texts))
    again = ask(judge, classify(texts))
    assert again.usage.calls == 0
    assert again.answers == first.answers


def test_calls_of_one_question_are_made_together() -> None:
    model = JudgingModel(sorts(by_digit))
    ask(make_judge(model), classify(TEXTS))
    assert [len(wave) for wave in model.waves] == [8]


def test_questions_that_ask_the_same_share_their_calls() -> None:
    model = JudgingModel(sorts(by_digit))
    judged = ask(
        make_judge(model),
        classify(TEXTS[:20], ("spam", "ham")),
        classify(TEXTS[10:30], ("ham", "spam", "ham")),
        classify(TEXTS[:5], ("spam", "ham"), instructions="Be strict."),
    )
    assert sorted(len(one.texts) for one in model.asked) == [5, 30]
    for answer, texts in zip(judged.answers, (TEXTS[:20], TEXTS[10:30], TEXTS[:5]), strict=True):
        assert labels_of(answer) == tuple(map(by_digit, texts))


def test_neither_the_order_of_texts_nor_of_labels_changes_what_is_asked() -> None:
    requests = []
    for seed in range(2):
        model = JudgingModel(sorts(by_digit))
        texts, labels = [*TEXTS, *TEXTS[:7]], ["spam", "ham", "other"]
        random.Random(seed).shuffle(texts)  # noqa: S311 - an order, not a secret
        random.Random(seed).shuffle(labels)  # noqa: S311 - the same
        ask(make_judge(model, new_id=counted_ids()), classify(texts, labels))
        requests.append([one.request.messages for one in model.asked])
    assert requests[0] == requests[1]


def test_another_question_model_or_instruction_is_asked_anew() -> None:
    model = JudgingModel(lambda one: json.dumps(dict.fromkeys(one.texts, "unknown")))
    judge = make_judge(model)
    questions = (
        classify(["a"]),
        classify(["a"], ("spam", "ham", "other")),
        classify(["a"], instructions="Be strict."),
        is_true_of("Is it rude?", ["a"]),
        is_true_of("Is it kind?", ["a"]),
    )
    assert ask(judge, *questions).usage.calls == 5
    assert ask(judge, *questions).usage.calls == 0
    other = make_judge(model, cache=judge._cache, judge_model="other/judge")
    assert ask(other, *questions).usage.calls == 5


def test_long_texts_make_smaller_batches() -> None:
    model = JudgingModel(sorts(by_digit))
    texts = [f"{'long words ' * 300}{number}" for number in range(40)]
    judged = ask(make_judge(model), classify(texts))
    assert labels_of(judged.answers[0]) == tuple(map(by_digit, texts))
    assert 2 < len(model.asked) < 10
    for one in model.asked:
        assert sum(tokens_of(text) for text in one.texts.values()) < CALL_TOKENS_MAX


def test_of_a_very_long_text_beginning_and_end_are_judged() -> None:
    model = JudgingModel(sorts(lambda _: "ham"))
    text = "b" * BEGINNING_CHARACTERS + "middle" * 10_000 + "e" * END_CHARACTERS
    ask(make_judge(model), classify([text, text + "!"]))
    [shown, other] = [sent for one in model.asked for sent in one.texts.values()]
    assert {shown[-1], other[-1]} == {"e", "!"}
    whole = shown if shown[-1] == "e" else other
    assert whole == "b" * BEGINNING_CHARACTERS + "\n[… 60000 characters are left out …]\n" + "e" * END_CHARACTERS
    assert len({len(one.texts) for one in model.asked}) == 1


@pytest.mark.parametrize(
    "shape",
    [
        "{}",
        "```json\n{}\n```",
        "Here are the labels:\n\n```\n{}\n```\nI hope this helps.",
        "<think>\nThe first is spam. {{}} \n</think>\n{}",
        '{{"labels": {}}}',
    ],
)
def test_an_answer_may_stand_in_whatever_models_put_around_it(shape: str) -> None:
    model = JudgingModel(lambda one: shape.replace("{}", sorts(by_digit)(one)))
    judged = ask(make_judge(model), classify(TEXTS[:3]))
    assert judged.answers == (Classified(labels=("ham", "spam", "ham")),)
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "line",
    [
        '"{id}": "{label}",\n',
        "'{id}': '{label}',\n",
        '{{"id": "{id}", "label": "{label}"}},\n',
        '["{id}", "{label}"]\n',
        '"{id}" :\n\t"  {upper} ",',
    ],
)
def test_pairs_are_read_in_whatever_form_they_are_written(line: str) -> None:
    def script(one: Asked) -> str:
        pairs = [(text_id, by_digit(text)) for text_id, text in one.texts.items()]
        return "".join(line.format(id=text_id, label=label, upper=label.upper()) for text_id, label in pairs)

    model = JudgingModel(script)
    judged = ask(make_judge(model), classify(TEXTS[:3]))
    assert judged.answers == (Classified(labels=("ham", "spam", "ham")),)
    assert len(model.asked) == 1


def test_a_key_beside_an_id_is_no_label_though_a_label_has_its_name() -> None:
    repeated = '{{"id": "{}", "text": "…", "label" : "image"}}\n'
    model = JudgingModel(lambda one: "".join(repeated.format(text_id) for text_id in one.texts))
    judged = ask(make_judge(model), classify(TEXTS[:3], ("text", "label", "image")))
    assert judged.answers == (Classified(labels=("unknown",) * 3, unjudged=3),)
    alone = JudgingModel(lambda one: "".join(f'"{text_id}": "text"\n' for text_id in one.texts))
    assert ask(make_judge(alone), classify(TEXTS[:1], ("text", "image"))).answers == (Classified(labels=("text",)),)


def test_labels_that_differ_in_case_alone_must_be_hit_exactly() -> None:
    model = JudgingModel(sorts(lambda text: text))
    judged = ask(make_judge(model), classify(["Open", "open", "OPEN", "SHUT"], ("Open", "open", "shut")))
    assert judged.answers == (Classified(labels=("Open", "open", "unknown", "shut"), unjudged=1),)


def test_a_label_may_be_unknown_empty_or_anything_else() -> None:
    labels = ("unknown", "", "“ü”", "a\nb", '"', "\\", "x" * 500)
    texts = {f"text {number}": label for number, label in enumerate(labels)}
    judged = ask(make_judge(sorts(texts.__getitem__)), classify(texts, labels))
    assert judged.answers == (Classified(labels=labels),)


def test_what_an_answer_leaves_out_is_asked_again_and_alone() -> None:
    def script(one: Asked) -> str:
        left_out = {text_id: text for text_id, text in one.texts.items() if len(one.texts) == 1 or text != TEXTS[7]}
        return json.dumps({text_id: by_digit(text) for text_id, text in left_out.items()})

    model = JudgingModel(script)
    judged = ask(make_judge(model), classify(TEXTS[:40]))
    assert labels_of(judged.answers[0]) == tuple(map(by_digit, TEXTS[:40]))
    assert [sorted(len(one.texts) for one in wave) for wave in model.waves] == [[40], [1]]


def test_an_answer_that_was_cut_counts_as_far_as_it_goes() -> None:
    def script(one: Asked) -> Answer:
        whole = sorts(by_digit)(one)
        if len(one.texts) < 20:
            return whole
        return ModelReply(text=whole[: len(whole) * 2 // 3], finish_reason="length", model="fake/judge")

    model = JudgingModel(script)
    judged = ask(make_judge(model), classify(TEXTS[:40]))
    assert labels_of(judged.answers[0]) == tuple(map(by_digit, TEXTS[:40]))
    assert [len(wave) for wave in model.waves] == [1, 1]


@pytest.mark.parametrize("answer", ["", "I cannot help with that.", "{", "null", "[]", '{"1": "spam"}', "<think>spam"])
def test_a_text_that_spoils_every_answer_is_unknown_and_spoils_no_other(answer: str) -> None:
    model = JudgingModel(lambda one: answer if "poison" in one.texts.values() else sorts(by_digit)(one))
    judged = ask(make_judge(model), classify([*TEXTS[:39], "poison"]))
    assert judged.answers == (Classified(labels=(*map(by_digit, TEXTS[:39]), "unknown"), unjudged=1),)
    assert len(model.waves) <= 8


def test_a_text_that_the_provider_refuses_is_unknown_and_spoils_no_other() -> None:
    model = JudgingModel(lambda one: failed("content") if "poison" in one.texts.values() else sorts(by_digit)(one))
    judged = ask(make_judge(model), classify([*TEXTS[:9], "poison"]))
    assert judged.answers == (Classified(labels=(*map(by_digit, TEXTS[:9]), "unknown"), unjudged=1),)


def test_every_place_of_a_text_that_cannot_be_judged_counts() -> None:
    judged = ask(make_judge(lambda _: "no"), classify(["a", "a", "b"]))
    assert judged.answers == (Classified(labels=("unknown", "unknown", "unknown"), unjudged=3),)


def test_one_text_alone_is_tried_twice() -> None:
    model = JudgingModel(lambda _: "no")
    ask(make_judge(model), classify(["a"]))
    assert [len(wave) for wave in model.waves] == [1, 1]


def test_what_could_not_be_judged_is_asked_again_in_the_next_run() -> None:
    answers = iter(["no", "no"])
    judge = make_judge(lambda one: next(answers, None) or sorts(by_digit)(one))
    assert ask(judge, classify(["m 1"])).answers == (Classified(labels=("unknown",), unjudged=1),)
    assert ask(judge, classify(["m 1"])).answers == (Classified(labels=("spam",)),)


def test_what_the_model_calls_unknown_is_judged_and_kept() -> None:
    model = JudgingModel(sorts(lambda _: "unknown"))
    judge = make_judge(model)
    for _ in range(2):
        assert ask(judge, classify(["a"])).answers == (Classified(labels=("unknown",)),)
    assert len(model.asked) == 1


def test_two_different_labels_for_one_text_are_none() -> None:
    def script(one: Asked) -> str:
        [text_id] = one.texts
        return f'{{"{text_id}": "spam", "{text_id}": "ham"}}'

    assert ask(make_judge(script), classify(["a"])).answers == (Classified(labels=("unknown",), unjudged=1),)


def test_a_label_that_cannot_be_read_is_none() -> None:
    model = JudgingModel(lambda one: "".join(f'"{text_id}": "\\x spam", ' for text_id in one.texts))
    assert ask(make_judge(model), classify(["a"])).answers == (Classified(labels=("unknown",), unjudged=1),)


def test_the_same_label_twice_is_one() -> None:
    def script(one: Asked) -> str:
        [text_id] = one.texts
        return f'{{"{text_id}": "spam"}} or again {{"{text_id}": "SPAM"}}'

    assert ask(make_judge(script), classify(["a"])).answers == (Classified(labels=("spam",)),)


@pytest.mark.parametrize("about", ["model", "time"])
def test_a_model_that_cannot_be_reached_is_a_failure_and_never_unknown(about: str) -> None:
    model = JudgingModel(lambda _: failed(about, message="fake/judge could not be connected to."))
    judged = ask(make_judge(model), classify(TEXTS))
    assert judged.answers == (
        JudgeFailure(
            code="execution.judge_unavailable",
            message="The judge's model gave no answer. fake/judge could not be connected to.",
            details={"models": []},
        ),
    )
    assert judged.usage.calls == len(model.asked) == 8


def test_an_id_that_comes_twice_in_a_call_is_made_anew() -> None:
    ids = iter(["00000001", "00000001", "00000002"])
    judged = ask(make_judge(sorts(by_digit), new_id=lambda: next(ids)), classify(["m 1", "m 2"]))
    assert judged.answers == (Classified(labels=("spam", "ham")),)


def test_what_was_answered_before_the_model_went_away_is_kept() -> None:
    answers = iter([True] * 5 + [False] * 3)
    model = JudgingModel(lambda one: sorts(by_digit)(one) if next(answers, True) else failed("model"))
    judge = make_judge(model)
    assert isinstance(ask(judge, classify(TEXTS)).answers[0], JudgeFailure)
    again = ask(judge, classify(TEXTS))
    assert labels_of(again.answers[0]) == tuple(map(by_digit, TEXTS))
    assert again.usage.calls == 3


def test_a_question_that_was_answered_does_not_fail_with_another() -> None:
    model = JudgingModel(lambda one: sorts(by_digit)(one) if "Labels" in one.system else failed("model"))
    judged = ask(make_judge(model), classify(["m 1"]), is_true_of("Is it rude?", ["m 1"]))
    assert judged.answers[0] == Classified(labels=("spam",))
    assert isinstance(judged.answers[1], JudgeFailure)


@pytest.mark.parametrize(("count", "fails"), [(NONE_JUDGED_MAX, False), (NONE_JUDGED_MAX + 1, True)])
@pytest.mark.parametrize("said", ["I cannot do that.", "", '{"labels": []}'])
def test_a_model_that_labels_nothing_is_no_matter_of_texts(said: str, count: int, fails: bool) -> None:
    model = JudgingModel(lambda _: ModelReply(text=said, finish_reason="length", model="fake/judge"))
    [answer] = ask(make_judge(model), classify([f"text {number}" for number in range(count)])).answers
    if fails:
        assert isinstance(answer, JudgeFailure)
        assert (answer.code, answer.details) == ("execution.judge_unavailable", {"texts": count})
        assert "VARDY_JUDGE_MODEL" in answer.message
    else:
        assert answer == Classified(labels=("unknown",) * count, unjudged=count)


def test_labels_that_were_kept_do_not_hide_that_a_model_labels_nothing_now() -> None:
    cache = MemoryJudgeCache(MovableClock())
    texts = [f"text {number}" for number in range(10)]
    ask(make_judge(JudgingModel(sorts(lambda _: "ham")), cache=cache), classify(texts[:5]))
    silent = make_judge(JudgingModel(lambda _: ""), cache=cache)
    kept, mixed = (ask(silent, classify(given)).answers[0] for given in (texts[:5], texts))
    assert kept == Classified(labels=("ham",) * 5)
    assert isinstance(mixed, JudgeFailure)


def test_a_provider_that_refuses_every_request_is_no_matter_of_texts() -> None:
    judged = ask(make_judge(lambda _: failed("request")), classify(["a", "b"]))
    [answer] = judged.answers
    assert isinstance(answer, JudgeFailure)
    assert answer.code == "execution.judge_unavailable"


def test_a_text_that_makes_a_request_malformed_is_unknown_and_spoils_no_other() -> None:
    model = JudgingModel(lambda one: failed("request") if "poison" in one.texts.values() else sorts(by_digit)(one))
    judged = ask(make_judge(model), classify(["m 1", "poison"]))
    assert judged.answers == (Classified(labels=("spam", "unknown"), unjudged=1),)


def test_without_time_nothing_is_asked() -> None:
    model = JudgingModel(sorts(by_digit))
    judged = ask(make_judge(model), classify(["a"]), seconds=0)
    assert isinstance(judged.answers[0], JudgeFailure)
    assert judged.answers[0].code == "execution.judge_unavailable"
    assert judged.usage.calls == 0


def test_without_time_what_is_kept_is_still_answered() -> None:
    judge = make_judge(sorts(by_digit))
    ask(judge, classify(["m 1"]))
    assert ask(judge, classify(["m 1"]), seconds=0).answers == (Classified(labels=("spam",)),)


def test_a_call_waits_no_longer_than_the_program_may_run() -> None:
    model = JudgingModel(sorts(by_digit))
    ask(make_judge(model, model_timeout_seconds=50), classify(["a"]), seconds=20)
    ask(make_judge(model, model_timeout_seconds=5), classify(["b"]), seconds=20)
    timeouts = [one.request.timeout_seconds for one in model.asked]
    assert 15 < timeouts[0] <= 20
    assert timeouts[1] == 5


def test_no_answer_may_be_longer_than_its_labels_and_some_thinking() -> None:
    model = JudgingModel(sorts(by_digit))
    ask(make_judge(model), classify(TEXTS[:TEXTS_PER_CALL_MAX]))
    [one] = model.asked
    assert one.request.answer_tokens_max is not None
    assert 2_000 < one.request.answer_tokens_max < 4_000
    assert (one.request.purpose, one.request.job_id, one.request.model) == ("classify", "job_1", "fake/judge")
