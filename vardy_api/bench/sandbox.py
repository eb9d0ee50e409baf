"""`sandbox_start` and `sandbox_calls`: what a program costs, from a warm child back to the parent."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vardy_api.bench.floors import ROWS, QuickjsRs
from vardy_api.bench.functions import MANY_CALLS_PROGRAM, PROGRAM
from vardy_api.bench.measuring import Measurement, interleaved, median_seconds
from vardy_worker.contracts.execution import CallValue, Returned, SandboxRun
from vardy_worker.contracts.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.execution import CallReply, GuestCall

    Handler = Callable[[Sequence[GuestCall]], Sequence[CallReply]]

ROUNDS = 5
START_REPETITIONS = 40
START_RATIO_MAX = 0.6
CALLS = 200
CALLS_REPETITIONS = 3
CALLS_RATIO_MAX = 0.25


@contextmanager
def open_sandbox(*, children: int) -> Iterator[Any]:
    """A sandbox with so many warm children, all ready."""
    # By name: benchmarks reach into the worker's own half, which the API never does.
    sandbox: Any = import_module("vardy_worker.adapters.sandbox").ChildSandbox(warm=children, children_max=children)
    try:
        if not sandbox.wait_warm(60):
            raise RuntimeError("the sandbox did not get ready")
        yield sandbox
    finally:
        sandbox.close()


def run_program(sandbox: Any, source: str, params: JsonObject, handle: Handler | None = None) -> Any:
    """What the program returned. Raises `RuntimeError` for any other end."""
    run = SandboxRun(
        source=source,
        functions=("list_rows",),
        params=params,
        now_ms=time.time_ns() // 1_000_000,
        seed="bench",
        limits=Limits(),
    )
    outcome = sandbox.run(run, handle or rows_for_each)
    if not isinstance(outcome, Returned):
        raise RuntimeError(f"the program did not return: {outcome}")  # noqa: TRY004 - no type is at fault
    return outcome.output


def rows_for_each(batch: Sequence[GuestCall]) -> list[CallReply]:
    """Twenty rows for every call."""
    return [CallValue(value=ROWS) for _ in batch]


def sandbox_start() -> Measurement:
    """Warm child, fresh guest, one function call, result back in the parent."""
    params = {"count": len(ROWS)}
    ours, theirs = _against_quickjs_rs(PROGRAM, params, rows=len(ROWS), repetitions=START_REPETITIONS)
    return Measurement(
        name="sandbox_start",
        what="fresh program with one call, warm child",
        value=ours * 1000,
        unit="ms",
        floor=theirs * 1000,
        floor_what="quickjs-rs, the same program in process",
        ratio=ours / theirs,
        target=f"≤ {START_RATIO_MAX} ×",
        met=ours / theirs <= START_RATIO_MAX,
    )


def sandbox_calls() -> Measurement:
    """One program that makes its calls one after the other, each answered by twenty rows."""
    params = {"count": len(ROWS), "calls": CALLS}
    rows = CALLS * len(ROWS)
    ours, theirs = _against_quickjs_rs(MANY_CALLS_PROGRAM, params, rows=rows, repetitions=CALLS_REPETITIONS)
    return Measurement(
        name="sandbox_calls",
        what=f"each of {CALLS} calls in a row, {len(ROWS)} rows each",
        value=ours * 1000 / CALLS,
        unit="ms",
        floor=theirs * 1000 / CALLS,
        floor_what="quickjs-rs, the same program in process",
        ratio=ours / theirs,
        target=f"≤ {CALLS_RATIO_MAX} ×",
        met=ours / theirs <= CALLS_RATIO_MAX,
    )


def _against_quickjs_rs(source: str, params: JsonObject, *, rows: int, repetitions: int) -> tuple[float, float]:
    """Seconds of a whole program, here and in `quickjs-rs`."""
    floor = QuickjsRs(source, params, rows=rows)
    try:
        with open_sandbox(children=2) as sandbox:

            def run() -> None:
                if run_program(sandbox, source, params)["rows"] != rows:
                    raise RuntimeError("the program did not do its work")

            run()
            floor.run()
            ours, theirs = interleaved(
                ROUNDS,
                lambda: median_seconds(run, repetitions),
                lambda: median_seconds(floor.run, repetitions),
            )
    finally:
        floor.close()
    return ours, theirs
