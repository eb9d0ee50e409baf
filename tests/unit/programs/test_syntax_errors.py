from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("async function run(params) {\n  return 1\n", 2),
        ("async function run(params) {\n  const = 5;\n  return 1;\n}", 2),
        ("async function run(params) {\n  return [1, 2;\n}", 2),
        ("async function run(params) {\n  return 1;\n}\n}", 4),
        ("async function run(params) {\n  const a = 1;\n  return a a;\n}", 3),
        ("async function run(params) {\n  return 'it's';\n}", 2),
        ("async function run(params) {\n  const a = 1;\n  let a = 2;\n  return a;\n}", 3),
        ("async function run(params) {\n  return params.map(x => await x);\n}", 2),
        ("function run(params) {\n  return await list_customers();\n}", 2),
        ("async function run(params) { return 1; }\nawait list_customers();", 2),
        ("async function run(params) { return 1; }\nreturn 2;", 2),
        ("async function run(params) {\n  break;\n}", 2),
        ("async function run(params) {\n  try { f(); } catch (e) {\n    let e = 1;\n  }\n}", 3),
        ("async function run(params) {\n  for (const x of []) { continue nowhere; }\n  return 1;\n}", 2),
        ("async function run(params) {\n  [1].forEach(x => { break; });\n  return 1;\n}", 2),
        ("async function run(params) {\n  for (;;) { class A { static { break; } } }\n}", 2),
        ("async function run(params) {\n  return <b>1</b>;\n}", 2),
        ("async function run(params) {\n  const x = () => { yield 1; };\n  return 1;\n}", 2),
    ],
)
def test_a_syntax_error_is_found_in_its_line(findings: Findings, source: str, line: int) -> None:
    found = [finding for finding in findings(source) if finding.code == "program.syntax"]

    assert found
    assert found[0].line == line


def test_a_bracket_that_is_never_closed_is_named(findings: Findings) -> None:
    found = findings("async function run(params) {\n  if (params.x) {\n    return 1;\n}")

    assert found[0].code == "program.syntax"
    assert "line 1 is never closed" in found[0].hint


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("return params.rows.map((row) => row.total\n}", "The `(` in line 2 is never closed."),
        ("return [params.a, params.b;\n}", "The `[` in line 2 is never closed."),
        ("return 1;\n}\n}", "The `}` in line 4 closes nothing."),
        ("return params.a);\n}", "The `)` in line 2 closes nothing."),
    ],
)
def test_a_bracket_is_held_against_the_one_that_would_close_it(findings: Findings, body: str, hint: str) -> None:
    found = findings(f"async function run(params) {{\n{body}")

    assert [finding.hint for finding in found] == [hint] * len(found)
    assert found[0].line > 1


def test_typescript_is_named_as_such(findings: Findings) -> None:
    (finding,) = findings("async function run(params: any) { return 1; }")

    assert finding.code == "program.typescript"
    assert (finding.line, finding.column) == (1, 26)


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("namespace A { export const b: number = 1 }\nasync function run(params) { return A.b; }", "namespace"),
        ("enum A { B = 'x'.length }\nasync function run(params) { return A.B; }", "computed"),
        ("class A { constructor(private x: number) {} }\nasync function run(params) { return new A(1); }", "propert"),
    ],
)
def test_typescript_without_a_plain_form_is_refused_with_the_reason(findings: Findings, source: str, word: str) -> None:
    (finding,) = findings(source)

    assert (finding.code, finding.line) == ("program.typescript", 1)
    assert word in finding.message
    assert finding.hint


def test_a_program_much_deeper_than_people_write_is_checked(findings: Findings) -> None:
    deep = "(" * 1_000 + "1" + ")" * 1_000
    chain = " + ".join(["params.x"] * 1_500)
    conditions = " && ".join(["params.x"] * 1_500)
    branches = "".join(f"if (params.x === {n}) return {n}; else " for n in range(400))
    ternaries = "".join(f"params.x === {n} ? {n} : " for n in range(600))
    body = f"const a = {deep}; const b = {chain}; const c = {conditions};"
    source = (
        f"async function run(params) {{ {body} {branches} return await get_customer({{customer_id: {ternaries} 0}}); }}"
    )

    assert [finding.code for finding in findings(source)] == []


@pytest.mark.parametrize(
    "nested",
    [
        "(" * 3_000 + "1" + ")" * 3_000,
        "1 + " * 3_000 + "1",
        "await " * 3_000 + "1",
        "params.x ? 1 : " * 3_000 + "2",
        "`${" * 3_000 + "1" + "}`" * 3_000,
        "() => {{" * 1_500 + "}}" * 1_500,
    ],
    ids=["parentheses", "sum", "await", "choices", "templates", "blocks"],
)
def test_a_program_that_is_nested_too_deeply_is_one_finding_at_its_place(findings: Findings, nested: str) -> None:
    (finding,) = findings(f"async function run(params) {{\n  return {nested};\n}}")

    assert (finding.code, finding.line) == ("program.syntax", 2)
    assert "2000 levels" in finding.message
    assert finding.hint


def test_what_is_missing_is_named_in_words(findings: Findings) -> None:
    (operand,) = findings("async function run(params) {\n  return 1 +;\n}")
    (bracket, *_) = findings("async function run(params) {\n  const a = {; return 1;\n}")

    assert operand.message == "A name or value is missing here."
    assert bracket.message == "`}` is missing here."
