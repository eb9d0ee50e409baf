"""`commit`: effects through the journal, against two script calls per effect on the same server."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vardy_api.bench.functions import writes
from vardy_api.bench.measuring import Measurement, interleaved, seconds_of
from vardy_api.bench.plans import ALLOW_ALL, AllowedPlans
from vardy_api.embedded import EmbeddedServer
from vardy_worker.active_rules import ActiveRules
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.policy import RulesVersion
from vardy_worker.contracts.status import Status
from vardy_worker.documents import CURRENT, RULES
from vardy_worker.functions import build_catalogue
from vardy_worker.leases import LeaseKeeper
from vardy_worker.rules import CelRules
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterator

EFFECTS = 200
ROUNDS = 5
RATIO_MIN = 0.5
NAMESPACE = "vardy-bench"
WRITE = "redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) return 1"
"""The least that a script which writes one effect's outcome does."""


def commit() -> Measurement:
    """Commits whole plans of a function that does nothing, on a server of its own."""
    with ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="vardy-bench-"))
        server = opened.enter_context(EmbeddedServer(Path(folder)))
        committer = opened.enter_context(_Committer.opened(server.url))
        floor = _Floor(server.url)
        opened.callback(floor.close)
        committer.one()
        floor.one()
        ours, theirs = interleaved(ROUNDS, committer.one, floor.one)
    ratio = theirs / ours
    return Measurement(
        name="commit",
        what=f"effects through the journal, plans of {EFFECTS}",
        value=EFFECTS / ours,
        unit="effects/s",
        floor=EFFECTS / theirs,
        floor_what="two script calls per effect on the same server",
        ratio=ratio,
        target=f"≥ {RATIO_MIN} ×",
        met=ratio >= RATIO_MIN,
    )


class _Committer:
    """A worker's commit task, in this process."""

    def __init__(self, store: RedisJobStore, pipeline: Any, rules_digest: str) -> None:
        self._store = store
        self._pipeline = pipeline
        self._plans = AllowedPlans(store, rules_digest)

    @classmethod
    @contextmanager
    def opened(cls, redis_url: str) -> Iterator[_Committer]:
        """With allowing rules in the store."""
        settings = load_settings(redis_url=redis_url, namespace=NAMESPACE)
        client = connect(redis_url)
        store, documents = RedisJobStore(client, NAMESPACE), RedisDocuments(client, NAMESPACE)
        clock, engine = SystemClock(), CelRules()
        active = RulesVersion(version=1, digest=engine.load(ALLOW_ALL, build_catalogue(writes)).digest, text=ALLOW_ALL)
        documents.put(RULES, CURRENT, active.model_dump(mode="json", exclude={"version"}))
        leases = LeaseKeeper(store, clock)
        # By name: benchmarks reach into the worker's own half, which the API never does.
        host = import_module("vardy_worker.functions.runtime").FunctionRuntime(writes, threads=1)
        pipeline = import_module("vardy_worker.pipeline.commit").CommitPipeline(
            store=store,
            host=host,
            rules=ActiveRules(documents, engine),
            leases=leases,
            clock=clock,
            settings=settings,
            worker="bench",
        )
        host.start()
        try:
            yield cls(store, pipeline, active.digest)
        finally:
            leases.stop()
            host.stop()
            client.close()

    def one(self) -> float:
        """Seconds of one commit; the job is in the store before, and looked at after."""
        job_id = self._plans.one(EFFECTS)
        taken = seconds_of(lambda: self._pipeline.commit(job_id))
        state = self._store.version(job_id)
        if state is None or state[1] is not Status.SUCCESS:
            raise RuntimeError(f"the commit ended as {state}")
        return taken


class _Floor:
    """Two script calls per effect, each of which writes as much as an effect's record."""

    def __init__(self, redis_url: str) -> None:
        self._client = connect(redis_url)
        self._script = self._client.script_load(WRITE)
        self._record = json.dumps({"seq": 0, "state": "SUCCEEDED", "idempotency_key": "0" * 64, "result": 0})
        self._jobs = 0

    def one(self) -> float:
        """Seconds of one plan's calls."""
        self._jobs += 1
        key = f"{NAMESPACE}:floor:{self._jobs}"

        def calls() -> None:
            for seq in range(EFFECTS):
                for half in range(2):
                    self._client.evalsha(self._script, 1, key, f"{seq}:{half}", self._record)

        return seconds_of(calls)

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()
