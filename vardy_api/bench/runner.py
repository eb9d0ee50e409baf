"""Runs benchmarks by name and prints what they measured."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from vardy_api.bench.classify import classify
from vardy_api.bench.commits import commit
from vardy_api.bench.long_polls import long_polls
from vardy_api.bench.memory import memory
from vardy_api.bench.parked import parked
from vardy_api.bench.queued import queued
from vardy_api.bench.rules import rules
from vardy_api.bench.sandbox import sandbox_calls, sandbox_start
from vardy_api.bench.sandbox_memory import sandbox_memory
from vardy_api.bench.service import latency, start, throughput
from vardy_api.bench.tokens import tokens
from vardy_api.bench.waiting import waiting
from vardy_worker.contracts.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vardy_api.bench.measuring import Measurement

BENCHMARKS: Mapping[str, Callable[[], Measurement]] = {
    "sandbox_start": sandbox_start,
    "sandbox_calls": sandbox_calls,
    "sandbox_memory": sandbox_memory,
    "start": start,
    "tokens": tokens,
    "classify": classify,
    "latency": latency,
    "throughput": throughput,
    "waiting": waiting,
    "memory": memory,
    "rules": rules,
    "commit": commit,
    "long_polls": long_polls,
    "parked": parked,
    "queued": queued,
}
LONG = frozenset({"memory", "parked", "queued"})
"""Those that take minutes each, so that they run only when they are named."""


def run_bench(names: tuple[str, ...] = (), *, as_json: bool = False) -> int:
    """Runs the named benchmarks, or all that are not long; 0 when all were measured, whether or not targets were met.

    Raises `RequestError` for a name that is none.
    """
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise RequestError(f"There is no benchmark {unknown[0]}; there are {', '.join(BENCHMARKS)}.")
    progress = Console(stderr=True)
    results = []
    for name in names or [name for name in BENCHMARKS if name not in LONG]:
        with progress.status(f"measuring {name} …"):
            results.append(BENCHMARKS[name]())
    if as_json:
        sys.stdout.write(json.dumps([result.as_json() for result in results], ensure_ascii=False, indent=2) + "\n")
    else:
        Console().print(_table(results))
    return 0


def _table(results: list[Measurement]) -> Table:
    table = Table(title="Measured against floors of the same run", title_justify="left")
    for column in ("name", "measures", "value", "floor", "ratio", "target", "met"):
        table.add_column(column, overflow="fold")
    for result in results:
        floor = "" if result.floor is None else f"{result.floor:,.2f} {result.unit}\n{result.floor_what}"
        details = "".join(f"\n{key} {value}" for key, value in result.details.items())
        table.add_row(
            result.name,
            result.what,
            f"{result.value:,.2f} {result.unit}{details}",
            floor,
            "" if result.ratio is None else f"{result.ratio:.2f} ×",
            result.target,
            "yes" if result.met else "no",
        )
    return table
