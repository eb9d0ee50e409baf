"""The composition root of a worker. Beside it, only `testing` names concrete classes.

What a queue does not need is not even imported: a worker for commits alone has neither
a model nor a sandbox in reach.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.active_rules import ActiveRules
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.ids import new_id
from vardy_worker.functions.loading import load_functions
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.leases import LeaseKeeper
from vardy_worker.process import WorkerProcess
from vardy_worker.queue import CeleryQueue
from vardy_worker.reconcile import Reconciler
from vardy_worker.rules import CelRules
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore
from vardy_worker.store.redis_judge_cache import RedisJudgeCache
from vardy_worker.store.redis_presence import RedisPresence

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from vardy_worker.adapters.sandbox import ChildSandbox
    from vardy_worker.pipeline.commit import CommitPipeline
    from vardy_worker.pipeline.run import RunPipeline
    from vardy_worker.settings import Settings


OUTAGE_SECONDS = 60
"""How long a job in hand waits for a server that is away, before it is left to the reconciler.

What it knows by then, such as the outcome of a call, would be unknown to whoever goes on.
"""


CHILD_CHANGE_SECONDS = 5
"""How long it may take until a child that ended its program serves the next one, or another stands in its place."""


def child_wait_seconds(settings: Settings) -> float:
    """How long a program waits for a child: until all that were before it have used their whole time.

    More jobs may be in hand than children run, and each holds its child while it waits for a
    judge or a slow function. That is no reason to give a job up.
    """
    turns = -(-settings.worker_concurrency // settings.sandbox_children_max)
    return turns * (settings.limits.execute_seconds_max + CHILD_CHANGE_SECONDS)


def worker_name() -> str:
    """A name for this process that no other process has or had."""
    return f"{socket.gethostname()}:{os.getpid()}:{new_id('w')[-6:]}"


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the pipelines share."""

    settings: Settings
    name: str
    store: RedisJobStore
    judge_cache: RedisJudgeCache
    queue: CeleryQueue
    host: FunctionRuntime
    rules: ActiveRules
    leases: LeaseKeeper
    clock: SystemClock
    closing: list[Callable[[], None]] = field(default_factory=list)


def build_worker(settings: Settings, celery: Celery) -> WorkerProcess:
    """The whole worker for the queues that the settings name. Connects at its first command.

    Raises `SettingsError` for a missing setting or a functions module that cannot be loaded.
    """
    settings.need("redis_url", "functions")
    clock = SystemClock()
    client = connect(settings.redis_url, socket_timeout_seconds=settings.redis_timeout_seconds)
    store = RedisJobStore(client, settings.namespace, replicas=settings.journal_replicas)
    documents = RedisDocuments(client, settings.namespace, replicas=settings.journal_replicas)
    patient = RedisJobStore(
        client, settings.namespace, replicas=settings.journal_replicas, patience_seconds=OUTAGE_SECONDS
    )
    parts = _Parts(
        settings=settings,
        name=worker_name(),
        store=patient,
        judge_cache=RedisJudgeCache(client, settings.namespace),
        queue=CeleryQueue(celery, settings),
        host=FunctionRuntime(load_functions(settings.functions), threads=settings.function_threads),
        rules=ActiveRules(documents, CelRules()),
        leases=LeaseKeeper(store, clock),
        clock=clock,
    )
    sandbox = _sandbox(parts) if "run" in settings.worker_queues else None
    runs = None if sandbox is None else _runs(parts, sandbox)
    commits = _commits(parts) if "commit" in settings.worker_queues else None
    reconciler = Reconciler(
        store=store,
        audit=RedisAuditTrail(client, settings.namespace),
        queue=parts.queue,
        presence=RedisPresence(client, settings.namespace),
        clock=clock,
        settings=settings,
        worker=parts.name,
        confined=_nothing_to_confine if sandbox is None else sandbox.confined,
    )
    return WorkerProcess(
        name=parts.name,
        documents=documents,
        host=parts.host,
        leases=parts.leases,
        reconciler=reconciler,
        runs=runs,
        commits=commits,
        closing=[*parts.closing, client.close],
    )


def _nothing_to_confine() -> None:
    """What a worker without a sandbox reports."""


def _sandbox(parts: _Parts) -> ChildSandbox:
    # Only a worker for runs may have a model and a sandbox in reach, so only it imports them.
    from vardy_worker.adapters.sandbox import ChildSandbox  # noqa: PLC0415 - see above

    sandbox = ChildSandbox(
        warm=parts.settings.sandbox_children,
        children_max=parts.settings.sandbox_children_max,
        guest_memory_mib_max=parts.settings.limits.guest_memory_mib_max,
        wait_seconds_max=child_wait_seconds(parts.settings),
    )
    parts.closing.append(sandbox.close)
    return sandbox


def _runs(parts: _Parts, sandbox: ChildSandbox) -> RunPipeline:
    from vardy_worker.adapters.litellm_model import LitellmModel  # noqa: PLC0415 - as the sandbox above
    from vardy_worker.judge import ModelJudge  # noqa: PLC0415 - the same
    from vardy_worker.pipeline.run import RunPipeline  # noqa: PLC0415 - the same

    model = LitellmModel()
    parts.closing.append(model.close)
    judge = ModelJudge(model=model, cache=parts.judge_cache, clock=parts.clock, settings=parts.settings)
    return RunPipeline(
        store=parts.store,
        queue=parts.queue,
        host=parts.host,
        model=model,
        sandbox=sandbox,
        rules=parts.rules,
        leases=parts.leases,
        clock=parts.clock,
        settings=parts.settings,
        worker=parts.name,
        judge=judge if parts.settings.judge_model else None,
    )


def _commits(parts: _Parts) -> CommitPipeline:
    from vardy_worker.pipeline.commit import CommitPipeline  # noqa: PLC0415 - the same, the other way round

    return CommitPipeline(
        store=parts.store,
        host=parts.host,
        rules=parts.rules,
        leases=parts.leases,
        clock=parts.clock,
        settings=parts.settings,
        worker=parts.name,
    )
