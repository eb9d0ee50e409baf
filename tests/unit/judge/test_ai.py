"""`ai`: a value of the asked type, or a failure that says why there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.judge import JudgingModel, ai, ask, make_judge
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.judge import AiValue, JudgeFailure
from vardy_worker.contracts.model import ModelFailed, ModelReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.judge import Answer

STRING = {"type": "string"}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def value_of(answer: Answer, type_: dict[str, Any]) -> Any:
    [got] = ask(make_judge(lambda _: answer), ai("Do it.", {"a": 1}, type_)).answers
    return got.value if isinstance(got, AiValue) else got


@pytest.mark.parametrize(
    ("written", "type_", "value"),
    [
        ('{"value": "short"}', STRING, "short"),
        ('{"value": 2.5}', {"type": "number"}, 2.5),
        ('{"value": false}', {"type": "boolean"}, False),
        ('{"value": {"name": "Ana", "age": 3}}', PERSON, {"name": "Ana", "age": 3}),
        ('{"name": "Ana", "age": 3}', PERSON, {"name": "Ana", "age": 3}),
        ('```json\n{"value": "short"}\n```', STRING, "short"),
        ('Sure!\n```json\n{"value": "short"}\n```\nDone.', STRING, "short"),
        ('<think>\n{"value": "draft"}\n</think>\n{"value": "short"}', STRING, "short"),
        ('{"value": "draft"} no, better {"value": "short"}', STRING, "short"),
        ('{"value": 3} that is {"value": "short"}', {"type": "number"}, 3),
        ("```\n7\n```", {"type": "number"}, 7),
        ('"short"', STRING, "short"),
        ('{"value": "a\nb"}', STRING, "a\nb"),
        ('{"value": "\\ud800"}', STRING, "\ufffd"),
        ('{"value": null}', {"type": ["string", "null"]}, None),
        ('{"value": 12345678901234567890}', {"type": "integer"}, 12345678901234567890),
        ('{"value": {"value": 1}}', {"type": "object"}, {"value": 1}),
    ],
)
def test_a_value_is_found_in_whatever_models_put_around_it(written: str, type_: dict[str, Any], value: Any) -> None:
    assert value_of(written, type_) == value


@pytest.mark.parametrize(
    "written",
    [
        "",
        "short",
        "{",
        '{"value": 3}',
        '{"value": NaN}',
        '{"value": 1e999}',
        '{"answer": "short"}',
        '<think>{"value": "short"}',
        '{"value": ' * 5_000,
        "[" * 50_000,
        '{"value": ' + "[" * 600 + "]" * 600 + "}",
    ],
)
def test_what_is_no_value_of_the_type_is_a_failure_after_three_tries(written: str) -> None:
    model = JudgingModel(lambda _: written)
    [answer] = ask(make_judge(model), ai("Do it.", {}, STRING)).answers
    assert isinstance(answer, JudgeFailure)
    assert answer.code == "execution.judge_bad_answer"
    assert answer.details == {"tries": 3}
    assert [len(wave) for wave in model.waves] == [1, 1, 1]


def test_a_wrong_answer_is_asked_again_with_what_was_wrong() -> None:
    answers = iter(['{"value": {"name": "Ana", "age": -1}}', '{"value": {"name": "Ana", "age": 1}}'])
    model = JudgingModel(lambda _: next(answers))
    judged = ask(make_judge(model), ai("Who is it?", "Ana is one year old.", PERSON))
    assert judged.answers == (AiValue(value={"name": "Ana", "age": 1}),)
    assert judged.usage.calls == 2
    roles = [message.role for message in model.asked[1].request.messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert 'at /age, it breaks {"minimum":0}' in model.asked[1].user


def test_an_answer_that_was_cut_is_asked_again_for_a_shorter_one() -> None:
    cut = ModelReply(text='{"value": "very lo', finish_reason="length", model="fake/judge")
    answers: Iterator[Answer] = iter([cut, '{"value": "short"}'])
    model = JudgingModel(lambda _: next(answers))
    assert ask(make_judge(model), ai("Do it.", {}, STRING)).answers == (AiValue(value="short"),)
    assert "was cut" in model.asked[1].user


def test_instruction_and_type_come_apart_from_the_data() -> None:
    model = JudgingModel(lambda _: '{"value": ""}')
    ask(make_judge(model), ai("Summarise it.", {"text": "hello </data> there"}, STRING))
    [one] = model.asked
    assert '"Summarise it."' in one.system
    assert '{"type":"string"}' in one.system
    assert "hello" not in one.system
    assert '<data>\n{"text":"hello \\u003c/data> there"}\n</data>' in one.user
    assert one.request.purpose == "ai"


def test_the_same_is_asked_once_and_kept() -> None:
    model = JudgingModel(lambda _: '{"value": "short"}')
    judge = make_judge(model)
    same = [ai("Do it.", {"a": 1, "b": 2}, STRING), ai("Do it.", {"b": 2, "a": 1}, STRING)]
    assert ask(judge, *same).answers == (AiValue(value="short"),) * 2
    assert ask(judge, *same).answers == (AiValue(value="short"),) * 2
    assert len(model.asked) == 1
    for other in (ai("Do that.", {"a": 1, "b": 2}, STRING), ai("Do it.", {"a": 1}, STRING), ai("Do it.", [], STRING)):
        ask(judge, other)
    assert len(model.asked) == 4


def test_a_type_that_many_tasks_have_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Any] = []
    look = Draft202012Validator.check_schema

    def check_schema(schema: Any) -> None:
        looked_at.append(schema)
        look(schema)

    monkeypatch.setattr(Draft202012Validator, "check_schema", check_schema)
    type_ = {"type": "array", "items": {"type": "string"}, "maxItems": 17}
    judge = make_judge(lambda _: '{"value": ["Faro"]}')
    for _ in range(2):
        judged = ask(judge, *(ai("Which cities?", number, type_) for number in range(50)))
        assert judged.answers == (AiValue(value=["Faro"]),) * 50
    assert looked_at == [type_]


def test_failures_are_not_kept() -> None:
    answers = iter(["no", "no", "no", '{"value": "short"}'])
    judge = make_judge(lambda _: next(answers))
    assert isinstance(ask(judge, ai("Do it.", {}, STRING)).answers[0], JudgeFailure)
    assert ask(judge, ai("Do it.", {}, STRING)).answers == (AiValue(value="short"),)


@pytest.mark.parametrize("levels", [127, 128, 129, 450, 600, 980, 5_000])
def test_only_values_that_can_be_walked_through_are_values(levels: int) -> None:
    got = value_of(f'{{"value": {"[" * levels}{"]" * levels}}}', {"type": "array"})
    assert isinstance(got, list) if levels <= 128 else isinstance(got, JudgeFailure)


def test_a_number_beyond_all_that_can_be_stored_is_none() -> None:
    assert isinstance(value_of('{"value": 1e999}', {"type": "number"}), JudgeFailure)
    assert isinstance(value_of("1e999", {"type": "number"}), JudgeFailure)


@pytest.mark.parametrize(
    ("about", "code"),
    [
        ("model", "execution.judge_unavailable"),
        ("time", "execution.judge_unavailable"),
        ("request", "execution.judge_unavailable"),
        ("content", "execution.judge_bad_answer"),
    ],
)
def test_no_answer_at_all_says_why(about: str, code: str) -> None:
    error = ErrorInfo(code="generation.model_unavailable", message="It was so.", details={"models": []})
    got = value_of(ModelFailed.model_validate({"error": error, "about": about}), STRING)
    assert isinstance(got, JudgeFailure)
    assert got.code == code
    assert got.message.endswith("It was so.")


@pytest.mark.parametrize(
    "type_",
    [
        {"type": "text"},
        {"type": "string", "pattern": "(?=a)"},
        {"$ref": "https://example.com/type.json"},
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        json.loads('{"items": ' * 120 + "{}" + "}" * 120),
    ],
)
def test_a_type_that_is_none_never_gets_a_value(type_: dict[str, Any]) -> None:
    got = value_of(json.dumps({"value": "short"}), type_)
    assert isinstance(got, JudgeFailure)
    assert got.code == "execution.judge_bad_answer"


@pytest.mark.parametrize(
    "type_",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/type"}}},
        {"type": "object", "properties": {"a": {"$id": "urn:a", "$ref": "#/properties/a"}}},
        {"type": "string", "description": "x" * 33_000},
        {"items": {"type": [{"a": number} for number in range(2500)]}},
    ],
    ids=["no schema", "another root", "too large", "endless types"],
)
def test_a_type_that_could_not_be_followed_asks_no_model(type_: dict[str, Any]) -> None:
    asked: list[Any] = []

    def answer(request: Any) -> str:
        asked.append(request)
        return '{"value": {"a": 1}}'

    [got] = ask(make_judge(answer), ai("Do it.", "data", type_)).answers
    assert isinstance(got, JudgeFailure)
    assert (got.code, asked) == ("execution.judge_bad_answer", [])


def test_no_value_of_the_data_is_in_a_failure() -> None:
    [answer] = ask(make_judge(lambda _: '{"value": "marker-8a"}'), ai("Do it.", "marker-8a", PERSON)).answers
    assert isinstance(answer, JudgeFailure)
    assert "marker-8a" not in answer.model_dump_json()
