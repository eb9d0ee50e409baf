"""Recipes as they are made of what somebody wrote; the checks of programs have tests of their own."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest

from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.programs.recipes import RecipeDraft, make_recipe

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject


def refusal(**fields: Any) -> RequestError:
    draft = RecipeDraft(**{"name": "answer", "source": "async function run() { return 42; }", **fields})
    with pytest.raises(RequestError) as refused:
        make_recipe(draft, Catalogue(), program_bytes_max=1000, reviewed_by="lea", now_ms=0)
    return refused.value


def nested(levels: int) -> JsonObject:
    inner: JsonObject = {"type": "object"}
    return reduce(lambda schema, _: {"type": "object", "not": schema}, range(levels), inner)


def test_each_field_of_the_wrong_form_is_named() -> None:
    found = refusal(name="Answer", description="x" * 2001)
    assert found.code == "request.invalid"
    assert {problem["at"] for problem in found.details["problems"]} == {"/name", "/description"}
    assert "small letter" in str(refusal(name="Answer"))
    assert "`description`" in str(refusal(description="x" * 2001))


def test_a_schema_of_too_many_levels_is_refused_like_any_other() -> None:
    found = refusal(params_schema=nested(1000))
    assert found.code == "recipe.invalid"
    assert found.details["problems"] == [{"at": "/params_schema", "message": "params_schema has too many levels."}]


def test_a_pinned_name_is_told_by_a_pointer_that_leads_to_it() -> None:
    found = refusal(functions={"a/b~c": "1"})
    assert found.details["problems"][0]["at"] == "/functions/a~1b~0c"


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\r"])
@pytest.mark.parametrize("quote", ["", "'", "`"])
def test_no_code_hides_in_what_looks_like_a_comment(end: str, quote: str) -> None:
    source = f"async function run() {{\r\n  // all {quote}was reviewed{end}return 1; // {quote}\n  return 2;\n}}"
    (problem,) = refusal(source=source).details["problems"]
    assert (problem["line"], problem["column"], problem["code"]) == (2, 22 + len(quote), "program.syntax")
    assert f"U+{ord(end):04X} stands here" in problem["message"]


@pytest.mark.parametrize("body", ["return '\\u2028';", "\r\n// one\r\nreturn 1;\r\n", "return 'é';"])
def test_escapes_and_the_line_ends_of_windows_stay_as_they_are(body: str) -> None:
    source = f"async function run() {{ {body} }}"
    draft = RecipeDraft(name="answer", source=source)
    recipe, _ = make_recipe(draft, Catalogue(), program_bytes_max=1000, reviewed_by="lea", now_ms=0)
    assert recipe.source == source
