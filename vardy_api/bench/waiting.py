"""`waiting`: many jobs that each wait for a model's answer, in one worker."""

from __future__ import annotations

import time
from contextlib import ExitStack

from vardy_api.bench.jobs import Jobs, answer_with_program
from vardy_api.bench.measuring import Measurement, needs_proc, rss_mib
from vardy_api.bench.service import bench_stack
from vardy_worker.demo.scripted import ScriptedModel

JOBS = 200
ANSWER_SECONDS = 2.0
SECONDS_MAX = 4.0
MIB_MAX = 1.0


def waiting() -> Measurement:
    """From the first submission to the last settlement, and what the worker grows by while all wait."""
    needs_proc("waiting")
    with ExitStack() as opened:
        model = opened.enter_context(ScriptedModel(answer=answer_with_program))
        stack = opened.enter_context(bench_stack(**model.environment()))
        jobs = Jobs.opened(stack.redis_url, opened)
        # The first job of a worker that asks loads the model library.
        jobs.until_settled([jobs.asking()])
        worker = stack.pid("worker")
        before = rss_mib(worker)
        model.forget()
        model.delay_seconds = ANSWER_SECONDS
        began = time.perf_counter()
        submitted = [jobs.asking() for _ in range(JOBS)]
        submitting_seconds = time.perf_counter() - began
        all_wait = model.wait_for_requests(JOBS, timeout_seconds=ANSWER_SECONDS)
        for_each_mib = (rss_mib(worker) - before) / JOBS
        jobs.until_settled(submitted)
        seconds = time.perf_counter() - began
    return Measurement(
        name="waiting",
        what=f"{JOBS} jobs that wait {ANSWER_SECONDS:g} s each for a model, one worker, all settled",
        value=seconds,
        unit="s",
        floor=ANSWER_SECONDS,
        floor_what="one answer of the model",
        ratio=seconds / ANSWER_SECONDS,
        target=f"≤ {SECONDS_MAX:g} s, ≤ {MIB_MAX:g} MiB for each job that waits",
        met=all_wait and seconds <= SECONDS_MAX and for_each_mib <= MIB_MAX,
        details={
            "all_wait_at_once": all_wait,
            "mib_for_each": round(for_each_mib, 3),
            "submitting_s": round(submitting_seconds, 2),
        },
    )
