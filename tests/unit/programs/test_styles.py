"""Programs in the ways that models write them: which pass, and the finding of each that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Codes = Callable[..., list[str]]

PASSING = [
    "await get_customer(...[{customer_id: 1}]); return 1;",
    "await get_customer(...params.xs); return 1;",
    "await get_customer({customer_id: -1}); return 1;",
    "await get_customer({customer_id: +params.a}); return 1;",
    "await get_customer({customer_id: Number(params.a)}); return 1;",
    "await get_customer({customer_id: params.a + 1}); return 1;",
    "await get_customer({customer_id: 1 + 2 * 3}); return 1;",
    'await list_invoices({customer_id: 1, status: "op" + "en"}); return 1;',
    'await send_email({to: "a" + params.a, body: params.a + "x"}); return 1;',
    'await send_email({to: "a", body: params.a - 1}); return 1;',
    "return await new Promise(resolve => list_customers().then(resolve));",
    "return await new Promise((resolve) => { list_customers().then(resolve); });",
    "return await new Promise((resolve, reject) => { list_customers().then(resolve, reject); });",
    "return await new Promise((resolve, reject) => { list_customers().then(resolve).catch(reject); });",
    "return await new Promise((yes, no) => { list_customers().then((r) => yes(r.length)).catch((e) => no(e)); });",
    "return new Promise(function (resolve, reject) { list_customers().then(resolve, reject); });",
    "const p = new Promise((resolve) => { list_customers().then(resolve); }); return await p;",
    "return await Promise.all([1].map((id) => new Promise((ok) => { get_customer({customer_id: id}).then(ok); })));",
    "return await new Promise((resolve) => { const p = list_customers(); p.then(resolve); });",
    "return await new Promise(async (resolve) => { resolve(await list_customers()); });",
    "return await new Promise((resolve) => { resolve(list_customers()); });",
    "return await new Promise(({}, done) => { list_customers().then(done); });",
    "queueMicrotask(() => console.log(1)); return 1;",
    "const { promise, resolve } = Promise.withResolvers(); list_customers().then(resolve); return await promise;",
    "let done; const p = new Promise((r) => { done = r; }); list_customers().then(done); return await p;",
    "return await (async () => { const r = await list_customers(); return r; })();",
    "const jobs = params.xs.map(async (x) => get_customer({customer_id: x})); return Promise.allSettled(jobs);",
    "return list_customers().then((r) => r.length);",
    "await list_customers().then((r) => get_customer({customer_id: 1})); return 1;",
    "return (await Promise.race([list_customers(), get_customer({customer_id: 1})]));",
    "const [a, b] = await Promise.all([list_customers(), get_customer({customer_id: 1})]); return [a, b];",
    'const r = await send_email({to: "a", body: "b"}); return { mail: r, id: r.id };',
    'const r = await create_ticket({customer_id: 1, title: "x"}); await send_email({to: "a", body: r.url}); return r;',
    'return typeof fetch === "undefined";',
    'return typeof window !== "undefined" ? 1 : 2;',
    "return typeof list_customers;",
    "return structuredClone(params);",
    "return Iterator.from(params.xs).toArray();",
    "return await list_invoices({customer_id: 1, status: null});",
    "return await list_invoices({customer_id: 1, status: undefined});",
    'return await list_invoices({"customer_id": 1, ["status"]: "open"});',
    "return await list_invoices({...params, customer_id: 1});",
    "return await list_invoices(params);",
    'return await list_invoices(JSON.parse("{}"));',
    "return await list_invoices?.({customer_id: 1});",
    "return await list_invoices.call(null, {customer_id: 1});",
    "return await refund_payment({payment_id: 1, amount_cents: 12.0});",
    "return await refund_payment({payment_id: 9007199254740993n, amount_cents: 1});",
    'return await create_ticket({customer_id: 1, title: ["x"].join("")});',
    "for (;;) { if (params.a) return 1; }",
    'switch (params.a) { case 1: return 1; default: throw new Error("x"); }',
]

FAULTY = [
    ("await get_customer(...[1]); return 1;", "program.arguments_shape"),
    ("await get_customer(...[1, 2]); return 1;", "program.arguments_shape"),
    ("await get_customer(1, ...params.xs); return 1;", "program.arguments_shape"),
    ("await get_customer(...[]); return 1;", "program.argument_missing"),
    ('await get_customer({customer_id: "a" + "b"}); return 1;', "program.argument_type"),
    ('await get_customer({customer_id: "a" + params.a}); return 1;', "program.argument_type"),
    ('await get_customer({customer_id: params.a + ""}); return 1;', "program.argument_type"),
    ("await get_customer({customer_id: `${params.a}`}); return 1;", "program.argument_type"),
    ("await get_customer({customer_id: !params.a}); return 1;", "program.argument_type"),
    ("await get_customer({customer_id: params.a > 1}); return 1;", "program.argument_type"),
    ("await get_customer({customer_id: typeof params.a}); return 1;", "program.argument_type"),
    ("await get_customer({customer_id: params.a.toFixed(0)}); return 1;", "program.argument_type"),
    ('await get_customer({customer_id: params.a ? "x" : 1}); return 1;', "program.argument_type"),
    ('await list_invoices({customer_id: 1, status: "op" + "ened"}); return 1;', "program.argument_value"),
    ('await send_email({to: "a" + params.a, body: 1 + 2}); return 1;', "program.argument_type"),
    ("new Promise((resolve) => { list_customers().then(resolve); }); return 1;", "program.unawaited_call"),
    ("new Promise(async (resolve) => { await list_customers(); resolve(); }); return 1;", "program.unawaited_call"),
    (
        "return await new Promise((resolve) => { list_customers().then(console.log); resolve(1); });",
        "program.unawaited_call",
    ),
    ("return await new Promise((resolve) => { list_customers(); resolve(1); });", "program.unawaited_call"),
    ('queueMicrotask(() => send_email({to: "a", body: "b"})); return 1;', "program.unawaited_call"),
    ('queueMicrotask(async () => { await send_email({to: "a", body: "b"}); }); return 1;', "program.unawaited_call"),
    ("async function load() { return list_customers(); } load(); return 1;", "program.unawaited_call"),
    ("for (const x of params.xs) get_customer({customer_id: x}); return 1;", "program.unawaited_call"),
    ("void list_customers(); return 1;", "program.unawaited_call"),
    (
        'const r = await send_email({to: "a", body: "b"}); if (!r.ok) throw new Error("x"); return 1;',
        "program.write_result_used",
    ),
    ('const r = await send_email({to: "a", body: "b"}); return r.status === "done";', "program.write_result_used"),
    ('const r = await send_email({to: "a", body: "b"}); return r ?? 1;', "program.write_result_used"),
    ('const r = await send_email({to: "a", body: "b"}); return {...r};', "program.write_result_used"),
    ('const {ok} = await send_email({to: "a", body: "b"}); return ok ? 1 : 2;', "program.write_result_used"),
    ('const r = await send_email({to: "a", body: "b"}); while (r.pending) {} return 1;', "program.write_result_used"),
    (
        'const r = await send_email({to: "a", body: "b"}); switch (r.status) { case 1: return 1; } return 2;',
        "program.write_result_used",
    ),
    ('return (await send_email({to: "a", body: "b"})).id || 1;', "program.write_result_used"),
    (
        "const rs = []; for (const x of 'a') rs.push(await send_email({to: x, body: x})); return rs.map((r) => !r.ok);",
        "program.write_result_used",
    ),
    (
        'const rs = await Promise.all([1].map(() => send_email({to: "a", body: "b"}))); return rs.every((r) => r.ok);',
        "program.write_result_used",
    ),
    ('import("x"); return 1;', "program.forbidden"),
    ('return await db.query("x");', "program.unknown_function"),
    ('return new Intl.NumberFormat("x").format(1);', "program.forbidden"),
    ("return _.sum(params.xs);", "program.forbidden"),
    ("return moment().format();", "program.forbidden"),
    ("return await list_invoices({customer_id: undefined});", "program.argument_missing"),
    ('return await list_invoices({customer_id: 1, status: "closed"});', "program.argument_value"),
    ("return await list_invoices({customerId: 1});", "program.argument_missing"),
    ('return await list_invoices(7, "open");', "program.arguments_shape"),
    ('return await list_invoices("7");', "program.arguments_shape"),
    ("return await list_customers(null);", "program.arguments_shape"),
    ("return await refund_payment({payment_id: 1, amount_cents: 0});", "program.argument_value"),
    ("return await refund_payment({payment_id: 1, amount_cents: 12.5});", "program.argument_type"),
    ("return await refund_payment({payment_id: 9007199254740993, amount_cents: 1});", "program.argument_value"),
    ('return await create_ticket({customer_id: 1, title: "x", contact: {name: 1}});', "program.argument_type"),
    ('return await create_ticket({customer_id: 1, title: "x", contact: {nam: "a"}});', "program.argument_missing"),
    ('return await create_ticket({customer_id: 1, title: "x", tags: "a"});', "program.argument_type"),
    ('return await create_ticket({customer_id: 1, title: "x", tags: ["a", 1]});', "program.argument_type"),
    ('return await create_ticket({customer_id: 1, title: "x", urgent: "true"});', "program.argument_type"),
    ('return await create_ticket({customer_id: 1, title: "x", urgent: 1});', "program.argument_type"),
    ("if (params.a) { return 1; }", "program.no_return"),
    ("try { return await list_customers(); } catch (e) { console.error(e); }", "program.no_return"),
]


@pytest.mark.parametrize("body", PASSING)
def test_a_sound_program_has_no_finding(codes: Codes, body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize(("body", "code"), FAULTY)
def test_a_faulty_program_has_the_finding_of_its_fault(codes: Codes, body: str, code: str) -> None:
    assert code in codes(body)
