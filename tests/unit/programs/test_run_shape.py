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
