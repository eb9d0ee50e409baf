"""What `classify` and `ai` take, and what is said of what they do not."""

from __future__ import annotations

from typing import Any

import pytest

from vardy_worker.json_schemas import pattern_problem
from vardy_worker.programs.judge_arguments import AiCall, BadJudgeCall, ClassifyCall, judge_call

TYPE = {"type": "string"}


def problems(function: str, **args: Any) -> list[tuple[str, str]]:
    found = judge_call(function, args)
    assert isinstance(found, BadJudgeCall)
    return [(item["at"], item["message"]) for item in found.problems]


def classify(**args: Any) -> ClassifyCall:
    found = judge_call("classify", {"texts": ["x"], "labels": ["a", "b"], **args})
    assert isinstance(found, ClassifyCall)
    return found


def schema_of(asked: Any) -> Any:
    found = judge_call("ai", {"instruction": "i", "data": 1, "options": {"type": asked}})
    assert isinstance(found, AiCall)
    return found.question.type_


def test_labels_texts_and_instructions_make_a_question() -> None:
    question = classify(texts=["x", "y"], options={"instructions": "Be strict."}).question
    assert (question.texts, question.labels, question.question) == (("x", "y"), ("a", "b"), "")
    assert question.instructions == "Be strict."


def test_a_string_in_place_of_labels_is_a_yes_no_question() -> None:
    question = classify(labels="Is it late?").question
    assert (question.labels, question.question) == (("yes", "no"), "Is it late?")


def test_numbers_are_judged_as_their_text() -> None:
    assert classify(texts=[17, 2.5, "x"]).question.texts == ("17", "2.5", "x")


def test_a_text_that_is_null_is_unknown_at_its_place_without_being_asked() -> None:
    call = classify(texts=[None, "x", None, "y"])
    assert call.question.texts == ("x", "y")
    assert call.value(["a", "b"]) == {
        "labels": ["unknown", "a", "unknown", "b"],
        "counts": {"a": 1, "b": 1, "unknown": 2},
    }


def test_counts_have_every_label_and_unknown_also_where_there_are_none() -> None:
    assert classify(texts=[]).value([]) == {"labels": [], "counts": {"a": 0, "b": 0, "unknown": 0}}
    assert classify(labels="Is it?").value(["yes"])["counts"] == {"yes": 1, "no": 0, "unknown": 0}


def test_unknown_may_be_one_of_the_labels() -> None:
    call = classify(labels=["a", "unknown"])
    assert call.value(["unknown"]) == {"labels": ["unknown"], "counts": {"a": 0, "unknown": 1}}


@pytest.mark.parametrize(
    ("args", "at", "said"),
    [
        ({}, "/texts", "is missing"),
        ({"texts": "one text"}, "/texts", "must be an array of strings, not a string of 8 characters"),
        ({"texts": ["x", {"body": "y"}]}, "/texts/1", "must be a string, not an object with body"),
        ({"texts": [True]}, "/texts/0", "must be a string, not a boolean"),
        ({"texts": [["x"]]}, "/texts/0", "must be a string, not a list of 1"),
        ({"texts": []}, "/labels", "is missing"),
        ({"labels": []}, "/labels", "must be an array of 2 to 50 labels"),
        ({"labels": ["only"]}, "/labels", "not a list of 1"),
        ({"labels": [str(n) for n in range(51)]}, "/labels", "not a list of 51"),
        ({"labels": " "}, "/labels", "must say what is asked"),
        ({"labels": 3}, "/labels", "or a yes/no question as a string, not an integer"),
        ({"labels": None}, "/labels", "not null"),
        ({"labels": ["a", ""]}, "/labels/1", "a string of 1 to 200 characters, not a string of 0 characters"),
        ({"labels": ["a", "b" * 201]}, "/labels/1", "not a string of 201 characters"),
        ({"labels": ["a", 2]}, "/labels/1", "not an integer"),
        ({"labels": ["late", "x", " Late"]}, "/labels/2", "must differ from label 0"),
        ({"options": "strict"}, "/options", "must be an object with `instructions`"),
        ({"options": {"instruction": "x"}}, "/options/instruction", "the option is instructions"),
        ({"options": {"instructions": 5}}, "/options/instructions", "must be a string, not an integer"),
    ],
)
def test_wrong_arguments_of_classify_are_named_by_place(args: dict[str, Any], at: str, said: str) -> None:
    whole = args if "texts" in args or not args else {"texts": ["x"], **args}
    whole = {"labels": ["a", "b"], **whole} if at.startswith(("/texts", "/options")) else whole
    found = problems("classify", **whole)
    assert found[0][0] == at
    assert said in found[0][1]


def test_all_that_is_wrong_is_told_at_once_but_not_without_end() -> None:
    found = problems("classify", texts=[{}] * 1000, labels=["a", "a"], options={"x": 1})
    assert len(found) == 20
    few = problems("classify", texts=[{}], labels=["a", "a"], options={"x": 1})
    assert [at for at, _ in few] == ["/texts/0", "/labels/1", "/options/x"]


def test_nothing_that_is_said_repeats_a_value() -> None:
    secret = "4929 1234 5678"
    found = problems("classify", texts=[{"card": secret}], labels=["a", secret * 50], options=secret)
    found += problems("ai", instruction=[secret], data=1, options={"type": secret})
    assert secret not in repr(found)


@pytest.mark.parametrize(
    ("asked", "schema"),
    [
        ("string", {"type": "string"}),
        ("number", {"type": "number"}),
        ("boolean", {"type": "boolean"}),
        (["string"], {"type": "array", "items": {"type": "string"}}),
        (
            {"city": "string", "parts": [{"n": "number"}]},
            {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "parts": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"n": {"type": "number"}},
                            "required": ["n"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["city", "parts"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_types_become_json_schemas(asked: Any, schema: Any) -> None:
    assert schema_of(asked) == schema


def test_a_field_may_have_any_name() -> None:
    schema = schema_of({"__proto__": "string", "$ref": "number", "type": "boolean"})
    assert schema["required"] == ["__proto__", "$ref", "type"]
    assert pattern_problem(schema) == ""


def deep(levels: int) -> Any:
    asked: Any = "string"
    for _ in range(levels):
        asked = {"inner": asked}
    return asked


@pytest.mark.parametrize(
    ("args", "at", "said"),
    [
        ({"data": 1, "options": TYPE}, "/instruction", "is missing"),
        ({"instruction": "  ", "data": 1, "options": TYPE}, "/instruction", "a string that says what to do"),
        ({"instruction": 5, "data": 1, "options": TYPE}, "/instruction", "not an integer"),
        ({"instruction": "i", "options": TYPE}, "/data", "is missing, or undefined"),
        ({"instruction": "i", "data": 1}, "/options/type", "is missing"),
        ({"instruction": "i", "data": 1, "options": "string"}, "/options", "must be an object with `type`"),
        ({"instruction": "i", "data": 1, "options": {"types": "string"}}, "/options/types", "the option is type"),
        ({"instruction": "i", "data": 1, "options": {"type": "String"}}, "/options/type", 'mean "string"?'),
        ({"instruction": "i", "data": 1, "options": {"type": "integer"}}, "/options/type", 'mean "number"?'),
        (
            {"instruction": "i", "data": 1, "options": {"type": "date"}},
            "/options/type",
            'must be a known type: "string"',
        ),
        ({"instruction": "i", "data": 1, "options": {"type": {}}}, "/options/type", "not an empty object"),
        ({"instruction": "i", "data": 1, "options": {"type": []}}, "/options/type", "not a list of 0"),
        ({"instruction": "i", "data": 1, "options": {"type": ["string", "number"]}}, "/options/type", "a list of 2"),
        ({"instruction": "i", "data": 1, "options": {"type": {"a/b": None}}}, "/options/type/a~1b", "not null"),
        ({"instruction": "i", "data": 1, "options": {"type": deep(9)}}, "/options/type", "no deeper than 8 levels"),
        (
            {"instruction": "i", "data": 1, "options": {"type": {str(n): "number" for n in range(101)}}},
            "/options/type",
            "no more than 100 fields",
        ),
    ],
)
def test_wrong_arguments_of_ai_are_named_by_place(args: dict[str, Any], at: str, said: str) -> None:
    found = problems("ai", **args)
    assert found[0][0].startswith(at)
    assert said in found[0][1]


def test_eight_levels_are_not_too_deep_and_null_is_data() -> None:
    assert schema_of(deep(8))["type"] == "object"
    assert isinstance(judge_call("ai", {"instruction": "i", "data": None, "options": TYPE}), AiCall)
