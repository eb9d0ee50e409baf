"""`parked`: what a store's work costs with hundreds of thousands of jobs in it, against the same with few."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vardy_api.bench.acts import ACTS, BATCH, BATCHES, BOUNDED
from vardy_api.bench.filling import Filling
from vardy_api.bench.measuring import Measurement, seconds_of
from vardy_api.embedded import EmbeddedServer
from vardy_worker.store.connection import connect
from vardy_worker.store.cursor import make_cursor
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vardy_api.bench.acts import Act

JOBS = 100_000
"""Of each kind: queued, parked, settled."""
FEW = 600
"""The same on the server that the other is compared with; so many that pages are full there, too."""
TURN = 30
"""Jobs of one kind that come before others of the next."""
ROUNDS = 7
RATIO_MAX = 2.0
"""Linear would be 167. It is not 1, as a sorted set takes a step more for each doubling, and few
jobs are all in the processor's caches."""
SCRIPT_MS_MAX = 20.0
"""How long the scripts of an act may keep the server from everybody else, each on average."""
WEIGHED: Mapping[int, int] = {1: 2000, 10: 1000, 200: 100}
"""Plans that are weighed, by how many effects they have."""
EXPIRED_SECONDS = 1


def parked() -> Measurement:
    """Each act in turns on a server with few jobs and on one with many, and the memory of parked plans."""
    with ExitStack() as opened:
        few, many = Side.opened(opened), Side.opened(opened)
        sizes = {effects: many.weigh(plans, effects) for effects, plans in WEIGHED.items()}
        few.fill(FEW)
        filled = seconds_of(lambda: many.fill(JOBS))
        acts = {name: _compare(act, few, many) for name, act in ACTS.items()}
        bounded = {name: _compare(act, few, many) for name, act in BOUNDED.items()}
        server_mib = many.used_bytes() / 2**20
    scripts = {name: seen.script_ms for name, seen in (acts | bounded).items()}
    worst = max(acts, key=lambda name: acts[name].ratio)
    slowest = max(scripts, key=lambda name: scripts[name])
    return Measurement(
        name="parked",
        what=f"{worst}, which {JOBS:,} each of parked, queued and settled jobs slow most",
        value=acts[worst].many_ms,
        unit="ms of the server",
        floor=acts[worst].few_ms,
        floor_what=f"the same with {FEW} of each",
        ratio=acts[worst].ratio,
        target=f"≤ {RATIO_MAX} ×, scripts ≤ {SCRIPT_MS_MAX:g} ms each on average",
        met=acts[worst].ratio <= RATIO_MAX and scripts[slowest] <= SCRIPT_MS_MAX,
        details={
            **{f"{name}_ratio": round(seen.ratio, 2) for name, seen in acts.items()},
            **{f"{name}_ms": round(seen.many_ms, 2) for name, seen in bounded.items()},
            "slowest_scripts": slowest,
            "slowest_scripts_mean_ms": round(scripts[slowest], 2),
            **{f"bytes_of_a_plan_of_{effects}": round(size) for effects, size in sizes.items()},
            "server_mib": round(server_mib),
            "jobs_filled_per_s": round(3 * JOBS / filled),
        },
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """What one act took of the server's processor, and how many scripts it ran there."""

    cpu_ms: float
    scripts: float

    @property
    def script_ms(self) -> float:
        """The mean of the act's scripts, which do equal parts of its work: how long each kept the server to itself."""
        return self.cpu_ms / max(self.scripts, 1)


@dataclass(frozen=True, slots=True)
class Compared:
    """Medians over the rounds."""

    few_ms: float
    many_ms: float
    ratio: float
    script_ms: float


def _compare(act: Act, few: Side, many: Side) -> Compared:
    rounds = [(act(few), act(many)) for _ in range(ROUNDS)]
    return Compared(
        few_ms=statistics.median(with_few.cpu_ms for with_few, _ in rounds),
        many_ms=statistics.median(with_many.cpu_ms for _, with_many in rounds),
        ratio=statistics.median(with_many.cpu_ms / with_few.cpu_ms for with_few, with_many in rounds),
        script_ms=statistics.median(with_many.script_ms for _, with_many in rounds),
    )


@dataclass(slots=True)
class Side:
    """One server with its jobs. Acts use up those in `queued` and `parked`."""

    client: Any
    namespace: str = "vardy-bench"
    queued: list[str] = field(default_factory=list)
    parked: list[str] = field(default_factory=list)
    cursors: dict[str, str] = field(default_factory=dict)
    store: RedisJobStore = field(init=False)
    audit: RedisAuditTrail = field(init=False)
    filling: Filling = field(init=False)

    def __post_init__(self) -> None:
        self.store = RedisJobStore(self.client, self.namespace)
        self.audit = RedisAuditTrail(self.client, self.namespace)
        self.filling = Filling(self.client, self.namespace)

    @classmethod
    def opened(cls, opened: ExitStack) -> Side:
        """On a server of its own, which does not wait for its disk: what is compared is its work."""
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="vardy-bench-"))
        server = opened.enter_context(EmbeddedServer(Path(folder)))
        client = connect(server.url)
        opened.callback(client.close)
        client.config_set("appendfsync", "no")
        return cls(client)

    def weigh(self, plans: int, effects: int) -> float:
        """Bytes of memory that one parked plan with so many effects takes."""
        # What the first of them takes once is no plan's: scripts, connections, indexes.
        self.filling.parked(1, effects=effects)
        before = self.used_bytes()
        self.filling.parked(plans, effects=effects)
        return (self.used_bytes() - before) / plans

    def used_bytes(self) -> int:
        """What all that is stored takes, with what the server needs to find it."""
        return int(self.client.memory_stats()["dataset.bytes"] + self.client.memory_stats()["overhead.total"])

    def fill(self, jobs: int) -> None:
        """Settled jobs whose time is over, and then settled, parked and queued ones that came in turns."""
        self.filling.succeeded(ROUNDS * BATCHES * BATCH + jobs // 10, retain_seconds=EXPIRED_SECONDS)
        made: list[str] = []
        while len(self.parked) < jobs:
            count = min(TURN, jobs - len(self.parked))
            made += self.filling.succeeded(count)
            self.parked += self.filling.parked(count, effects=1)
            self.queued += self.filling.queued(count)
            made += self.parked[-count:] + self.queued[-count:]
        self.cursors = {"half way": self._cursor(made[len(made) // 2]), "near the end": self._cursor(made[100])}
        time.sleep(EXPIRED_SECONDS)
        for ids in (self.parked, self.queued):
            # Acts take jobs of all ages.
            ids.sort(key=lambda job_id: job_id[::-1])

    def make_due(self) -> None:
        """Lets every queued job be due that is not."""
        pipe = self.client.pipeline(transaction=False)
        for job_id in self.queued:
            pipe.zadd(Keys(self.namespace).due, {job_id: 1})
        pipe.execute()

    def cost(self, do: Callable[[], object], repetitions: int = 1) -> Cost:
        """Processor time, as it is the same on a busy machine; the client's part does not depend on the server."""
        scripts, cpu = self._scripts(), self._cpu_seconds()
        for _ in range(repetitions):
            do()
        cpu = self._cpu_seconds() - cpu
        return Cost(cpu_ms=1000 * cpu / repetitions, scripts=(self._scripts() - scripts) / repetitions)

    def _cpu_seconds(self) -> float:
        info = self.client.info(section="cpu")
        return float(info["used_cpu_user_main_thread"] + info["used_cpu_sys_main_thread"])

    def _scripts(self) -> int:
        return int(self.client.info(section="commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])

    def _cursor(self, job_id: str) -> str:
        created = self.client.hget(Keys(self.namespace).job(job_id), "created_at_ms")
        return make_cursor(int(created), job_id)
