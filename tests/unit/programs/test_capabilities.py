from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vardy_worker.programs import check
from vardy_worker.programs.globals import ALLOWED_GLOBALS, JUDGE_GLOBALS, MISSING_GLOBALS

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]


@pytest.mark.parametrize(
    "body",
    [
        "return {import: 1, if: 2, eval: 3, constructor: 4};",
        "const row = await get_customer({customer_id: 1}); return row.eval + row.import + row.require + row.process;",
        'return "eval(" + "fetch(" + `import("x")`; // require("fs") eval(x)',
        (
            "const processList = [], requireApproval = true, windowSize = 3; return [processList, "
            "requireApproval, windowSize];"
        ),
        "const sendEmail = () => 1; const send_email = () => 2; return sendEmail() + send_email();",
        (
            "outer: for (const a of [1]) { for (const b of [2]) { if (a < b) continue outer; "
            "else break outer; } } return 1;"
        ),
        "function* numbers() { yield 1; yield* [2, 3]; } return [...numbers()];",
        (
            "const o = { get total() { return 1; }, set total(v) {}, async *all() { yield 1; }, "
            "['a' + 1]: 2 }; return o.total;"
        ),
        (
            "const m = new Map([[1, 2]]); const s = new Set(m.keys()); const w = new WeakMap(); "
            "return [...s].length + m.size;"
        ),
        "const tag = (parts, ...values) => parts.join('') + values.length; return tag`a${1}b`;",
        "const row = await get_customer({customer_id: 1}); return row?.address?.[0]?.street?.trim?.() ?? null;",
        (
            "class Money { #cents = 0; static zero = new Money(); static { Money.unit = 1; } "
            "add(x) { this.#cents += x; return this; } get cents() { return this.#cents; } } "
            "return new Money().add(1).cents;"
        ),
        "const all = await Promise.allSettled([get_customer({customer_id: 1})]); return all.length;",
        "const rows = []; for await (const row of [get_customer({customer_id: 1})]) rows.push(row); return rows;",
        (
            "const { a, b: { c = 1, ...d }, ...rest } = params; const [x, , y = 2, ...z] = [1, 2, 3]; "
            "return [a, c, d, rest, x, y, z];"
        ),
        "try { throw new TypeError('x'); } catch { return 0; } finally { console.log('done'); }",
        "try { return JSON.parse('{'); } catch ({ message }) { return message; }",
        "var total = 0; for (var i = 0; i < 3; i++) total += i; return total + i;",
        "if (params.x) { function inner() { return 1; } } return typeof inner === 'undefined' ? 0 : inner();",
        "return (function fact(n) { return n < 2 ? 1 : n * fact(n - 1); })(5);",
        "return (function () { return arguments.length; })(1, 2);",
        "let x; ({ x } = params); [x] = [1]; x ??= 2; x **= 2; return x;",
        "const error = new Error('x'); return error.constructor.name;",
        "const row = await get_customer({customer_id: 1}); return row.constructor;",
        "return globalThis.Math.max(1, 2) + globalThis['JSON'].stringify({}).length;",
        "return /[/`']+/g.test('a') ? 10n ** 2n : 0x_ff_0;".replace("0x_ff_0", "0xff_0"),
        "const Intl = {format: String}; return Intl.format(1);",
        (
            "class Base { static x = 1; } class Sub extends Base { constructor() { super(); "
            "Object.setPrototypeOf(this, new.target.prototype); } } Sub.prototype.extra = () => 1; "
            "return new Sub().extra();"
        ),
        "return params.a<params.b>params.c;",
        "return await (await get_customer({customer_id: 1})).orders[0];",
        "return await ['a'].reduce(async (all, x) => [...(await all), x], Promise.resolve([]));",
        "return await [params.a, params.b][0];",
        "const pick = async () => await [params.a, params.b]; return await (pick)();",
        "const twice = (x) => { return x * 2 }\n[1, 2].map(twice)\nreturn 1",
        "const log = () => { console.log(1) }\n(async () => { log() })()\nreturn 1",
        "const o = {get() { return 1; }, set() {}, async() {}, static: 1, await: 3, new: 4, let: 6}; return o;",
        (
            "class A { #x = 1; static has(o) { return #x in o; } static async *gen() { yield 1; } get() {} "
            "set() {} } return A.has(1);"
        ),
        "const async = 1, of = 2, get = 3, from = 4, type = 5; return async + of + get + from + type;",
        "switch (params.kind) { case 'a': { const v = 1; return v; } default: return undefined; }",
        "const café = 1, $x = 2, _y = 3, \\u0061b = 4; return café + $x + _y + ab;",
        "return isNaN(parseInt('1', 10)) ? Infinity : encodeURIComponent(String(Symbol('x').description));",
        "const fn = get_customer; const row = await fn({customer_id: 1}); return row;",
    ],
)
def test_what_is_ordinary_javascript_passes(codes: Codes, body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('import("x"); return 1;', 1),
        ('const axios = require("axios"); return 1;', 15),
        ("return eval(params.x);", 8),
        ('return new Function("return 1")();', 12),
        ('return await fetch("https://example.org");', 14),
        ("return process.env.HOME;", 8),
        ('return globalThis["ev" + "al"];', 8),
        ('return globalThis["eval"]("1");', 8),
        ("return globalThis.fetch;", 8),
        ("const g = globalThis; return g.x;", 11),
        ("globalThis.y = 2; return 1;", 1),
        ("setTimeout(() => 1, 10); return 1;", 1),
        ("return WebAssembly.compile;", 8),
        ("return new XMLHttpRequest();", 12),
        ('return (() => {}).constructor("return 1")();', 8),
        ('return []["constructor"]["constructor"]("return 1")();', 8),
        ("return (async () => {}).constructor;", 8),
        ("return (function* () {}).constructor;", 8),
        ("const f = () => 1; return f.constructor;", 27),
        ("return list_customers.constructor;", 8),
        ('return params.constructor("x");', 8),
        ("return new params.x.constructor();", 12),
        ("return Object.getPrototypeOf(async () => {}).constructor;", 8),
        ('return Reflect.get(globalThis, "eval");', 20),
        ("Object.prototype.x = 1; return 1;", 1),
        ("Array.prototype.map = null; return 1;", 1),
        ("delete Array.prototype.map; return 1;", 8),
        ("Object.prototype = {}; return 1;", 1),
        ("Object.assign(Array.prototype, {}); return 1;", 1),
        ("Object.freeze(Array.prototype); return 1;", 1),
        ('Object.defineProperty(String.prototype, "x", {}); return 1;', 1),
        ("Reflect.setPrototypeOf(Array.prototype, null); return 1;", 1),
        ("Math.random = () => 4; return 1;", 1),
        ("JSON.parse = null; return 1;", 1),
        ("console = null; return 1;", 1),
        ("list_customers = () => []; return 1;", 1),
        ("params.__proto__ = {}; return 1;", 1),
        ('params["__proto__"].x = 1; return 1;', 1),
        ("return {__proto__: params};", 9),
        ("with (params) { return x; }", 1),
        ("debugger; return 1;", 1),
        ("return import.meta.url;", 8),
        ("return new SharedArrayBuffer(1);", 12),
        ("return Atomics.load;", 8),
        ("return performance.now();", 8),
        ("return new Intl.NumberFormat('pt');", 12),
        ("return \\u0065val('1');", 8),
        ("return [1].map(eval);", 16),
        ("const { fetch: f } = globalThis; return f;", 22),
    ],
)
def test_a_missing_capability_is_blocked_at_its_place_with_a_hint(findings: Findings, body: str, place: int) -> None:
    found = findings(f"async function run(params) {{\n{body}\n}}")

    forbidden = [finding for finding in found if finding.code == "program.forbidden"]
    assert (forbidden[0].line, forbidden[0].column) == (2, place)
    assert all(finding.hint for finding in forbidden)


def test_an_import_statement_is_blocked(findings: Findings) -> None:
    found = findings('import fs from "fs";\nasync function run(params) { return fs; }')

    assert [(finding.code, finding.line) for finding in found] == [("program.forbidden", 1)]


@pytest.mark.parametrize(
    ("call", "close"),
    [
        ("db.query('select')", []),
        ("functions.write('x')", []),
        ("listInvoice({customer_id: 1})", ["list_invoices"]),
        ("ListInvoices({customer_id: 1})", ["list_invoices"]),
        ("api.send_email({to: 'a', body: 'b'})", ["send_email"]),
        ("getCustomer({customer_id: 1})", ["get_customer"]),
    ],
)
def test_an_unknown_function_comes_with_what_was_meant_and_what_exists(
    findings: Findings, shop: Catalogue, call: str, close: list[str]
) -> None:
    (finding,) = findings(f"async function run(params) {{ return await {call}; }}")

    assert finding.code == "program.unknown_function"
    assert finding.details["close"][: len(close)] == close
    assert finding.details["functions"] == [spec.name for spec in shop.functions]
    for spec in shop.functions:
        assert spec.name in finding.hint


def test_an_unknown_name_is_not_taken_for_a_function(codes: Codes) -> None:
    assert codes("return customerId;") == ["program.unknown_name"]
    assert codes("total = 1; return 1;") == ["program.unknown_name"]


def test_params_in_a_helper_says_to_hand_it_over(findings: Findings) -> None:
    (finding,) = findings("const days = () => params.days;\nasync function run(params) { return days(); }")

    assert finding.code == "program.unknown_name"
    assert "argument" in finding.hint


def test_a_constant_keeps_its_value(codes: Codes) -> None:
    for change in ("a = 2", "a += 2", "a++", "[a] = [2]", "({ a } = params)"):
        assert codes(f"const a = 1; {change}; return a;") == ["program.const_assigned"]


@pytest.mark.parametrize("name", sorted(JUDGE_GLOBALS))
def test_the_judge_exists_only_where_it_is_on(codes: Codes, name: str) -> None:
    body = f"return await {name}(...params.given);"

    assert codes(body) == ["program.judge_off"]
    assert codes(body, judge=True) == []


def test_explore_has_no_writes(codes: Codes) -> None:
    body = "return await send_email({to: 'a', body: 'b'});"

    assert codes(body, reads_only=True) == ["program.write_in_explore"]
    assert codes("return await list_customers();", reads_only=True) == []


@pytest.mark.parametrize("name", sorted(ALLOWED_GLOBALS))
def test_every_allowed_global_can_be_named(codes: Codes, name: str) -> None:
    assert codes(f"return [{name}];") == []


@pytest.mark.parametrize("name", sorted(MISSING_GLOBALS))
def test_every_missing_global_is_blocked_with_its_alternative(findings: Findings, name: str) -> None:
    (finding,) = findings(f"async function run(params) {{ return [{name}]; }}")

    assert finding.code == "program.forbidden"
    assert finding.hint == MISSING_GLOBALS[name]


def test_locale_methods_are_warned_about(findings: Findings) -> None:
    (finding,) = findings("async function run(params) { return (5).toLocaleString('pt-BR'); }")

    assert (finding.code, finding.severity) == ("program.unavailable_method", "warning")


def test_a_registered_function_wins_over_a_name_that_is_missing_elsewhere(shop: Catalogue) -> None:
    fetch = shop.functions[2].model_copy(update={"name": "fetch"})
    catalogue = shop.model_copy(update={"functions": (fetch,)})

    assert check("async function run(params) { return await fetch(); }", catalogue) == ()
