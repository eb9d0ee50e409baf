"""What crosses between a program and its host, and when."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.execution import (
    CallReply,
    CallValue,
    GuestCall,
    LimitHit,
    Returned,
    SandboxOutcome,
    SandboxRun,
    Stopped,
    StopProgram,
    Threw,
)
from vardy_worker.contracts.limits import Limits

Run = Callable[..., SandboxOutcome]


def output(outcome: SandboxOutcome) -> Any:
    assert isinstance(outcome, Returned), outcome
    return outcome.output


def test_calls_of_one_tick_form_one_batch_in_call_order(run: Run, host: Any) -> None:
    found = output(run("return Promise.all([1, 2, 3].map((n) => echo({ n })));"))
    assert found == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [[call.args for call in batch] for batch in host.batches] == [[{"n": 1}, {"n": 2}, {"n": 3}]]


def test_awaited_calls_are_batches_of_their_own(run: Run, host: Any) -> None:
    output(run("await echo({ n: 1 }); await echo({ n: 2 }); return null;"))
    assert [len(batch) for batch in host.batches] == [1, 1]


def test_calls_of_several_chains_meet_in_the_same_batches(run: Run, host: Any) -> None:
    chain = "const chain = async (n) => { await echo({ n }); await echo({ n }); };"
    output(run(chain + "await Promise.all([chain(1), chain(2)]);"))
    assert [[call.args["n"] for call in batch] for batch in host.batches] == [[1, 2], [1, 2]]


def test_call_ids_count_from_zero_over_all_batches(run: Run, host: Any) -> None:
    output(run("await Promise.all([echo({}), echo({})]); await echo({});"))
    assert [call.id for call in host.calls] == [0, 1, 2]


def test_a_call_knows_its_line_and_column(run: Run, host: Any) -> None:
    output(run("async function run() {\n  await Promise.resolve();\n  return (await echo({}));\n}"))
    assert (host.calls[0].line, host.calls[0].column) == (3, 17)


@pytest.mark.parametrize("value", [2**53 - 1, 2**53, -(2**53), 2**63 - 1, -(2**63), 10**40])
def test_integers_of_any_size_reach_programs_unchanged(run: Run, value: int) -> None:
    kind = "number" if abs(value) < 2**53 else "bigint"
    found = output(run("const v = params.list[1].v; return [typeof v, String(v)];", params={"list": [0, {"v": value}]}))
    assert found == [kind, str(value)]


def test_text_that_looks_like_a_large_integer_stays_text(run: Run) -> None:
    params = {"text": "9223372036854775807", "9223372036854775807": 9223372036854775807, "list": ["$bigint", "1n"]}
    found = output(
        run("return [typeof params.text, typeof params['9223372036854775807'], params.list];", params=params)
    )
    assert found == ["string", "bigint", ["$bigint", "1n"]]


def test_large_integers_below_proto_keys_arrive_and_pollute_nothing(run: Run) -> None:
    params = {"__proto__": {"big": 2**60}}
    found = output(run("return [Object.keys(params), String(params['__proto__'].big), ({}).big];", params=params))
    assert found == [["__proto__"], str(2**60), None]


def test_a_handler_may_stop_the_program_and_what_was_printed_is_kept(sandbox: ChildSandbox) -> None:
    def stop(_: Sequence[GuestCall]) -> Sequence[CallReply]:
        raise StopProgram

    source = "async function run() { console.log('before'); try { await f({}); } catch {} console.log('after'); }"
    outcome = sandbox.run(SandboxRun(source=source, functions=("f",), now_ms=0, seed="", limits=Limits()), stop)
    assert isinstance(outcome, Stopped)
    assert [line.text for line in outcome.console] == ["before"]


def test_an_error_of_the_handler_reaches_the_caller_and_costs_only_that_child(sandbox: ChildSandbox, run: Run) -> None:
    def break_down(_: Sequence[GuestCall]) -> Sequence[CallReply]:
        raise ZeroDivisionError

    job = SandboxRun(
        source="async function run() { await f({}); }", functions=("f",), now_ms=0, seed="", limits=Limits()
    )
    with pytest.raises(ZeroDivisionError):
        sandbox.run(job, break_down)
    assert output(run("return 1;")) == 1


def test_a_late_answer_is_a_timeout_and_the_child_is_kept(run: Run, sandbox: ChildSandbox) -> None:
    assert output(run("return 1;")) == 1
    before = set(sandbox.child_pids())
    outcome = run("await slow({ seconds: 0.3 }); return 1;", execute_seconds_max=0.2)
    assert isinstance(outcome, LimitHit)
    assert (outcome.code, outcome.limit, outcome.limit_value) == ("execution.timeout", "execute_seconds_max", 0.2)
    assert before <= set(sandbox.child_pids())


def test_equal_inputs_give_equal_outcomes_in_every_child(run: Run, sandbox: ChildSandbox) -> None:
    source = """
        const rows_ = await rows({ count: 5 });
        console.log(Math.random(), new Date(), rows_);
        const ids = rows_.map((row) => row.id + Math.floor(Math.random() * 1e6));
        await save({ ids, at: new Date() });
        return { ids, random: [Math.random(), Math.random()], now: Date.now(), zone: new Date().getTimezoneOffset() };
    """
    seen = set()
    for _ in range(100):
        outcome = run(source)
        seen.add(outcome.model_copy(update={"cpu_ms": 0}).model_dump_json())
    assert len(seen) == 1
    assert len(sandbox.child_pids()) > 1


def test_another_seed_gives_other_random_numbers(run: Run) -> None:
    first, second = (output(run("return Math.random();", seed=seed)) for seed in ("a", "b"))
    assert first != second
    assert 0 <= first < 1


def test_random_numbers_are_spread_evenly(run: Run) -> None:
    counts = output(
        run("const c = Array(10).fill(0); for (let i = 0; i < 2e4; i++) c[Math.floor(Math.random() * 10)]++; return c;")
    )
    assert all(1800 < count < 2200 for count in counts)


def test_a_program_sees_none_of_the_names_of_the_bridge(run: Run) -> None:
    found = output(run("return Object.getOwnPropertyNames(globalThis).sort();"))
    for name in ("eval", "performance", "std", "os", "bridge", "start", "resume", "collect", "print", "scriptArgs"):
        assert name not in found
    assert "echo" in found


def test_names_of_later_functions_are_globals_like_others(sandbox: ChildSandbox) -> None:
    job = SandboxRun(
        source="async function run() { return [await ai({ instruction: 'x' }), await classify({ texts: [] })]; }",
        functions=("ai", "classify"),
        now_ms=0,
        seed="",
        limits=Limits(),
    )
    outcome = sandbox.run(job, lambda calls: [CallValue(value=call.function) for call in calls])
    assert output(outcome) == ["ai", "classify"]


def test_a_limit_names_itself_its_value_and_the_size(run: Run) -> None:
    outcome = run("return 'x'.repeat(100);", output_bytes_max=64)
    assert isinstance(outcome, LimitHit)
    assert (outcome.code, outcome.limit, outcome.limit_value, outcome.value) == (
        "execution.output_too_large",
        "output_bytes_max",
        64,
        102,
    )


def test_sizes_are_those_of_utf_8(run: Run) -> None:
    outcome = run("return 'é'.repeat(40);", output_bytes_max=64)
    assert isinstance(outcome, LimitHit)
    assert outcome.value == 82


def test_a_smaller_memory_limit_holds(run: Run) -> None:
    fits = "const a = []; for (let i = 0; i < 20; i++) a.push('x'.repeat(1e6) + i); return a.length;"
    assert output(run(fits, guest_memory_mib_max=64)) == 20
    outcome = run(fits, guest_memory_mib_max=8)
    assert isinstance(outcome, LimitHit)
    assert (outcome.code, outcome.limit, outcome.limit_value) == ("execution.memory", "guest_memory_mib_max", 8)


def test_cpu_time_is_told(run: Run) -> None:
    quick = run("return 1;")
    slow = run("for (let i = 0; i < 1e6; i++); return 1;")
    assert 0 < quick.cpu_ms < slow.cpu_ms


def test_a_deadlock_is_noticed_long_before_the_deadline(run: Run) -> None:
    began = time.monotonic()
    outcome = run("await new Promise(() => {});", execute_seconds_max=30)
    assert isinstance(outcome, LimitHit)
    assert outcome.code == "execution.deadlock"
    assert time.monotonic() - began < 5


def test_messages_of_errors_are_bounded(run: Run) -> None:
    outcome = run("const e = new Error('x'.repeat(1e5)); e.name = 'y'.repeat(1e5); throw e;")
    assert isinstance(outcome, Threw)
    assert len(outcome.message) == 1000
    assert len(outcome.name) == 1000
