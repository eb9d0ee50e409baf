"""`throughput`, `latency` and `start`: the processes as they run in production."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from vardy_api.bench.floors import QuickjsRs, noop_api, noop_worker
from vardy_api.bench.functions import PROGRAM
from vardy_api.bench.jobs import BENCH_USER, PARAMS, RECIPE, Jobs
from vardy_api.bench.measuring import Measurement, interleaved, median_seconds, percentile, seconds_of
from vardy_api.client import Vardy
from vardy_api.stack import Stack
from vardy_worker.contracts.quota import REQUESTS_PER_MINUTE_MAX
from vardy_worker.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = "vardy_api.bench.functions:functions"
WRITES = "vardy_api.bench.functions:writes"
THROUGHPUT_JOBS = 300
THROUGHPUT_ROUNDS = 3
LATENCY_JOBS = 60
LATENCY_ROUNDS = 3
START_ROUNDS = 3
API_START_SECONDS_MAX = 1.5
WORKER_START_SECONDS_MAX = 3.0
NEVER_REFUSED = {f"VARDY_{of}_REQUESTS_PER_MINUTE": str(REQUESTS_PER_MINUTE_MAX) for of in ("KEY", "USER")}
"""Rates are counted, as in every deployment, and never used up."""


@contextmanager
def bench_stack(**environment: str) -> Iterator[Stack]:
    """A whole deployment with the functions of the benchmarks, in a folder that is removed."""
    with tempfile.TemporaryDirectory(prefix="vardy-bench-") as folder:
        given = {"VARDY_FUNCTIONS": FUNCTIONS, "VARDY_LOG_LEVEL": "warning", **NEVER_REFUSED, **environment}
        with Stack(data_dir=Path(folder), show=lambda _name, _line: None, environment=given) as stack:
            yield stack


def throughput() -> Measurement:
    """Recipe jobs (one read, no AI) settled per second by one worker."""
    with ExitStack() as opened:
        stack = opened.enter_context(bench_stack())
        jobs = Jobs.opened(stack.redis_url, opened)
        settings = load_settings(redis_url=stack.redis_url)
        noops = opened.enter_context(
            noop_worker(stack.redis_url, settings.namespace, concurrency=settings.worker_concurrency)
        )
        floor_run = QuickjsRs()
        opened.callback(floor_run.close)

        def settle() -> None:
            jobs.until_settled([jobs.of_recipe() for _ in range(THROUGHPUT_JOBS)])

        def per_one() -> float:
            return seconds_of(settle) / THROUGHPUT_JOBS

        def tasks() -> float:
            return seconds_of(lambda: noops.many(THROUGHPUT_JOBS)) / THROUGHPUT_JOBS

        per_one()
        per_job, per_task, per_run = interleaved(
            THROUGHPUT_ROUNDS, per_one, tasks, lambda: median_seconds(floor_run.run, 20)
        )
    floor = 1 / (per_task + per_run)
    ratio = (1 / per_job) / floor
    return Measurement(
        name="throughput",
        what="recipe jobs settled per second, one worker",
        value=1 / per_job,
        unit="jobs/s",
        floor=floor,
        floor_what="one Celery no-op and one quickjs-rs run, one after the other",
        ratio=ratio,
        target="≥ 1.0 ×",
        met=ratio >= 1,
        details={"noop_ms": round(per_task * 1000, 3), "quickjs_rs_ms": round(per_run * 1000, 3)},
    )


def latency() -> Measurement:
    """Submit over HTTP until the waiting client sees the job settled, on an idle system."""
    samples: list[float] = []
    with ExitStack() as opened:
        stack = opened.enter_context(bench_stack())
        settings = load_settings(redis_url=stack.redis_url)
        noops = opened.enter_context(noop_worker(stack.redis_url, settings.namespace, concurrency=4))
        address = opened.enter_context(noop_api())
        http = opened.enter_context(httpx.Client())
        vardy = opened.enter_context(Vardy(stack.url, api_key=stack.api_key))
        floor_run = QuickjsRs()
        opened.callback(floor_run.close)
        vardy.save_recipe(RECIPE, source=PROGRAM, params_schema={"type": "object"})

        def job() -> float:
            taken = seconds_of(lambda: vardy.run(recipe=RECIPE, params=PARAMS, user=BENCH_USER))
            samples.append(taken)
            return taken

        def floor() -> float:
            def parts() -> None:
                http.post(address, json={"recipe": RECIPE})
                noops.one()
                floor_run.run()

            return seconds_of(parts)

        floors: list[float] = []
        for _ in range(5):
            job()
            floor()
        samples.clear()
        for _ in range(LATENCY_ROUNDS * LATENCY_JOBS):
            job()
            floors.append(floor())
    ours = {share: percentile(samples, share) for share in (0.5, 0.99)}
    theirs = {share: percentile(floors, share) for share in (0.5, 0.99)}
    ratio, tail = ours[0.5] / theirs[0.5], ours[0.99] / theirs[0.99]
    return Measurement(
        name="latency",
        what="submit over HTTP to settled, idle, p50",
        value=ours[0.5] * 1000,
        unit="ms",
        floor=theirs[0.5] * 1000,
        floor_what="one FastAPI no-op, one Celery no-op, one quickjs-rs run",
        ratio=ratio,
        target="p50 ≤ 1.5 ×, p99 ≤ 2.5 ×",
        met=ratio <= 1.5 and tail <= 2.5,  # noqa: PLR2004 - the target, as it is printed
        details={"p99_ms": round(ours[0.99] * 1000, 2), "p99_ratio": round(tail, 2)},
    )


def start() -> Measurement:
    """`vardy api` and `vardy worker`, from the command to serving."""
    with bench_stack() as stack:
        worker_seconds, api_seconds = interleaved(START_ROUNDS, stack.restart_worker, stack.restart_api)
    met = api_seconds <= API_START_SECONDS_MAX and worker_seconds <= WORKER_START_SECONDS_MAX
    return Measurement(
        name="start",
        what="worker ready (API in details)",
        value=worker_seconds,
        unit="s",
        target=f"API ≤ {API_START_SECONDS_MAX} s, worker ≤ {WORKER_START_SECONDS_MAX} s",
        met=met,
        details={"api_s": round(api_seconds, 2), "worker_s": round(worker_seconds, 2)},
    )
