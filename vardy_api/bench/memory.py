"""`memory`: what a worker takes after many jobs, against what it takes after some."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from vardy_api.bench.jobs import Jobs, answer_with_program
from vardy_api.bench.measuring import Measurement, needs_proc, rss_mib, seconds_of
from vardy_api.bench.service import bench_stack
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable

SOME, MANY = 500, 10_000
AT_ONCE = 250
"""Jobs in hand, from the first on, so that no thread and no connection is new later."""
ASKING_SHARE = 20
"""One job of so many asks a model."""
RATIO_MAX = 1.05


def memory() -> Measurement:
    """Resident memory of a worker that had its peak of jobs in hand twice, and after many times as many."""
    needs_proc("memory")
    with ExitStack() as opened:
        model = opened.enter_context(ScriptedModel(answer=answer_with_program))
        stack = opened.enter_context(bench_stack(**model.environment()))
        jobs = Jobs.opened(stack.redis_url, opened)
        worker = stack.pid("worker")
        _run(jobs, model.forget, SOME)
        some = rss_mib(worker)
        seconds = seconds_of(lambda: _run(jobs, model.forget, MANY - SOME))
        many = rss_mib(worker)
    ratio = many / some
    return Measurement(
        name="memory",
        what=f"a worker's resident memory after {MANY:,} jobs",
        value=many,
        unit="MiB",
        floor=some,
        floor_what=f"the same after {SOME} jobs",
        ratio=ratio,
        target=f"≤ {RATIO_MAX} ×",
        met=ratio <= RATIO_MAX,
        details={
            "bytes_for_each": round((many - some) * 2**20 / (MANY - SOME)),
            "jobs_per_s": round((MANY - SOME) / seconds),
        },
    )


def _run(jobs: Jobs, forget: Callable[[], None], count: int) -> None:
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        jobs.until_settled([jobs.of_recipe() if number % ASKING_SHARE else jobs.asking() for number in numbers])
        # What the scripted model was sent is kept in this process, not in the worker.
        forget()
