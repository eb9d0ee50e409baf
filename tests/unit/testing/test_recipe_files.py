"""Recipes' files in the kit, so that a repository tests the recipes that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vardy_worker import Functions
from vardy_worker.contracts.errors import RequestError, SettingsError
from vardy_worker.contracts.status import Status
from vardy_worker.testing import Harness

if TYPE_CHECKING:
    from pathlib import Path

functions = Functions()

TEXT = """\
/*---
name: doubled
description: Twice what it is.
params_schema:
  type: object
  properties: {number: {type: integer}}
  required: [number]
envelope:
  functions:
    note: {effects_max: 1, arguments: {number: {max: 10}}}
reviewed_by: lea
---*/
async function run(params) {
  await note({number: params.number * 2});
  return params.number * 2;
}
"""
RULES = """\
default: block
rules:
  - name: reviewed
    on: [note]
    when: recipe.within_envelope
    then: allow
"""


@functions.write
def note(number: int) -> None:
    """Note a number."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "doubled.recipe.js"
    path.write_text(TEXT)
    return path


def test_a_file_is_loaded_and_run_within_its_envelope(file: Path) -> None:
    with Harness(functions, rules=RULES) as harness:
        recipe = harness.load_recipe(file)
        assert (recipe.name, recipe.version, recipe.reviewed_by) == ("doubled", 1, "lea")
        assert recipe.functions.keys() == {"note"}
        inside = harness.run(recipe="doubled", params={"number": 5})
        assert (inside.status, inside.output) == (Status.SUCCESS, 10)
        assert harness.run(recipe="doubled", params={"number": 6}).status is Status.POLICY_BLOCKED


def test_its_program_is_kept_byte_for_byte(file: Path) -> None:
    file.write_bytes(TEXT.encode() + b"// \r\n")
    with Harness(functions) as harness:
        assert harness.load_recipe(file).source.endswith("// \r\n")


def test_what_is_wrong_is_told_at_its_line(file: Path) -> None:
    file.write_text(TEXT.replace("await note(", "await noted(").replace("note: {eff", "notes: {eff"))
    with Harness(functions) as harness, pytest.raises(RequestError) as raised:
        harness.load_recipe(file)
    assert raised.value.code == "recipe.invalid"
    assert {problem["line"] for problem in raised.value.details["problems"]} == {10, 14}
    assert f"{file}:14:9: " in raised.value.message
    file.write_text(TEXT.replace("name: doubled", "name: doubled\njugde: true"))
    with Harness(functions) as harness, pytest.raises(RequestError, match=r"doubled\.recipe\.js:3:1: .*`judge`"):
        harness.load_recipe(file)


def test_a_file_reviewed_against_another_version_of_a_function_is_refused(file: Path) -> None:
    file.write_text(TEXT.replace("reviewed_by: lea", "functions: {note: v0}\nreviewed_by: lea"))
    with Harness(functions) as harness, pytest.raises(RequestError, match=r"doubled\.recipe\.js:11:13: .*v0"):
        harness.load_recipe(file)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with Harness(functions) as harness, pytest.raises(SettingsError, match="cannot be read"):
        harness.load_recipe(str(tmp_path / "none.recipe.js"))
