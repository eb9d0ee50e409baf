"""What models reach for and the sandbox lacks: told before a program runs, and by the sandbox itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vardy_worker.contracts.execution import Returned, SandboxOutcome, Threw
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.programs import check

LACKING = (
    "new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' }).format(1)",
    "new Intl.DateTimeFormat('en', { timeZone: 'Europe/Lisbon' }).format(new Date())",
    "['b', 'a'].sort(new Intl.Collator('sv').compare)",
    "(1234.5).toLocaleString('pt-BR', { style: 'currency', currency: 'BRL' })",
    "10n.toLocaleString()",
    "[1, 2].toLocaleString()",
    "new Date().toLocaleDateString('de-DE', { month: 'long' })",
    "new Date().toLocaleTimeString()",
    "Temporal.Now.plainDateISO()",
    "new URL('https://example.org').host",
    "new URLSearchParams({ a: 1 }).toString()",
    "new TextEncoder().encode('x')",
    "Buffer.from('x').toString('base64')",
    "crypto.randomUUID()",
    "performance.now()",
    "await new Promise((done) => setTimeout(done, 10))",
    "setInterval(() => 1, 10)",
    "_.groupBy([1], (n) => n)",
    "moment().format('L')",
    "dayjs().format()",
    "new AbortController().signal",
    "process.env.TOKEN",
    "require('fs')",
    "new WeakRef({}).deref()",
    "Atomics.wait(new Int32Array(4), 0, 0)",
    "new Worker('x.js')",
)

WORKING = {
    "structuredClone({ a: [1] })": {"a": [1]},
    "Array.fromAsync([1, Promise.resolve(2)])": [1, 2],
    "Object.groupBy([1, 2], (n) => (n % 2 ? 'odd' : 'even'))": {"odd": [1], "even": [2]},
    "[3, 1].toSorted()": [1, 3],
    "'Ação'.normalize('NFD').replace(/\\p{M}/gu, '')": "Acao",
    "['é', 'f', 'e'].sort((a, b) => a.localeCompare(b))": ["e", "é", "f"],
    "btoa('x') + atob('eA==')": "eA==x",
    "new Date('2026-03-04T05:06:07+02:00').toISOString()": "2026-03-04T03:06:07.000Z",
    "new Date('March 4, 2026 10:00 PM').toISOString()": "2026-03-04T22:00:00.000Z",
    "(1234.5).toFixed(2)": "1234.50",
    "'abc'.at(-1) + 'a-b'.replaceAll('-', '+')": "ca+b",
}


def program(expression: str) -> str:
    return f"async function run(params) {{\n  return {expression};\n}}"


@pytest.mark.parametrize("expression", LACKING)
def test_what_is_lacking_is_told_by_the_checks_and_by_the_sandbox(
    run: Callable[..., SandboxOutcome], expression: str
) -> None:
    source = program(expression)
    findings = check(source, Catalogue())
    assert findings
    assert all(finding.line == 2 and finding.hint for finding in findings)
    outcome = run(source)
    assert isinstance(outcome, Threw)
    assert outcome.code == "execution.missing"
    assert "does not exist here: " in outcome.message
    assert outcome.line == 2


@pytest.mark.parametrize("expression", WORKING)
def test_what_works_passes_the_checks_and_is_right(run: Callable[..., SandboxOutcome], expression: str) -> None:
    source = program(expression)
    assert check(source, Catalogue()) == ()
    outcome = run(source)
    assert isinstance(outcome, Returned)
    assert outcome.output == WORKING[expression]


@pytest.mark.parametrize(
    ("value", "owner"),
    [
        ("[1, 2]", "Array"),
        ("10n", "BigInt"),
        ("(1.5)", "Number"),
        ("({})", "Object"),
        ("new Uint8Array(1)", "TypedArray"),
        ("new Date()", "Date"),
    ],
)
def test_a_missing_method_is_named_with_what_it_was_called_on(
    run: Callable[..., SandboxOutcome], value: str, owner: str
) -> None:
    outcome = run(program(f"{value}.toLocaleString()"))

    assert isinstance(outcome, Threw)
    assert outcome.message.startswith(f"`{owner}.toLocaleString` does not exist here: ")
