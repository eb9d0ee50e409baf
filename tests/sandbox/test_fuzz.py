"""Programs put together by chance: always a documented end, in time, and the sandbox as good as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.support.fuzzing import TIMEOUT_SECONDS, fuzz, within
from vardy_worker.contracts.errors import JOB_ERRORS
from vardy_worker.contracts.execution import LimitHit, Returned, SandboxOutcome, Threw

DEADLINE_SECONDS = 0.3

ATOMS = st.sampled_from(
    [
        "1",
        "-0",
        "NaN",
        "2n ** 70n",
        "'x'",
        "'\\ud800'",
        "null",
        "undefined",
        "params",
        "globalThis",
        "Symbol.iterator",
        "[]",
        "{}",
        "[1, [2, [3]]]",
        "new Map([[{}, 1]])",
        "new Set([[]])",
        "new Date(NaN)",
        "/(a+)+$/",
        "() => 1",
        "new Proxy({}, {})",
        "new Proxy([], { get: () => 1 })",
        "Object.create(null)",
        "new Error('e')",
        "echo",
        "console",
        "await echo({ a: [1] })",
        "await big({})",
        "await save({ a: 1 })",
        "(await save({})).b.c",
        "echo({})",
        "classify",
        "await classify(['x', 1, null], ['a', '__proto__'])",
        "ai",
        "Promise.reject(1)",
        "Array(1e6)",
        "'a'.repeat(1e5)",
        "new Uint8Array(9)",
        "Object.prototype",
        "Array.prototype",
        "Promise.prototype",
        "Function.prototype",
        "Error.prototype",
        "WeakMap.prototype",
        "JSON",
        "Reflect",
        "Math",
        "(function* () { yield 1; })()",
    ]
)


def sync(text: str) -> bool:
    return "await" not in text


EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({{ a: {0}, get b() {{ return {1}; }} }})".format, inner.filter(sync), inner.filter(sync)),
        st.builds("[{0}, {1}]".format, inner, inner),
        st.builds("await echo({{ v: {0} }})".format, inner),
        st.builds("await classify({0}, {1})".format, inner, inner),
        st.builds("await classify([{0}], ['a', 'b'], {1})".format, inner, inner),
        st.builds("await ai('x', {0}, {{ type: {1} }})".format, inner, inner),
        st.builds("({0}) + ({1})".format, inner, inner),
        st.builds("JSON.stringify({0})".format, inner),
        st.builds("structuredClone({0})".format, inner),
        st.builds("await Promise.all([{0}, {1}])".format, inner, inner),
        st.builds("Object.entries({0})".format, inner),
        st.builds("await ({0})".format, inner),
        st.builds("(console.log({0}), {1})".format, inner, inner),
        st.builds("String({0}).split('').map((c) => ({1}))".format, inner, inner.filter(sync)),
    ),
    max_leaves=6,
)


STATEMENTS = st.one_of(
    st.builds("const {0} = {1};".format, st.sampled_from(["a", "b", "echo2"]), EXPRESSIONS),
    st.builds(
        "{0}[{1}] = {2};".format, ATOMS, st.sampled_from(["0", "'then'", "'toJSON'", "'get'", "'x'"]), EXPRESSIONS
    ),
    st.builds("try {{ {0}; }} catch (e) {{ throw {1}; }}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds("for (const k in {0}) {{ {1}; }}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds(
        "Object.defineProperty({0}, 'x', {{ get() {{ return {1}; }} }});".format, ATOMS, EXPRESSIONS.filter(sync)
    ),
    st.builds("for (const k of Reflect.ownKeys({0})) try {{ {0}[k] = {1}; }} catch {{}}".format, ATOMS, ATOMS),
    st.builds("queueMicrotask(() => {{ {0}; }});".format, EXPRESSIONS.filter(sync)),
    st.builds("throw {0};".format, EXPRESSIONS),
    st.builds("return {0};".format, EXPRESSIONS),
    st.builds("while ({0}) {{ {1}; }}".format, EXPRESSIONS, EXPRESSIONS),
)


@pytest.mark.timeout(TIMEOUT_SECONDS)
def test_any_program_has_a_documented_end_in_time(run: Callable[..., SandboxOutcome], host: Any) -> None:
    def act(statements: list[str], last: str) -> None:
        source = "async function run(params) {\n" + "\n".join(statements) + f"\nreturn {last};\n}}"
        # A machine busy with other tests may be late; that a program goes on for ever is what this looks for.
        outcome = within(
            DEADLINE_SECONDS + 2,
            lambda: run(source, judge=True, execute_seconds_max=DEADLINE_SECONDS, guest_memory_mib_max=16),
        )
        assert isinstance(outcome, Returned | Threw | LimitHit)
        if not isinstance(outcome, Returned):
            assert outcome.code in JOB_ERRORS
            assert outcome.code != "execution.sandbox_lost", source
        assert isinstance(within(12, lambda: run("return 1;", execute_seconds_max=10)), Returned)
        host.batches.clear()

    blocks = STATEMENTS.map(lambda text: "{ " + text + " }")
    assert fuzz(act, statements=st.lists(blocks, max_size=6), last=EXPRESSIONS)
