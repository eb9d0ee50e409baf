"""The place of an error is that of the name in its message, where the engine knows only the last call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vardy_worker.contracts.execution import SandboxOutcome, Threw
from vardy_worker.sandbox.places import Place, narrowed

SOURCE = """async function run(params) {
  const first = await echo({ a: 1 });
  const second = params.list;
  return second.deep;
}"""


def test_an_error_in_a_property_read_is_where_the_property_is(run: Callable[..., SandboxOutcome]) -> None:
    outcome = run(SOURCE)
    assert isinstance(outcome, Threw)
    assert (outcome.message, outcome.line, outcome.column) == ("cannot read property 'deep' of undefined", 4, 17)


def test_a_missing_variable_is_where_it_is_used(run: Callable[..., SandboxOutcome]) -> None:
    outcome = run(
        "async function run() {\n  const a = await echo({});\n  const b = [a];\n  return b.concat(nobody);\n}"
    )
    assert isinstance(outcome, Threw)
    assert (outcome.line, outcome.column) == (4, 19)


@pytest.mark.parametrize(
    ("message", "reported", "expected"),
    [
        ("cannot read property 'deep' of undefined", Place(1, 1), Place(4, 17)),
        ("cannot read property 'deep' of undefined", Place(5, 1), Place(5, 1)),
        ("cannot read property 'a' of null", Place(1, 1), Place(2, 30)),
        ("cannot read property 'second' of null", Place(1, 1), Place(1, 1)),
        ("params is not defined", Place(2, 1), Place(3, 18)),
        ("'params' is not defined", Place(2, 1), Place(3, 18)),
        ("`echo` does not exist here: because", Place(1, 1), Place(2, 23)),
        ("deep is not defined", Place(1, 1), Place(1, 1)),
        ("anything else", Place(3, 2), Place(3, 2)),
        ("deep", Place(0, 0), Place(0, 0)),
    ],
)
def test_a_name_that_stands_once_after_the_reported_place_is_the_place(
    message: str, reported: Place, expected: Place
) -> None:
    assert narrowed(SOURCE, reported, message) == expected
