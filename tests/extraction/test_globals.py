"""The list of globals that the checks go by is what the sandbox really has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_worker.programs.globals import ALLOWED_GLOBALS, MISSING_GLOBALS, MISSING_METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, Any]], Any]

PRESENT_ALL_THE_SAME = {
    "globalThis",  # refused as a whole, because names are computed on it
    "Function",  # a stand-in that throws and says what to do instead
    "Iterator",  # newer than the edition that programs are promised
    "atob",  # extras of the engine, without a capability: not promised, so not accepted
    "btoa",
    "queueMicrotask",
}


def _kinds(run_program: Run, names: list[str]) -> dict[str, str]:
    fields = ", ".join(f"{name}: typeof {name}" for name in names)
    ran = run_program(f"async function run(params) {{ return {{ {fields} }}; }}", {})
    assert ran.ended == "returned"
    return dict(ran.output)


def test_every_allowed_global_exists_in_the_sandbox(run_program: Run) -> None:
    kinds = _kinds(run_program, sorted(ALLOWED_GLOBALS - {"undefined"}))

    assert [name for name, kind in kinds.items() if kind == "undefined"] == []


def test_no_other_missing_global_exists_in_the_sandbox(run_program: Run) -> None:
    kinds = _kinds(run_program, sorted(set(MISSING_GLOBALS) - PRESENT_ALL_THE_SAME))

    assert {name: kind for name, kind in kinds.items() if kind != "undefined"} == {}


def test_methods_that_are_warned_about_throw_in_the_sandbox(run_program: Run) -> None:
    for name in MISSING_METHODS:
        ran = run_program(f"async function run(params) {{ return new Date().{name}(); }}", {})

        assert ran.ended.startswith("threw")
        assert "execution.missing" in ran.ended
