"""The checks find exactly the syntax errors that the engine finds: every kind of early error, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vardy_worker.programs import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import Catalogue

    Run = Callable[[str, dict[str, Any]], Any]

_FOLDER = Path(__file__).parent / "language"


def _bodies(name: str) -> list[str]:
    """The parts of a file behind its first line, each after a line of two slashes."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    return [part.removesuffix("\n") for part in text.split("//\n")[1:]]


VALID = _bodies("valid.txt")
INVALID = _bodies("invalid.txt")


def _loads(run_program: Run, body: str) -> bool:
    """Whether the engine accepts a body; it is never called."""
    inner = f"async function inner() {{\n{body}\n}}"
    return bool(run_program(f"async function run(params) {{ return 1;\n{inner}\n}}", {}).ended == "returned")


@pytest.mark.parametrize("body", VALID)
def test_what_the_engine_accepts_has_no_finding(body: str, catalogue: Catalogue, run_program: Run) -> None:
    findings = check(f"async function run(params) {{\n{body}\n}}", catalogue)

    assert [finding for finding in findings if finding.severity == "error"] == []
    assert _loads(run_program, body)


@pytest.mark.parametrize("body", INVALID)
def test_what_the_engine_refuses_is_a_finding(body: str, catalogue: Catalogue, run_program: Run) -> None:
    findings = check(f"async function run(params) {{\n{body}\n}}", catalogue)

    found = [finding for finding in findings if finding.code in {"program.syntax", "program.typescript"}]
    assert found
    assert found[0].message
    assert not _loads(run_program, body)


def test_the_language_is_covered_widely() -> None:
    assert len(VALID) >= 130
    assert len(INVALID) >= 300
