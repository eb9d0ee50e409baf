"""`sandbox_memory`: what a sandbox child takes while it is idle, and while it runs a program."""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vardy_api.bench.floors import ROWS
from vardy_api.bench.functions import PROGRAM
from vardy_api.bench.measuring import Measurement
from vardy_api.bench.sandbox import open_sandbox, rows_for_each, run_program
from vardy_worker.contracts.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vardy_worker.contracts.execution import CallReply, GuestCall

CHILDREN = 2
RUNS_BEFORE = 50
HELD_MIB = 48
IDLE_MIB_MAX = 32.0
SECONDS_MAX = 60.0

HOLDING_PROGRAM = """async function run(params) {
  const held = new Uint8Array(params.mib * 1024 * 1024).fill(1);
  const rows = await list_rows({ count: params.count });
  return { rows: rows.length, held: held.length };
}
"""
FLOOR = f"""
import asyncio, sys
import quickjs_rs
rows = [{{"id": n, "name": f"row {{n}}", "amount": n * 3}} for n in range({len(ROWS)})]
async def list_rows(args):
    return rows
async def main():
    runtime = quickjs_rs.Runtime(memory_limit=64 * 1024 * 1024)
    context = runtime.new_context(timeout=30)
    context.register("list_rows", list_rows, is_async=True)
    await context.eval_async(sys.argv[1] + "\\nawait run({{count: {len(ROWS)}}})")
    print("ready", flush=True)
    sys.stdin.read()
asyncio.run(main())
"""
"""A process with nothing but `quickjs-rs`, which keeps its runtime."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of a process in MiB: resident, and its share, in which shared pages are divided among their users."""

    rss: float
    pss: float


def footprint(pid: int) -> Footprint:
    """What a process takes now. Raises `OSError` when it is gone."""
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        name, _, size = line.partition(":")
        if name in {"Rss", "Pss"}:
            sizes[name] = int(size.split()[0]) / 1024
    return Footprint(rss=sizes["Rss"], pss=sizes["Pss"])


def sandbox_memory() -> Measurement:
    """Each of two children: idle after some programs, at a call of a small program, and at one of a large one."""
    if not Path("/proc/self/smaps_rollup").exists():
        raise SettingsError("The benchmark sandbox_memory reads /proc, which only Linux has.")
    with open_sandbox(children=CHILDREN) as sandbox:
        for _ in range(RUNS_BEFORE):
            run_program(sandbox, PROGRAM, {"count": len(ROWS)})
        idle = _median(map(footprint, sandbox.child_pids()))
        busy = _while_calling(sandbox, PROGRAM)
        holding = _while_calling(sandbox, HOLDING_PROGRAM)
    floor = _floor()
    return Measurement(
        name="sandbox_memory",
        what="resident memory of an idle child",
        value=idle.rss,
        unit="MiB",
        floor=floor.rss,
        floor_what="a process with quickjs-rs and nothing else",
        ratio=idle.rss / floor.rss,
        target=f"≤ {IDLE_MIB_MAX:g} MiB",
        met=idle.rss <= IDLE_MIB_MAX,
        details={
            "idle_pss_mib": round(idle.pss, 1),
            "busy_rss_mib": round(busy.rss, 1),
            "busy_pss_mib": round(busy.pss, 1),
            f"holding_{HELD_MIB}_mib_rss_mib": round(holding.rss, 1),
            f"holding_{HELD_MIB}_mib_pss_mib": round(holding.pss, 1),
            "floor_pss_mib": round(floor.pss, 1),
        },
    )


def _while_calling(sandbox: Any, source: str) -> Footprint:
    """One child, while all run the program and wait for the answer to its call."""
    found: list[Footprint] = []

    def look() -> None:
        found.extend(map(footprint, sandbox.child_pids()))

    all_call = threading.Barrier(CHILDREN, action=look)

    def handle(batch: Sequence[GuestCall]) -> list[CallReply]:
        all_call.wait(SECONDS_MAX)
        return rows_for_each(batch)

    with ThreadPoolExecutor(CHILDREN) as threads:
        params = {"count": len(ROWS), "mib": HELD_MIB}
        running = [threads.submit(run_program, sandbox, source, params, handle) for _ in range(CHILDREN)]
        for run in running:
            run.result()
    return _median(found)


def _floor() -> Footprint:
    with subprocess.Popen(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", FLOOR, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if process.stdout is None or process.stdout.readline() != "ready\n":
                msg = "This benchmark needs its floor: install quickjs-rs (it is in requirements-dev.lock)."
                raise SettingsError(msg)
            return footprint(process.pid)
        finally:
            process.kill()


def _median(found: Iterable[Footprint]) -> Footprint:
    several = list(found)
    return Footprint(
        rss=statistics.median(one.rss for one in several), pss=statistics.median(one.pss for one in several)
    )
