from typing import Any

import pytest
from referencing.exceptions import Unresolvable

from vardy_worker.contracts.recipe import Recipe
from vardy_worker.json_schemas import EndlessReferencesError, pattern_problem, schema_validator
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


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^(a+)+$"}}},
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "properties": {"a": {"pattern": "^(a+)+$"}, "inner": {"$ref": "#"}},
        },
    ],
    ids=["a part of another version", "the whole again"],
)
def test_a_pattern_stays_linear_whatever_version_a_part_of_the_schema_names(schema: dict[str, Any]) -> None:
    value = {"a": LONG + "!"}
    assert not schema_validator(schema).is_valid({**value, "inner": value})
    assert not schema_validator(schema).is_valid({"a": "", "inner": value} if "$schema" in schema else value)


def test_names_and_data_that_look_like_a_version_stay() -> None:
    schema = {
        "properties": {"$schema": {"type": "string"}, "const": {"$schema": "urn:a", "type": "integer"}},
        "const": {"$schema": "urn:b", "const": 1},
    }
    assert schema_validator(schema).is_valid({"$schema": "urn:b", "const": 1})
    assert not schema_validator(schema).is_valid({"const": 1})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/0", "$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"items": {"$ref": "#/$defs/a"}}] * 2}}},
    ],
    ids=["in one place", "down the value"],
)
def test_a_schema_that_doubles_with_every_reference_is_given_up(schema: dict[str, Any]) -> None:
    schema["$defs"]["40"] = {}
    value: Any = 1
    for _ in range(40):
        value = [value]
    with pytest.raises(EndlessReferencesError):
        schema_validator(schema).is_valid(value)


def test_references_are_counted_for_each_value_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vardy_worker.json_schemas.REFERENCES_MAX", 100)
    schema = {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "integer"}}}
    for _ in range(3):
        assert schema_validator(schema).is_valid([1] * 100)
    with pytest.raises(EndlessReferencesError):
        schema_validator(schema).is_valid([1] * 101)


@pytest.mark.parametrize(
    ("items", "differ"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False], True),
        ([{"a": 1, "b": [2]}, {"b": [2], "a": 1}], False),
        ([{"a": 1}, {"a": True}], True),
        ([[1, 2], [2, 1]], True),
        ([[], {}, None, "", 0], True),
        ([["a", 1], {"a": 1}], True),
        (["1", 1], True),
        ([2**60, 2**60 + 1], True),
        ([None, None], False),
    ],
    ids=str,
)
def test_items_differ_as_json_values_do(items: list[Any], *, differ: bool) -> None:
    assert schema_validator({"uniqueItems": True}).is_valid(items) is differ
    assert schema_validator({"uniqueItems": False}).is_valid(items)


def test_many_items_that_must_differ_take_no_time_squared() -> None:
    items = [{"payment": number} for number in range(50_000)]
    assert schema_validator({"uniqueItems": True}).is_valid(items)
    assert not schema_validator({"uniqueItems": True}).is_valid([*items, {"payment": 0}])


@pytest.mark.parametrize(
    ("number", "divisor", "fits"),
    [
        (19.99, 0.01, True),
        (1.1, 0.1, True),
        (0.075, 0.01, False),
        (19.995, 0.01, False),
        (7, 2, False),
        (8, 2.0, True),
        (2**60 + 1, 2, False),
        (10**400, 0.5, True),
        (1e308, 1e-300, True),
        (float("inf"), 1, False),
        (0, 0.3, True),
        (-0.3, 0.1, True),
        (True, 2, True),
        ("7", 2, True),
    ],
)
def test_a_multiple_is_one_of_the_decimals_as_they_are_written(number: Any, divisor: float, *, fits: bool) -> None:
    assert schema_validator({"multipleOf": divisor}).is_valid(number) is fits


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
