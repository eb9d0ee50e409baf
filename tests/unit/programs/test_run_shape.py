from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]


@pytest.mark.parametrize(
    "source",
    [
        "async function run(params) { return 1; }",
        "async function run({ days, region = 'x' }) { return [days, region]; }",
        "async function run(params = {}) { return params; }",
        "async function run() { return 1; }",
        "const help = () => 1;\nasync function run(params) { return help(); }",
        "async function run(params) { return help(); }\nfunction help() { return LIMIT; }\nconst LIMIT = 3;",
        "async function main(params) { return 1; }\nasync function run(params) { return await main(params); }",
        "async function run(params) { const run = 1; return run; }",
        "const run = async (params) => params.x;",
    ],
)
def test_one_run_in_any_style_passes(findings: Findings, source: str) -> None:
    assert findings(source) == ()


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", "program.no_run"),
        ("async function main(params) { return 1; }", "program.no_run"),
        ("const run = 5;", "program.no_run"),
        ("function outer() { async function run(params) { return 1; } return run; }", "program.no_run"),
        ("async function run(p) { return 1; }\nasync function run(p) { return 2; }", "program.several_runs"),
        ("async function* run(params) { yield 1; }", "program.run_shape"),
        ("async function run(customerId, days) { return customerId + days; }", "program.run_shape"),
        ("async function run(params) { return 1; }\nrun({});", "program.run_called"),
        ("async function run(params) { return 1; }\nconst rows = list_customers();", "program.top_level_call"),
        ("export async function run(params) { return 1; }", "program.forbidden"),
    ],
)
def test_a_program_without_exactly_one_usable_run_is_blocked(findings: Findings, source: str, code: str) -> None:
    assert code in [finding.code for finding in findings(source)]


def test_a_call_of_run_is_one_finding_that_says_to_leave_it_out(findings: Findings) -> None:
    (finding,) = findings("async function run(params) { return await list_customers(); }\nrun({});")

    assert (finding.code, finding.line) == ("program.run_called", 2)


@pytest.mark.parametrize(
    ("body", "warned"),
    [
        ("return 1;", False),
        ("throw new Error('x');", False),
        ("if (params.x) return 1; else return 2;", False),
        ("if (params.x) { return 1; } else if (params.y) { return 2; } else { throw 3; }", False),
        ("try { return 1; } catch (e) { return 2; }", False),
        ("try { console.log(1); } finally { return 2; }", False),
        ("switch (params.x) { case 1: return 1; default: return 2; }", False),
        ("switch (params.x) { case 1: case 2: { return 1; } default: throw 2; }", False),
        ("while (true) { if (params.x) return 1; }", False),
        ("for (;;) { return 1; }", False),
        ("do { return 1; } while (params.x);", False),
        ("{ return 1; }", False),
        ("outer: while (true) { for (const x of params.xs) { if (x) continue outer; return x; } }", False),
        ("const f = () => { return 1; }; f();", True),
        ("if (params.x) return 1;", True),
        ("if (params.x) return 1; else console.log(2);", True),
        ("try { return 1; } catch (e) { console.log(e); }", True),
        ("switch (params.x) { case 1: return 1; }", True),
        ("switch (params.x) { case 1: break; default: return 2; }", True),
        ("while (params.x) { return 1; }", True),
        ("while (true) { if (params.x) break; }", True),
        ("outer: while (true) { while (true) { break outer; } }", True),
        ("for (const x of params.xs) return x;", True),
        ("for (let i = 0; i < 3; i++) return i;", True),
        ("console.log(1);", True),
        ("", True),
    ],
)
def test_a_run_that_can_end_without_return_is_warned_about(findings: Findings, body: str, warned: bool) -> None:
    found = findings(f"async function run(params) {{ {body} }}")

    assert [(f.code, f.severity) for f in found] == ([("program.no_return", "warning")] if warned else [])


def test_the_warning_follows_a_run_that_only_delegates(findings: Findings) -> None:
    source = (
        "async function main(params) { console.log(1); }\nasync function run(params) { return await main(params); }"
    )

    (finding,) = findings(source)

    assert (finding.code, finding.line) == ("program.no_return", 1)


@pytest.mark.parametrize(
    ("source", "where", "line"),
    [
        ("if (1) {\n  async function run(params) { return 1; }\n}", "inside of a block", 2),
        ("{\n  const run = async (params) => 1;\n}", "inside of a block", 2),
        ("function f() {\n  async function run(params) { return 1; }\n}", "inside of another function", 2),
        ("class A {\n  async run(params) { return 1; }\n}", "a method of a class", 2),
        ("class A {\n  static run = async (params) => 1;\n}", "a method of a class", 2),
        ("const api = {\n  async run(params) { return 1; },\n};", "a property of an object", 2),
        ("const api = {\n  run: async (params) => 1,\n};", "a property of an object", 2),
    ],
)
def test_a_run_at_the_wrong_place_is_pointed_at(findings: Findings, source: str, where: str, line: int) -> None:
    (finding,) = findings(source)

    assert (finding.code, finding.line) == ("program.no_run", line)
    assert where in finding.message
    assert "There is no function" not in finding.message


@pytest.mark.parametrize("value", ["5", "make()", "api.run", "new Map()"])
def test_a_run_that_is_no_function_is_said_to_be_none(findings: Findings, value: str) -> None:
    found = findings(f"const make = () => 1, api = {{}};\nconst run = {value};")

    assert [(finding.code, finding.line) for finding in found] == [("program.no_run", 2)]
    assert "no function `run`" not in found[0].message


def test_a_plain_function_in_a_block_is_seen_outside_and_an_async_one_is_not(findings: Findings) -> None:
    run = "async function run(params) { return help(); }"

    assert findings(f"if (1) {{ function help() {{ return 1; }} }}\n{run}") == ()
    assert [f.code for f in findings(f"if (1) {{ async function help() {{ return 1; }} }}\n{run}")] == [
        "program.unknown_function"
    ]


@pytest.mark.parametrize("parameters", ["params, context", "params, { logger }", "params, ctx = {}"])
def test_a_second_parameter_that_is_not_used_passes(findings: Findings, parameters: str) -> None:
    assert findings(f"async function run({parameters}) {{ return params; }}") == ()


@pytest.mark.parametrize(
    "program",
    [
        "async function run(params) { const x = await list_customers(); console.log(x); }",
        "async function run(params) { return await (async () => { console.log(await list_customers()); })(); }",
        "async function main() { console.log(await list_customers()); }\nasync function run(params) { return main(); }",
    ],
)
def test_a_program_that_only_prints_is_told_to_return(findings: Findings, program: str) -> None:
    (finding,) = findings(program)

    assert (finding.code, finding.severity) == ("program.no_return", "warning")
    assert "console.log" in finding.hint


@pytest.mark.parametrize("end", ["\r\n", "\r", "\u2028", "\u2029"])
def test_every_line_end_of_the_language_counts(findings: Findings, end: str) -> None:
    lines = ["// it's `fine`", "async function run(params) {", "  const a = 1;", "  return lst();", "}"]

    assert [(f.code, f.line, f.column) for f in findings(end.join(lines))] == [("program.unknown_function", 4, 10)]


@pytest.mark.parametrize("literal", ['"a\u2028b"', "'it\\'s\u2029'", "`x\u2028y`", '"don\'t \u2028 \u2029"'])
def test_a_line_separator_in_a_literal_is_no_line_end(findings: Findings, literal: str) -> None:
    found = findings(f"async function run(params) {{\n  const a = {literal};\n  return lst(a);\n}}")

    assert [(f.code, f.line) for f in found] == [("program.unknown_function", 3)]
