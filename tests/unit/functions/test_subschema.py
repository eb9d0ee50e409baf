from __future__ import annotations

from typing import Any

import pytest

from vardy_worker.functions.subschema import ANY, alternatives, at_pointer, expected, kinds

ROOT = {
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            },
        },
        "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "string"}]},
    },
    "type": "object",
    "properties": {
        "node": {"$ref": "#/$defs/Node"},
        "loop": {"$ref": "#/$defs/Loop"},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "maxItems": 2},
        "list": {"type": "array", "items": {"type": "number"}},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "free": {"type": "object"},
        "open": {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": True},
        "anything": {},
        "nothing": {"type": "array", "items": False},
    },
}


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("/node/value", "an integer"),
        ("/node/next/next/next/value", "an integer"),
        ("/node/next", "an object with value, next, or null"),
        ("/loop", "a string"),
        ("/pair/0", "an integer"),
        ("/pair/1", "a string"),
        ("/pair/2", "nothing"),
        ("/list/17", "a number"),
        ("/list/x", "nothing"),
        ("/list/01", "nothing"),
        ("/list/\u00b2", "nothing"),
        ("/list/" + "9" * 5000, "nothing"),
        ("/map/any~1key", "a boolean"),
        ("/free/x/y/z", "any value"),
        ("/open/a", "null"),
        ("/open/b", "any value"),
        ("/anything/at/all", "any value"),
        ("/nothing/0", "nothing"),
        ("/node/other", "nothing"),
        ("/node/value/deeper", "nothing"),
        ("/unknown", "nothing"),
    ],
)
def test_a_place_of_a_schema_is_found_through_references_unions_lists_and_mappings(pointer: str, words: str) -> None:
    assert expected(at_pointer(ROOT, pointer)) == words


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "integer"}, {"integer"}),
        ({"type": ["integer", "null"]}, {"integer", "null"}),
        ({"const": True}, {"boolean"}),
        ({"enum": [1, 1.5, "x", None, [1], {"a": 1}]}, {"integer", "number", "string", "null", "array", "object"}),
        ({"properties": {}}, {"object"}),
        ({"description": "anything"}, {ANY}),
    ],
)
def test_the_kinds_of_a_schema_are_what_it_says_or_any(schema: dict[str, Any], kind: set[str]) -> None:
    assert kinds(schema) == kind


def test_a_schema_that_allows_everything_or_nothing_may_be_a_boolean() -> None:
    assert expected(alternatives(True, {})) == "any value"  # noqa: FBT003 - a schema
    assert expected(alternatives(False, {})) == "nothing"  # noqa: FBT003 - a schema


def test_a_long_list_of_values_is_cut() -> None:
    words = expected(alternatives({"enum": [f"v{n}" for n in range(50)]}, {}))
    assert words.startswith('"v0", "v1"')
    assert words.endswith('"v19", or one of 30 more')
