from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]

MAIL = "send_email({to: 'a', body: 'b'})"


@pytest.mark.parametrize(
    "body",
    [
        f"await {MAIL}; return 1;",
        f"await Promise.all(params.ids.map(async (id) => {{ await {MAIL}; }})); return 1;",
        f"const send = async (id) => {{ await {MAIL}; }}; await Promise.all(params.ids.map(send)); return 1;",
        (
            f"const send = async (id) => {{ await {MAIL}; }}; const all = params.ids.map(send); "
            "for (const one of all) await one; return 1;"
        ),
        f"await Promise.resolve().then(async () => {{ await {MAIL}; }}); return 1;",
        (
            f"const each = async (xs, f) => {{ for (const x of xs) await f(x); }}; await each([1], "
            f"async () => {{ await {MAIL}; }}); return 1;"
        ),
        f"await ({MAIL}); return 1;",
        "let p; return await (p = list_customers());",
        (
            "const seen = {}; const load = (id) => (seen[id] ??= get_customer({customer_id: id})); "
            "return (await load(1)).name + (await load(1)).name;"
        ),
        "const seen = new Map(); const load = () => { let p; return p ||= list_customers(); }; return await load();",
        "return (await (await Promise.all([list_customers()]))[0]).length;",
        "const it = (async function* () { yield await list_customers(); })(); return (await it.next()).value;",
        f"return {MAIL};",
        f"return (await {MAIL});",
        f"const p = {MAIL}; return await p;",
        f"const p = {MAIL}; const q = {MAIL}; await Promise.all([p, q]); return 1;",
        f"await Promise.all([{MAIL}, {MAIL}]); return 1;",
        "const ps = params.ids.map(id => get_customer({customer_id: id})); return await Promise.all(ps);",
        (
            "return await Promise.all(params.ids.map(async id => { const c = await get_customer({customer_id: id}); "
            "return c.name; }));"
        ),
        "return await Promise.all(params.ids.map(id => { return get_customer({customer_id: id}); }));",
        "return await Promise.all(params.ids.map(function (id) { return get_customer({customer_id: id}); }));",
        "return await Promise.all(Array.from(params.ids, id => get_customer({customer_id: id})));",
        (
            "const ps = []; for (const id of params.ids) ps.push(get_customer({customer_id: id})); "
            "return await Promise.all(ps);"
        ),
        (
            "const ps = []; for (const id of params.ids) { ps[ps.length] = get_customer({customer_id: id}); "
            "} return await Promise.all(ps);"
        ),
        (
            "const ps = {}; for (const id of params.ids) ps[id] = get_customer({customer_id: id}); "
            "return await Promise.all(Object.values(ps));"
        ),
        (
            "const ps = params.ids.map(id => get_customer({customer_id: id})); const out = []; "
            "for (const p of ps) out.push(await p); return out;"
        ),
        (
            "const out = []; "
            "for await (const c of params.ids.map(id => get_customer({customer_id: id}))) out.push(c); "
            "return out;"
        ),
        "return await get_customer({customer_id: 1}).then(c => c.name);",
        "return get_customer({customer_id: 1}).catch(() => null);",
        "const c = await get_customer({customer_id: 1}).then(c => c).catch(() => null).finally(() => {}); return c;",
        "const [a, b] = await Promise.all([get_customer({customer_id: 1}), list_customers()]); return [a, b];",
        (
            "const all = await Promise.allSettled(params.ids.map(id => get_customer({customer_id: id}))); "
            "return all.length;"
        ),
        "const first = await Promise.race([list_customers(), list_customers()]); return first;",
        "const c = params.x ? await get_customer({customer_id: 1}) : null; return c;",
        "const p = params.x ? get_customer({customer_id: 1}) : null; return await p;",
        "return params.x && get_customer({customer_id: 1});",
        "const cache = new Map(); cache.set(1, get_customer({customer_id: 1})); return await cache.get(1);",
        "const load = id => get_customer({customer_id: id}); return await load(1);",
        "async function load(id) { return get_customer({customer_id: id}); } const c = await load(1); return c;",
        (
            "const load = async id => { const c = await get_customer({customer_id: id}); return c; }; "
            "return await Promise.all([1, 2].map(load));"
        ),
        (
            "await params.ids.reduce((before, id) => before.then(() => get_customer({customer_id: id})), "
            "Promise.resolve()); return 1;"
        ),
        "await (async () => { await list_customers(); })(); return 1;",
        "let p; p = list_customers(); return await p;",
        "let p = null; p ??= list_customers(); return await p;",
        "const { length } = await list_customers(); return length;",
        "return (0, list_customers());",
        (
            "const tasks = [list_customers()]; tasks.push(list_customers()); const [a, "
            "b] = await Promise.all(tasks); return [a, b];"
        ),
        "const helper = p => p; return await helper(list_customers());",
        "await Promise.all(params.ids.flatMap(id => [get_customer({customer_id: id}), list_customers()])); return 1;",
        "await Promise.all([...params.ids.map(id => get_customer({customer_id: id})), list_customers()]); return 1;",
        "const make = () => async () => { await list_customers(); }; const go = make(); await go(); return 1;",
        "function double(x) { return x * 2; } double(2); return 1;",
        "async function pure() { return 1; } return await pure();",
        (
            "async function* pages() { yield await list_customers(); } "
            "for await (const page of pages()) return page; return null;"
        ),
        "const sum = (xs) => xs.reduce((a, x) => a + x, 0); return await sum([1]);",
    ],
)
def test_calls_that_are_waited_for_pass(codes: Codes, body: str) -> None:
    assert "program.unawaited_call" not in codes(body)


@pytest.mark.parametrize(
    "body",
    [
        f'{MAIL}; return "ok";',
        f"params.ids.map(async (id) => {{ await {MAIL}; }}); return 1;",
        f"return params.ids.map(async (id) => await {MAIL});",
        f"const all = params.ids.map(async (id) => {{ await {MAIL}; }}); return all.length;",
        f"const send = async (id) => {{ await {MAIL}; }}; params.ids.map(send); return 1;",
        f"const send = async (id) => {{ await {MAIL}; }}; params.ids.forEach(send); return 1;",
        f"async function send(id) {{ await {MAIL}; }} return params.ids.filter(send);",
        f"const send = () => {{ return {MAIL} }}\n(async () => {{ await send() }})()\nreturn 1",
        "return await (list_customers(), 1);",
        f"void {MAIL}; return 1;",
        f"const p = {MAIL}; return 1;",
        f"const p = {MAIL}; const q = p; const r = q; return 1;",
        "return params.ids.findLastIndex(async (id) => (await get_customer({customer_id: id})).active);",
        "return params.ids.sort(async (a, b) => (await get_customer({customer_id: a})).age - b);",
        f"let p; p = {MAIL}; return 1;",
        f"let p; p ??= {MAIL}; return 1;",
        "const seen = {}; if ((seen.a = list_customers())) return 1; return 2;",
        "let p; return (p = list_customers()).length;",
        "const c = get_customer({customer_id: 1}); return c.name;",
        "const { name } = get_customer({customer_id: 1}); return name;",
        "return get_customer({customer_id: 1}).name;",
        "params.ids.map(id => get_customer({customer_id: id})); return 1;",
        "params.ids.forEach(id => get_customer({customer_id: id})); return 1;",
        "params.ids.forEach(async id => { await get_customer({customer_id: id}); }); return 1;",
        "params.ids.forEach(function (id) { get_customer({customer_id: id}); }); return 1;",
        "return params.ids.filter(async id => (await get_customer({customer_id: id})).active);",
        "const ps = params.ids.map(id => get_customer({customer_id: id})); return ps.length;",
        "const ps = []; ps.push(list_customers()); return 1;",
        "await params.ids.map(id => get_customer({customer_id: id})); return 1;",
        "return params.ids.map(id => get_customer({customer_id: id}));",
        "return { a: list_customers() };",
        "Promise.all([list_customers()]); return 1;",
        "list_customers().then(rows => rows.length); return 1;",
        "console.log(list_customers()); return 1;",
        "return JSON.stringify(list_customers());",
        "if (list_customers()) return 1; return 2;",
        "return list_customers() || [];",
        "return list_customers() === null;",
        "return `${list_customers()}`;",
        "for (const row of list_customers()) console.log(row); return 1;",
        "return list_customers().length;",
        "async function notify() { await send_email({to: 'a', body: 'b'}); } notify(); return 1;",
        "const notify = async () => send_email({to: 'a', body: 'b'}); params.ids.map(notify); notify(); return 1;",
        "const notify = () => send_email({to: 'a', body: 'b'}); notify(); return 1;",
        f"function notify() {{ return 1; }} function notify() {{ return {MAIL}; }} notify(); return 1;",
        "(async () => { await list_customers(); })(); return 1;",
        "return list_customers() ? 1 : 2;",
        "(list_customers(), 1); return 1;",
        "return [...list_customers()];",
        "return String(list_customers());",
    ],
)
def test_a_promise_that_nobody_waits_for_is_blocked(codes: Codes, body: str) -> None:
    assert "program.unawaited_call" in codes(body)


def test_the_finding_stands_at_the_call_and_says_how(findings: Findings) -> None:
    found = findings(f'async function run(params) {{\n  {MAIL};\n  return "ok";\n}}')

    assert [(f.code, f.line, f.column, f.hint) for f in found] == [
        ("program.unawaited_call", 2, 3, "Write `await send_email(…)`.")
    ]


def test_for_each_is_named_as_the_cause(findings: Findings) -> None:
    (finding,) = findings(
        "async function run(params) {\n"
        "  params.ids.forEach(async id => { await get_customer({customer_id: id}); });\n"
        "  return 1;\n"
        "}"
    )

    assert "forEach" in finding.message
    assert "for (const x of …)" in finding.hint


def test_calls_of_the_judge_are_waited_for_too(codes: Codes) -> None:
    assert codes("classify(params.texts, ['a', 'b']); return 1;", judge=True) == ["program.unawaited_call"]
