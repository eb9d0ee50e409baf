"""docs/reliability.md names tests that exist, settings that exist, and every file of fault tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vardy_worker.contracts.limits import Limits
from vardy_worker.settings import Settings

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
PROMISES = TEXT.partition("## When something fails")[2].partition("## What can be lost")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PROMISES.splitlines()
    if line.startswith("| ") and not line.startswith(("| **", "| what fails"))
]
TESTS = {
    name
    for file in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:async )?(?:def )?(test_\w+)(?:\(| = )", file.read_text(encoding="utf-8"), re.MULTILINE)
}


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_each_promise_is_shown_by_tests_that_exist(row: list[str]) -> None:
    what, happens, _needs, shown = row
    assert what
    assert happens
    names = re.findall(r"`(\w+)`", shown)
    assert names
    assert [name for name in names if name not in TESTS] == []


def test_every_file_of_fault_tests_is_named_and_exists() -> None:
    named = set(re.findall(r"^\| `(tests/\S+\.py)` \|", TEXT, re.MULTILINE))
    assert {file for file in named if not (ROOT / file).is_file()} == set()
    assert {f"tests/faults/{file.name}" for file in (ROOT / "tests" / "faults").glob("test_*.py")} <= named


def test_every_setting_that_is_named_exists() -> None:
    known = {f"VARDY_{name.upper()}" for name in (*Settings.model_fields, *Limits.model_fields)}
    of_tests = set(re.findall(r"VARDY_(?:TEST|FAULT)_\w+", TEXT))
    named = set(re.findall(r"VARDY_[A-Z_]+", TEXT))
    assert named - of_tests - known == set()
    tests = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "faults").glob("test_*.py"))
    assert {name for name in of_tests if f'"{name}"' not in tests} == set()
