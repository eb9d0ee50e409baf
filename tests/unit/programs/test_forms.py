from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]


@pytest.mark.parametrize(
    ("body", "column"),
    [
        ("const x; return x;", 7),
        ("let { a }; return a;", 5),
        ("try { return 1; }", 1),
        ("return params.a ?? params.b || 1;", 8),
        ("return params.a && params.b ?? 1;", 8),
        ("return -1 ** 2;", 8),
        ("return /a/gg;", 8),
        ("return /a/uv;", 8),
        ("return /a/x;", 8),
        ("return /(a/;", 8),
        ("return /a)(/;", 8),
        ("return 08n;", 8),
        ("params?.a.b = 1; return 1;", 1),
        ("params.a?.b++; return 1;", 1),
        ("return #x in params;", 8),
        ("class A { get() { return this.#y; } } return new A();", 31),
        ("class A { constructor() {} constructor(x) {} } return new A();", 9),
        ("super.x(); return 1;", 1),
        ("Answer: function f() { return 1; } return f();", 1),
    ],
)
def test_a_form_that_no_engine_loads_is_found_before_it_runs(findings: Findings, body: str, column: int) -> None:
    source = f"async function run(params) {{\n{body}\n}}"

    found = [finding for finding in findings(source) if finding.severity == "error"]

    assert (found[0].code, found[0].line, found[0].column) == ("program.syntax", 2, column)
    assert found[0].hint


@pytest.mark.parametrize(
    "body",
    [
        "let x; var y; for (const z of [1]) x = z; return x ?? y;",
        "for (const { a } of [{ a: 1 }]) return a; return 1;",
        "try { return 1; } finally { console.log(1); }",
        "return (params.a ?? params.b) || (params.c && (params.d ?? 1));",
        "return (-1) ** 2 + 2 ** -1;",
        r"return [/[(]/, /\(/, /(?<y>a)(?:b)/dgimsuy, /[[a-z]--[b]]/v, /[\]()]/];",
        "return [0, 0.5, 1_000, 0x1_F, 1_0n, .5, 1e1_0];",
        "params.a.b = params?.a; return params.a?.[0];",
        "class A { #x = 1; #get() { return this.#x; } static has(o) { return #x in o && o.#get(); } } return A.has(1);",
        "class A { constructor() {} static constructor() {} } return new A();",
        "class A {} class B extends A { constructor() { super(); } } return new B();",
        "const o = { toString() { return super.toString(); } }; return o.toString();",
        "outer: for (;;) { break outer; } block: { break block; } return 1;",
    ],
)
def test_a_form_that_looks_odd_but_is_allowed_passes(codes: Codes, body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize(
    "body",
    [
        'const { constructor } = () => {}; return constructor("return 1")();',
        "const { constructor: { constructor: F } } = params; return F;",
        "let F; ({ constructor: F } = async () => {}); return F;",
    ],
)
def test_a_hidden_constructor_taken_by_a_pattern_is_refused(codes: Codes, body: str) -> None:
    assert "program.forbidden" in codes(body)


@pytest.mark.parametrize(
    "body",
    [
        "const { constructor } = params; return constructor;",
        "const { constructor: builder, name } = await get_customer({ customer_id: 1 }); return [builder, name];",
        "const f = ({ constructor } = {}) => constructor; return f(params);",
    ],
)
def test_a_column_called_constructor_is_data(codes: Codes, body: str) -> None:
    assert codes(body) == []
