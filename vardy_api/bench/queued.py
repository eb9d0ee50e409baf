"""`queued`: what API, worker and server take of the processor with 100,000 jobs in the queue, against few.

acts of the API, commits, looks of a reconciler    the worker serves commits alone, so that the backlog stays
starts of a worker, jobs taken from the queue      the worker serves runs alone
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vardy_api.bench.backlog import fill_queue
from vardy_api.bench.floors import until_true
from vardy_api.bench.jobs import BENCH_USER, PARAMS, QUESTION, Jobs
from vardy_api.bench.measuring import Measurement, cpu_seconds, needs_proc, seconds_of
from vardy_api.bench.plans import ALLOW_ALL, AllowedPlans
from vardy_api.bench.service import FUNCTIONS, WRITES, bench_stack
from vardy_api.client import Vardy
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.status import Status
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.store.redis_presence import RedisPresence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vardy_api.stack import Stack

JOBS = 100_000
FEW = 2_000
"""Enough for pages to be full, and for a worker to take from while it is measured."""
ROUNDS = 9
CALLS = 20
"""Of one act in a round."""
LOOKS = 70
"""Over more than a minute, in which every queued job is looked at."""
STARTS = 3
TAKEN = 1_000
"""Jobs that a worker takes from the queue in a round."""
TAKE_SECONDS_MAX = 300.0
QUIET_SECONDS = 10.0
RATIO_MAX = 2.0
LOOK_MS_MAX = 250.0
"""Of a reconciler's look: it costs what there is to look at, up to a bound."""


def queued() -> Measurement:
    """Every act in turns on both sides."""
    needs_proc("queued")
    with ExitStack() as opened:
        few, many = Side.opened(opened), Side.opened(opened)
        few.fill(FEW)
        filling_seconds = seconds_of(lambda: many.fill(JOBS))
        quiet = [side.quiet() for side in (few, many)]
        acts = {name: _compare(act, few, many) for name, act in ACTS.items()}
        looks = [many.look() for _ in range(LOOKS)]
        acts["take a job"] = _Compared.of([(few.take(), many.take())])
        starts = [(few.stack.restart_worker(), many.stack.restart_worker()) for _ in range(STARTS)]
    worst = max(acts, key=lambda name: acts[name].ratio)
    start_few, start_many = (statistics.median(times) for times in zip(*starts, strict=True))
    return Measurement(
        name="queued",
        what=f"{worst}, which {JOBS:,} queued jobs slow most",
        value=acts[worst].many_ms,
        unit="ms of processors",
        floor=acts[worst].few_ms,
        floor_what=f"the same with {FEW:,}",
        ratio=acts[worst].ratio,
        target=f"≤ {RATIO_MAX} ×, a look of a reconciler ≤ {LOOK_MS_MAX:g} ms",
        met=acts[worst].ratio <= RATIO_MAX and max(looks) <= LOOK_MS_MAX,
        details={
            **{f"{name}_ratio": round(seen.ratio, 2) for name, seen in acts.items()},
            **{f"{name}_ms": round(seen.many_ms, 2) for name, seen in acts.items()},
            **{f"{name}_p50_ms": round(seen.clock_ms, 1) for name, seen in acts.items() if seen.clock_ms},
            "look_median_ms": round(statistics.median(looks), 1),
            "look_longest_ms": round(max(looks), 1),
            "without_requests_ms_per_s": round(quiet[1], 1),
            "without_requests_few_ms_per_s": round(quiet[0], 1),
            "worker_start_s": round(start_many, 1),
            "worker_start_few_s": round(start_few, 1),
            "jobs_filled_per_s": round(JOBS / filling_seconds),
        },
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    few_ms: float
    many_ms: float
    ratio: float
    clock_ms: float = 0
    """By the clock, with many."""

    @classmethod
    def of(cls, rounds: list[tuple[float, float]], clock_ms: float = 0) -> _Compared:
        """Medians of rounds of (few, many)."""
        return cls(
            few_ms=statistics.median(few for few, _ in rounds),
            many_ms=statistics.median(many for _, many in rounds),
            ratio=statistics.median(many / few for few, many in rounds),
            clock_ms=clock_ms,
        )


def _compare(act: Callable[[Side], object], few: Side, many: Side) -> _Compared:
    act(few)
    act(many)
    clocks: list[float] = []
    costs = [(few.cost(act, []), many.cost(act, clocks)) for _ in range(ROUNDS)]
    return _Compared.of(costs, statistics.median(clocks) * 1000)


@dataclass(slots=True)
class Side:
    """One deployment with a queue."""

    stack: Stack
    http: Vardy
    jobs: Jobs
    plans: AllowedPlans
    client: Any
    reconciler: Any
    namespace: str
    processes: dict[str, int] = field(default_factory=dict)
    newest: str = ""

    @classmethod
    def opened(cls, opened: ExitStack) -> Side:
        """Its worker serves commits alone."""
        stack = opened.enter_context(bench_stack(VARDY_WORKER_QUEUES="commit", VARDY_FUNCTIONS=WRITES))
        http = opened.enter_context(Vardy(stack.url, api_key=stack.api_key))
        rules = http.apply_rules(ALLOW_ALL, user=BENCH_USER)
        jobs = Jobs.opened(stack.redis_url, opened)
        client = connect(stack.redis_url)
        opened.callback(client.close)
        settings = load_settings(redis_url=stack.redis_url)
        # By name: benchmarks reach into the worker's own half, which the API never does.
        reconciler = import_module("vardy_worker.reconcile").Reconciler(
            store=jobs.store,
            audit=RedisAuditTrail(client, settings.namespace),
            queue=jobs.queue,
            presence=RedisPresence(client, settings.namespace),
            clock=SystemClock(),
            settings=settings,
            worker="bench",
        )
        side = cls(stack, http, jobs, AllowedPlans(jobs.store, rules.digest), client, reconciler, settings.namespace)
        side.processes = {
            "api": stack.pid("api"),
            "worker": stack.pid("worker"),
            "server": int(client.info(section="server")["process_id"]),
        }
        return side

    def fill(self, count: int) -> None:
        """Queues jobs, without waiting for the disk meanwhile."""
        self.client.config_set("appendfsync", "no")
        fill_queue(self.client, self.namespace, self.jobs, count)
        self.client.config_set("appendfsync", "always")
        self.newest = self.http.run(QUESTION, params=PARAMS, user=BENCH_USER, wait=False).id

    def quiet(self) -> float:
        """Milliseconds of the processor in a second without requests."""
        spent = self._spent()
        time.sleep(QUIET_SECONDS)
        return (self._spent() - spent) * 1000 / QUIET_SECONDS

    def cost(self, act: Callable[[Side], object], clocks: list[float]) -> float:
        """Milliseconds of the processor for an act; how long each took is added to `clocks`."""
        spent = self._spent()
        clocks += [seconds_of(lambda: act(self)) for _ in range(CALLS)]
        return (self._spent() - spent) * 1000 / CALLS

    def look(self) -> float:
        """Milliseconds of the processor for one look; a reconciler looks once a second."""
        time.sleep(1)
        server, here = cpu_seconds(self.processes["server"]), time.process_time()
        self.reconciler.look()
        return (cpu_seconds(self.processes["server"]) - server + time.process_time() - here) * 1000

    def commit(self) -> None:
        """Commits a plan of one effect through the queue."""
        job_id = self.plans.one(1)
        self.jobs.queue.publish("commit", job_id)
        self.jobs.until_settled([job_id])

    def take(self) -> float:
        """Puts a worker for runs in the place of the one for commits.

        Milliseconds of the processor for each of the first jobs that it takes from the queue and settles.
        """
        self.stack.environment |= {"VARDY_WORKER_QUEUES": "run", "VARDY_FUNCTIONS": FUNCTIONS}
        self.stack.restart_worker()
        self.processes["worker"] = self.stack.pid("worker")
        spent, settled = self._processes(), self._settled()
        until_true(lambda: self._settled() >= settled + TAKEN, seconds=TAKE_SECONDS_MAX)
        return (self._processes() - spent) * 1000 / (self._settled() - settled)

    def _settled(self) -> int:
        return self.jobs.store.counts()[Status.SUCCESS]

    def _processes(self) -> float:
        return sum(map(cpu_seconds, self.processes.values()))

    def _spent(self) -> float:
        """With this process, whose part of an act does not depend on the queue; the reconciler runs in it."""
        return self._processes() + time.process_time()


ACTS: Mapping[str, Callable[[Side], object]] = {
    "submit": lambda side: side.http.run(QUESTION, params=PARAMS, user=BENCH_USER, wait=False),
    "first page": lambda side: side.http.list_jobs(limit=50),
    "page of one status": lambda side: side.http.list_jobs(status=Status.QUEUED, limit=50),
    "page of a user": lambda side: side.http.list_jobs(user=BENCH_USER.id, limit=50),
    "read a job": lambda side: side.http.get(side.newest),
    "commit": Side.commit,
}
