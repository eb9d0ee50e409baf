"""Programs that have texts judged, in the kit."""

from __future__ import annotations

from typing import Any

import pytest

from vardy_worker import Functions
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.testing import AiQuestion, ClassifyQuestion, Harness, ScriptedJudge, Status

SORT = "async function run(params) { return await classify(params.texts, ['complaint', 'praise']); }"
ASK = "async function run(params) { return await ai('Which city?', params, {type: {city: 'string'}}); }"
TEXTS = {"texts": ["It leaks.", "Thanks!", "It leaks."]}


@pytest.fixture
def functions() -> Functions:
    functions = Functions()

    @functions.read
    def list_texts() -> list[str]:
        """Texts."""
        return ["It leaks.", "Thanks!"]

    return functions


def label(text: str, asked: ClassifyQuestion) -> str:
    assert asked.labels == ("complaint", "praise")
    return "complaint" if "leak" in text else "unknown"


def test_a_test_labels_texts_by_a_function_of_its_own(functions: Functions) -> None:
    judge = ScriptedJudge(classify=label)
    with Harness(functions, judge=judge) as harness:
        job = harness.run(SORT, params=TEXTS, judge=True)
    assert job.output == {
        "labels": ["complaint", "unknown", "complaint"],
        "counts": {"complaint": 2, "praise": 0, "unknown": 1},
    }
    assert [question.kind for question in judge.questions] == ["classify"]
    assert job.usage.judge.calls == 0


def test_a_test_gives_values_by_a_function_of_its_own(functions: Functions) -> None:
    def value(asked: AiQuestion) -> Any:
        return {"city": asked.data["town"].upper()}

    with Harness(functions, judge=ScriptedJudge(ai=value)) as harness:
        assert harness.run(ASK, params={"town": "Faro"}, judge=True).output == {"city": "FARO"}


def test_recipes_and_explores_have_it_too(functions: Functions) -> None:
    reads = "async function run() { return (await classify(await list_texts(), ['complaint', 'praise'])).counts; }"
    with Harness(functions, judge=ScriptedJudge(classify=label)) as harness:
        harness.save_recipe("sorted", SORT, judge=True)
        assert harness.run(recipe="sorted", params=TEXTS).status is Status.SUCCESS
        job = harness.explore("what do they say?", [reads, "One complains."], judge=True)
        assert job.rounds[0].summary == {"complaint": 1, "praise": 0, "unknown": 1}
        assert "declare function classify(" in harness.prompt("what do they say?", judge=True)


def test_without_a_judge_a_job_that_asks_for_one_ends_as_in_production(functions: Functions) -> None:
    with Harness(functions) as harness:
        job = harness.run(SORT, params=TEXTS, judge=True)
        assert job.error is not None
        assert job.error.code == "execution.judge_not_configured"
        off = harness.run(SORT, params=TEXTS)
        assert off.status is Status.VALIDATION_BLOCKED


@pytest.mark.parametrize(
    ("judge", "program", "said"),
    [
        (ScriptedJudge(), SORT, "give the ScriptedJudge a function"),
        (ScriptedJudge(), ASK, "give the ScriptedJudge a function"),
        (
            ScriptedJudge(classify=lambda _, __: "spam"),
            SORT,
            "labelled a text 'spam'; the labels are: complaint, praise",
        ),
        (ScriptedJudge(ai=lambda _: {"town": "Faro"}), ASK, "not of the type"),
    ],
)
def test_a_script_that_answers_what_no_judge_could_fails_the_test(
    functions: Functions, judge: ScriptedJudge, program: str, said: str
) -> None:
    with Harness(functions, judge=judge) as harness:
        with pytest.raises(SettingsError, match=said):
            harness.run(program, params=TEXTS, judge=True)
        harness.forward(3600)
        assert harness.run("async function run() { return 1; }").output == 1, "other jobs go on"


def test_what_a_function_of_the_test_raises_reaches_the_test(functions: Functions) -> None:
    def broken(_: str, __: ClassifyQuestion) -> str:
        raise KeyError("mine")

    with Harness(functions, judge=ScriptedJudge(classify=broken)) as harness:
        with pytest.raises(KeyError, match="mine"):
            harness.run(SORT, params=TEXTS, judge=True)
        assert harness.run("async function run() { return 1; }").output == 1


def test_labels_with_names_of_prototypes_are_counted_and_pollute_nothing(functions: Functions) -> None:
    program = """async function run(params) {
      const { labels, counts } = await classify(params.texts, ["__proto__", "constructor", "hasOwnProperty"]);
      const names = Object.getOwnPropertyNames(counts);
      const own = (name) => Object.getOwnPropertyDescriptor(counts, name).value;
      return [labels, names, names.map(own), typeof {}.hasOwnProperty];
    }"""
    judge = ScriptedJudge(classify=lambda text, _: "__proto__" if text == "a" else "constructor")
    with Harness(functions, judge=judge) as harness:
        job = harness.run(program, params={"texts": ["a", "b", "a"]}, judge=True)
    assert job.output == [
        ["__proto__", "constructor", "__proto__"],
        ["__proto__", "constructor", "hasOwnProperty", "unknown"],
        [2, 1, 0, 0],
        "function",
    ]


def test_large_numbers_of_ai_reach_the_program_with_all_their_digits(functions: Functions) -> None:
    program = """async function run(params) {
      const found = await ai("Which id?", params, { type: { id: "number", ids: ["number"] } });
      return [typeof found.id, String(found.id + 1n), found.ids.length];
    }"""
    judge = ScriptedJudge(ai=lambda _: {"id": 2**60, "ids": [1, 2**61]})
    with Harness(functions, judge=judge) as harness:
        assert harness.run(program, judge=True).output == ["bigint", str(2**60 + 1), 2]


def test_a_question_that_nobody_waits_for_is_not_asked(functions: Functions) -> None:
    program = "async function run() { const f = classify; f(['x'], ['complaint', 'praise']); return 1; }"
    judge = ScriptedJudge(classify=label)
    with Harness(functions, judge=judge) as harness:
        job = harness.run(program, judge=True)
    assert job.error is not None
    assert job.error.code in {"execution.unawaited_call", "validation.program"}
    assert judge.questions == []
