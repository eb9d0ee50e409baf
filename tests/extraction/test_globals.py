"""The list of globals that the checks go by is what the sandbox really has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.extraction.conftest import ANSWERS
from vardy_worker.programs.globals import ALLOWED_GLOBALS, MISSING_GLOBALS, MISSING_METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, Any]], Any]

REFUSED_ALL_THE_SAME = {
    "globalThis",  # refused as a whole, because names are computed on it
    "Function",  # a stand-in that throws and says what to do instead
}


def test_the_globals_of_the_sandbox_are_those_that_the_checks_accept(run_program: Run) -> None:
    ran = run_program("async function run(params) { return Object.getOwnPropertyNames(globalThis); }", {})

    assert set(ran.output) - set(ANSWERS) - {"run"} == ALLOWED_GLOBALS | REFUSED_ALL_THE_SAME
    assert ALLOWED_GLOBALS.isdisjoint(MISSING_GLOBALS)


@pytest.mark.parametrize("name", sorted(set(MISSING_GLOBALS) - REFUSED_ALL_THE_SAME))
def test_the_sandbox_says_of_a_missing_global_what_the_checks_say(run_program: Run, name: str) -> None:
    ran = run_program(f"async function run(params) {{ if (typeof {name} === 'undefined') {name}.x; return 1; }}", {})

    assert ran.ended == f"threw: `{name}` does not exist here: {MISSING_GLOBALS[name]}execution.missing"


def test_methods_that_are_warned_about_throw_in_the_sandbox(run_program: Run) -> None:
    for name in MISSING_METHODS:
        ran = run_program(f"async function run(params) {{ return new Date().{name}(); }}", {})

        assert ran.ended.startswith("threw")
        assert "execution.missing" in ran.ended


def test_the_stand_in_for_function_says_what_the_checks_say(run_program: Run) -> None:
    ran = run_program("async function run(params) { return (() => 1)['con' + 'structor']('1'); }", {})

    assert ran.ended == f"threw: `Function` does not exist here: {MISSING_GLOBALS['Function']}execution.missing"
