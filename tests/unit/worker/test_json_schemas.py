from typing import Any

import pytest
from referencing.exceptions import Unresolvable

from vardy_worker.contracts.recipe import Recipe
from vardy_worker.json_schemas import pattern_problem, schema_validator
from vardy_worker.pipeline.params import bad_params

LONG = "a" * 100_000


def test_a_pattern_takes_time_linear_to_the_text() -> None:
    validator = schema_validator({"type": "object", "properties": {"name": {"type": "string", "pattern": "^(a+)+$"}}})
    assert validator.is_valid({"name": LONG})
    assert not validator.is_valid({"name": LONG + "!"})


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        (r"^\d{4}-\d{2}$", "2026-02", True),
        ("^ä$", "ä", True),
        ("x", "", False),
    ],
)
def test_a_pattern_is_looked_for_anywhere_in_a_text(pattern: str, text: str, *, fits: bool) -> None:
    assert schema_validator({"pattern": pattern}).is_valid(text) is fits


@pytest.mark.filterwarnings("ignore:Automatically retrieving remote references")
def test_what_a_schema_refers_to_elsewhere_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda request, **_: fetched.append(request))
    with pytest.raises(Unresolvable):
        schema_validator({"$ref": "http://127.0.0.1:1/type.json"}).is_valid("a")
    assert fetched == []


@pytest.mark.parametrize("other", [7, None, [], {}])
def test_a_pattern_says_nothing_of_what_is_no_text(other: Any) -> None:
    assert schema_validator({"pattern": "^a$"}).is_valid(other)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "["},
        {"pattern": "(?=a)b"},
        {"pattern": r"(a)\1"},
        {"pattern": "a{1000}{1000}"},
        {"patternProperties": {"^x": {}}},
        {"properties": {"a": {"anyOf": [{"type": "null"}, {"items": {"pattern": "("}}]}}},
        {"$defs": {"pattern": {"pattern": "("}}},
    ],
    ids=str,
)
def test_a_pattern_that_cannot_be_used_is_found_wherever_it_is(schema: dict[str, Any]) -> None:
    assert pattern_problem(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(a+)+$"},
        {"properties": {"pattern": {"type": "string"}, "patternProperties": {"type": "object"}}},
        {"enum": [{"pattern": "("}], "default": {"patternProperties": {}}, "const": {"pattern": "["}},
    ],
    ids=str,
)
def test_names_and_data_that_look_like_patterns_are_none(schema: dict[str, Any]) -> None:
    assert pattern_problem(schema) == ""


def test_a_schema_that_refers_to_itself_without_end_is_an_error_that_names_the_recipe() -> None:
    endless = Recipe(
        name="endless",
        source="async function run() {}",
        params_schema={"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
        reviewed_by="lea",
        reviewed_at_ms=0,
    )
    assert bad_params(endless, {}) is None
    error = bad_params(endless, {"a": 1})
    assert error is not None
    assert (error.code, error.details["recipe"]) == ("validation.params", "endless")
