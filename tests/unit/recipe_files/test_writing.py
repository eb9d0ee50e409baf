"""A recipe as the text of a file, for people and for editors."""

from __future__ import annotations

import pytest
import yaml

from vardy_worker.contracts.base import JsonObject, JsonValue
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.programs.syntax import is_javascript
from vardy_worker.recipe_files import read_recipe_file, recipe_file_name, recipe_file_text

PROGRAM = "async function run(params) {\n  return params.days;\n}\n"
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "days": {"type": "integer", "description": "At most: a year."},
        "status": {"enum": ["open", "no", "1e5", None]},
    },
    "required": ["days"],
    "additionalProperties": False,
    "allOf": [{"if": {"required": ["status"]}, "then": {}}],
}


def header_of(text: str) -> str:
    return text.removeprefix("/*---\n").partition("---*/\n")[0]


def with_schema(value: JsonValue) -> Recipe:
    return Recipe(name="payments", source=PROGRAM, params_schema={"const": value})


def test_a_recipe_is_written_for_people() -> None:
    recipe = Recipe(
        name="overdue-reminder",
        version=3,
        description="Reminds customers.\n\n  Of what is overdue.\n",
        source=PROGRAM,
        params_schema=SCHEMA,
        functions={"send_email": "9" * 8, "list_invoices": "ab12"},
        reviewed_by="lia",
        reviewed_at_ms=1_772_355_600_000,
    )
    assert recipe_file_text(recipe) == (
        """\
/*---
name: overdue-reminder
version: 3
description: |
  Reminds customers.

    Of what is overdue.
params_schema:
  type: object
  properties:
    days:
      type: integer
      description: "At most: a year."
    status:
      enum: [open, "no", "1e5", null]
  required: [days]
  additionalProperties: false
  allOf:
    - if:
        required: [status]
      then: {}
functions:
  list_invoices: ab12
  send_email: "99999999"
reviewed_by: lia
reviewed_at: "2026-03-01T09:00:00Z"
---*/
"""
        + PROGRAM
    )
    assert recipe_file_name(recipe.name) == "overdue-reminder.recipe.js"


def test_a_file_is_a_program_that_javascript_reads() -> None:
    text = recipe_file_text(with_schema("*/ alert() /* **/ */"))
    assert text.index("*/") == text.index("---*/") + 3
    assert is_javascript(text)


@pytest.mark.parametrize(
    "value",
    [
        *("no", "Yes", "null", "~", "", " a", "a ", "a: b", "a #b", "- a", "1", "1.5", "1e5", "0x1F", "1_000", "12:30"),
        *("2026-03-01", "=", "<<", "a\nb", "a\n", "\n", "a\r\nb", "a\tb", "\u2028", "\u202e", "\x00", "\x7f", "\ufeff"),
        *("😀", "\U000e0041", "*/", "*\\/", '"\\', "a\n  b*/", "a\n b \n", "a\n\n", " \n ", "x" * 5000, "---", "..."),
        *("a, b", "[a]", 1e22, 1e-7, -0.5, 10**40, [], {}, [[]], [{}], [[1, [2, {"a": []}]]], ["a, b", "no"], [1] * 60),
        *({"k" * 3000: 1}, {"no": 1, "": 2, "a b": 3, "$ref": "#/a", "*/": 4, "a: b": 5, "\n": 6}),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_any_value_is_read_back_as_it_was_by_this_and_by_other_readers(value: JsonValue) -> None:
    recipe = with_schema(value)
    text = recipe_file_text(recipe)
    assert read_recipe_file(text).recipe == recipe
    assert yaml.safe_load(header_of(text))["params_schema"]["const"] == value


def test_what_a_reader_cannot_see_is_escaped() -> None:
    text = recipe_file_text(with_schema("refund\u202etnemyap\u200b\U000e0041"))
    assert "\\u202Etnemyap\\u200B\\U000E0041" in text
    assert text.replace("\n", "").isprintable()
