"""Helpers in fences of their own are joined to the program; illustrations are not."""

from __future__ import annotations

import pytest

from vardy_worker.contracts.program import Extracted
from vardy_worker.programs import extract

LIMIT = 65_536
RUN = "async function run(params) {\n  return sum(await list_invoices({ customer_id: 7 }));\n}"


def _source(*fences: str, functions: tuple[str, ...] = ()) -> str:
    text = "\n\nThen\n\n".join(f"```js\n{code}\n```" for code in fences)
    result = extract(text, program_bytes_max=LIMIT, functions=functions)
    assert isinstance(result, Extracted)
    return result.source


@pytest.mark.parametrize(
    "helper",
    [
        "function sum(rows) { return rows.length; }",
        "async function sum(rows) { return rows.length; }",
        "const sum = (rows) => rows.length;",
        "export const sum = (rows) => rows.length;",
        "export function sum(rows) { return rows.length; }",
        "class Sum {}\nconst sum = () => new Sum();",
        "const sum = (rows) => rows.length;\nconsole.log(sum([1, 2]));",
        "const sum = (rows) => rows.length;\nmodule.exports = { sum };",
        "const { sum } = { sum: (rows) => rows.length };",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_helper_in_a_fence_of_its_own_is_joined_without_what_it_does(helper: str, first: bool) -> None:
    source = _source(helper, RUN) if first else _source(RUN, helper)

    assert "sum =" in source or "function sum" in source or "{ sum }" in source
    assert "console" not in source
    assert "export" not in source


@pytest.mark.parametrize(
    "other",
    [
        "const sum = () => 1;\nasync function run(params) { return sum(); }",
        "const sum = () => 1;\nexport default { run: async () => sum() };",
        "const average = (rows) => rows.length;",
        "const sum = (rows",
        "const params = { customer_id: 7 };",
        "const rows = await list_invoices({ customer_id: 7 });",
    ],
)
def test_a_fence_that_is_no_helper_of_the_program_is_not_joined(other: str) -> None:
    assert _source(other, RUN) == RUN + "\n"


def test_a_fence_that_stands_in_for_a_registered_function_is_not_joined() -> None:
    mock = "async function list_invoices({ customer_id }) {\n  return [];\n}"
    run = RUN.replace("sum(", "(")

    assert "return []" in _source(mock, run)
    assert _source(mock, run, functions=("list_invoices",)) == run + "\n"


def test_a_helper_that_would_declare_a_name_again_is_not_joined() -> None:
    clashing = "const rate = 1;\nconst sum = (rows) => rows.length * rate;"
    run = f"const rate = 2;\n{RUN}"

    assert _source(clashing, run) == run + "\n"


def test_of_two_definitions_the_last_is_taken() -> None:
    source = _source("const sum = () => 1;", "const sum = () => 2;", RUN)

    assert "=> 2" in source
    assert "=> 1" not in source


def test_lines_of_joined_fences_lead_back_to_the_text() -> None:
    text = f"Helper:\n```js\n\nconst sum = (rows) => rows.length;\n```\nProgram:\n```js\n{RUN}\n```"
    result = extract(text, program_bytes_max=LIMIT)

    assert isinstance(result, Extracted)
    rows = {line.strip(): row for row, line in enumerate(result.source.split("\n"), start=1)}
    assert result.model_line(rows["const sum = (rows) => rows.length;"]) == 4
    assert result.model_line(rows["async function run(params) {"]) == 8
