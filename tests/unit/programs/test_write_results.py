from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Codes = Callable[..., list[str]]

MAIL = "await send_email({to: 'a', body: 'b'})"
TICKET = "await create_ticket({customer_id: 1, title: 'a'})"


@pytest.mark.parametrize(
    "body",
    [
        f"const t = {TICKET}; return t;",
        f"const t = {TICKET}; return t.id;",
        f"const t = {TICKET}; return {{ ticket: t.id, done: true }};",
        f"const t = {TICKET}; await refund_payment({{payment_id: t.id, amount_cents: 5}}); return 1;",
        f"const {{ id }} = {TICKET}; await refund_payment({{payment_id: id, amount_cents: 5}}); return id;",
        f"const ids = []; ids.push(({TICKET}).id); return ids;",
        f"const ids = []; ids.push(({TICKET}).id); return {{ ids, count: ids.length }};",
        (
            "const sent = await Promise.all(params.tos.map(to => send_email({to, body: 'b'}))); "
            "return { sent: sent.length };"
        ),
        (
            "const sent = await Promise.all(params.tos.map(to => send_email({to, body: 'b'}))); "
            "return sent.map(mail => mail.id);"
        ),
        (
            "const sent = []; for (const to of params.tos) sent.push(await send_email({to, body: 'b'})); "
            "if (sent.length > 1) return sent; return [];"
        ),
        f"let count = 0; {MAIL}; count += 1; return `${{count}} sent`;",
        f"try {{ {MAIL}; return 'sent'; }} catch (error) {{ return error.message; }}",
        f"let r = await get_customer({{customer_id: 1}}); if (r.ok) r = {MAIL}; return r;",
        f"let r = {MAIL}; r = await get_customer({{customer_id: 1}}); return r.ok ? 1 : 2;",
        f"let r; r = {TICKET}; await refund_payment({{payment_id: r.id, amount_cents: 1}}); r = 5; return r + 1;",
        (
            "const c = await get_customer({customer_id: 1}); if (c.active && c.age > 3) return `${c.name}`; "
            "return { ...c };"
        ),
        f"const t = params.x ? {TICKET} : null; return {{ t }};",
        f"const t = {TICKET}; console.log(t); return 1;",
        f"const t = {TICKET}; void t; return 1;",
        f"const byName = {{}}; byName.first = {TICKET}; return byName;",
        f"const t = {TICKET}; const m = new Map(); m.set('first', t.id); return m.get('first');",
        f"const t = {TICKET}; const kinds = ['a']; return {{ t, known: kinds.includes('a') }};",
        f"const t = {TICKET}; const names = ['a', ''].filter(Boolean); return {{ t, names }};",
        "const { id = 5 } = await get_customer({customer_id: 1}); return id;",
        (
            "const [t, c] = await Promise.all([create_ticket({customer_id: 1, title: 'a'}), "
            "get_customer({customer_id: 1})]); return c.name + 'x';"
        ),
        (
            "const notify = async to => { await send_email({to, body: 'b'}); return true; }; "
            "if (await notify('a')) return 1; return 2;"
        ),
    ],
)
def test_handing_a_write_s_result_on_passes(codes: Codes, body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize(
    "body",
    [
        f"const r = {MAIL}; if (!r.ok) throw new Error('x'); return 1;",
        f"const r = {MAIL}; if (r) return 1; return 2;",
        f"if ({MAIL}) return 1; return 2;",
        f"const r = {MAIL}; return r.status === 'done';",
        f"const r = {MAIL}; return ['done', 'sent'].includes(r.status);",
        f"const r = {MAIL}; return [1, 2].indexOf(r.id) >= 0;",
        f"const r = {MAIL}; return new Set([1]).has(r.id);",
        f"const r = {MAIL}; const names = new Map([[1, 'x']]); return names.get(r.id);",
        f"const r = {MAIL}; return Object.is(r.status, 'done');",
        f"const r = {MAIL}; return Number.isInteger(r.id);",
        f"const r = {MAIL}; return Array.isArray(r.list);",
        f"const r = {MAIL}; return [r.id, 0].filter(Boolean);",
        f"const r = {MAIL}; return [r.ok].every(Boolean);",
        f"const {{ id = 5 }} = {TICKET}; return id;",
        f"const {{ owner: {{ id: n = 5 }} }} = {TICKET}; return n;",
        f"const r = {MAIL}; return r ?? params.x;",
        f"const r = {MAIL}; return r.id || 0;",
        f"const r = {MAIL}; return r && r.id;",
        f"const r = {MAIL}; return {{ ...r }};",
        f"const r = {MAIL}; return {{ ...r, sent: true }};",
        f"const r = {MAIL}; return [...r];",
        f"const r = {MAIL}; return `${{r.id}}`;",
        f"const r = {MAIL}; return 'id: ' + r.id;",
        f"const r = {MAIL}; return r.count + 1;",
        f"const r = {MAIL}; return -r.count;",
        f"const r = {MAIL}; return r.ok ? 1 : 2;",
        f"const r = {MAIL}; switch (r.status) {{ case 'a': return 1; default: return 2; }}",
        f"const r = {MAIL}; switch (params.x) {{ case r.id: return 1; default: return 2; }}",
        f"const r = {MAIL}; while (r.more) {{}} return 1;",
        f"const r = {MAIL}; for (const x of r.items) console.log(x); return 1;",
        f"const r = {MAIL}; return r.items.map(x => x.id);",
        f"const r = {MAIL}; return r.id.toString();",
        f"const r = {MAIL}; return JSON.stringify(r);",
        f"const r = {MAIL}; return String(r.id);",
        f"const r = {MAIL}; return Object.keys(r);",
        f"const r = {MAIL}; return Math.max(r.a, 1);",
        f"const r = {MAIL}; return params.list[r.id];",
        f"const r = {MAIL}; return {{ [r.id]: 1 }};",
        f"const r = {MAIL}; return 'ok' in r;",
        f"const r = {MAIL}; return typeof r === 'object';",
        f"const r = {MAIL}; let n = 0; n += r.count; return n;",
        f"const {{ ok }} = {MAIL}; if (ok) return 1; return 2;",
        f"const {{ data: {{ ok: fine }} }} = {MAIL}; return !fine;",
        f"const {{ id, ...rest }} = {MAIL}; return rest;",
        f"let r; r = {MAIL}; if (r) return 1; return 2;",
        f"let r = {MAIL}; if (params.x) r = 1; return r ? 1 : 2;",
        f"let r = 1; for (const x of params.xs) {{ if (r) console.log(x); r = {MAIL}; }} return 1;",
        f"let r = 1; const ok = () => r === 1; r = {MAIL}; return ok();",
        f"const ids = []; ids.push(({MAIL}).id); return ids.join(', ');",
        f"let r = null; if (params.x) {{ r = {MAIL}; }} if (r) return 1; return 2;",
        f"const r = {MAIL}; const s = r; const t = s.data; return t.ok === true;",
        "const p = send_email({to: 'a', body: 'b'}); const r = await p; return r.ok ? 1 : 2;",
        (
            "const [a, b] = await Promise.all([send_email({to: 'a', body: 'b'}), list_customers()]); "
            "return a.ok ? b : 1;"
        ),
        (
            "const all = await Promise.all(params.tos.map(to => send_email({to, body: 'b'}))); "
            "return all.filter(r => r.ok);"
        ),
        (
            "const all = await Promise.all(params.tos.map(to => send_email({to, body: 'b'}))); "
            "return all.every(r => r.ok);"
        ),
        (
            "const all = await Promise.all(params.tos.map(to => send_email({to, body: 'b'}))); "
            "return all[0].ok === true;"
        ),
        (
            "const all = []; for (const to of params.tos) { const r = await send_email({to, body: 'b'}); "
            "all.push(r); } for (const r of all) if (r.ok) return 1; return 2;"
        ),
        "const send = to => send_email({to, body: 'b'}); const r = await send('a'); if (r.ok) return 1; return 2;",
        (
            "async function send(to) { const r = await send_email({to, body: 'b'}); return r; } "
            "return (await send('a')).ok ? 1 : 2;"
        ),
        f"const show = r => `mail ${{r.id}}`; const r = {MAIL}; return show(r);",
        "return await send_email({to: 'a', body: 'b'}).then(r => r.ok ? 1 : 2);",
        f"const r = params.x ? {MAIL} : null; if (r) return 1; return 2;",
        f"const r = ({MAIL}).ok; return !r;",
    ],
)
def test_computing_with_a_write_s_result_is_blocked(codes: Codes, body: str) -> None:
    assert "program.write_result_used" in codes(body)


def test_reads_may_be_computed_with_in_every_way(codes: Codes) -> None:
    body = (
        "const r = await get_customer({customer_id: 1}); const { a, ...rest } = r;"
        "if (!r.ok || r.x === 1) return `${r.id}` + [...r.items].length + Object.keys(rest) + a; return r ?? 1;"
    )

    assert codes(body) == []
