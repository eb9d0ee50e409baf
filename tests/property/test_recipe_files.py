"""Any recipe, written as a file and read again, is the same recipe."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vardy_worker.contracts.envelope import Bounds, Envelope, FunctionEnvelope
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.recipe_files import read_recipe_file, recipe_file_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["no", "*/", "---*/", "1e5", "2026-03-01", "a: b", "a\nb", "a\n", "# a", "~", "/*---", "\r\n", "\u2028", "012"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)
SCHEMAS = st.dictionaries(TEXTS, JSON, max_size=5)
BOUNDS = st.none() | st.integers() | st.decimals(-(10**9), 10**9, places=4).map(str)
ENVELOPES = st.builds(
    Envelope,
    effects_max=st.none() | st.integers(1, 2**31),
    functions=st.dictionaries(
        TEXTS,
        st.builds(
            FunctionEnvelope,
            effects_max=st.integers(1, 2**31),
            arguments=st.dictionaries(TEXTS, st.builds(Bounds, min=BOUNDS, max=BOUNDS, sum_max=BOUNDS), max_size=2),
        ),
        max_size=2,
    ),
)
RECIPES = st.builds(
    Recipe,
    name=st.from_regex(r"[a-z][a-z0-9-]{0,62}", fullmatch=True),
    version=st.integers(1, 2**31),
    description=st.text(st.characters(exclude_categories=["Cs"]), max_size=2000) | TEXTS,
    source=TEXTS.filter(str.strip),
    params_schema=SCHEMAS,
    functions=st.dictionaries(TEXTS, TEXTS.filter(bool), max_size=3),
    judge=st.booleans(),
    envelope=st.none() | ENVELOPES,
    reviewed_by=TEXTS,
    reviewed_at_ms=st.integers(0, 253_402_300_799_999),
)
MANY = settings(max_examples=200, deadline=None)


@MANY
@given(RECIPES)
def test_a_recipe_comes_back_from_its_file(recipe: Recipe) -> None:
    text = recipe_file_text(recipe)
    read = read_recipe_file(text, file_name=f"{recipe.name}.recipe.js")
    assert read.recipe == recipe
    assert text.split("\n", read.program_line - 1)[-1] == recipe.source
    assert read_recipe_file(recipe_file_text(read.recipe)).recipe == recipe


@MANY
@given(JSON)
def test_other_readers_of_yaml_see_the_same_schema(value: Any) -> None:
    text = recipe_file_text(Recipe(name="a", source="x", params_schema={"const": value}))
    header = text.removeprefix("/*---\n").partition("\n---*/\n")[0]
    assert yaml.safe_load(header)["params_schema"] == {"const": value}


@MANY
@given(RECIPES, st.data())
def test_a_file_cut_or_changed_anywhere_is_read_or_refused_with_a_line(recipe: Recipe, data: st.DataObject) -> None:
    text = recipe_file_text(recipe)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    changed = text[:start] + data.draw(TEXTS) + text[end:]
    problems: list[dict[str, Any]] = []
    try:
        read_recipe_file(changed)
    except RequestError as error:
        problems = error.details["problems"]
    assert all(1 <= problem["line"] <= changed.count("\n") + 2 for problem in problems)
