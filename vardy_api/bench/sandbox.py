"""`sandbox_start`: one fresh program with one call, from a warm child back to the parent."""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vardy_api.bench.floors import ROWS, QuickjsRs
from vardy_api.bench.functions import PROGRAM
from vardy_api.bench.measuring import Measurement, interleaved, median_seconds
from vardy_worker.contracts.execution import CallValue, Returned, SandboxRun
from vardy_worker.contracts.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.execution import CallReply, GuestCall

REPETITIONS = 40
ROUNDS = 5
RATIO_MAX = 0.6


def sandbox_start() -> Measurement:
    """Warm child, fresh guest, one function call, result back in the parent."""
    # By name: benchmarks reach into the worker's own half, which the API never does.
    sandbox: Any = import_module("vardy_worker.adapters.sandbox").ChildSandbox(warm=2, children_max=2)
    floor = QuickjsRs()

    def run() -> None:
        outcome = sandbox.run(
            SandboxRun(
                source=PROGRAM,
                functions=("list_rows",),
                params={"count": len(ROWS)},
                now_ms=time.time_ns() // 1_000_000,
                seed="bench",
                limits=Limits(),
            ),
            _answer,
        )
        if not isinstance(outcome, Returned):
            raise RuntimeError(f"the program did not return: {outcome}")  # noqa: TRY004 - no type is at fault

    try:
        run()
        floor.run()
        ours, theirs = interleaved(
            ROUNDS,
            lambda: median_seconds(run, REPETITIONS),
            lambda: median_seconds(floor.run, REPETITIONS),
        )
    finally:
        sandbox.close()
        floor.close()
    return Measurement(
        name="sandbox_start",
        what="fresh program with one call, warm child",
        value=ours * 1000,
        unit="ms",
        floor=theirs * 1000,
        floor_what="quickjs-rs, the same program in process",
        ratio=ours / theirs,
        target=f"≤ {RATIO_MAX} ×",
        met=ours / theirs <= RATIO_MAX,
    )


def _answer(batch: Sequence[GuestCall]) -> list[CallReply]:
    return [CallValue(value=ROWS) for _ in batch]
