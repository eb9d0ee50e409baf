"""What `vardy doctor` says of workers, queues, catalogue, rules, keys and jobs.

The facts come from the store where Redis can be looked at, and from the API otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from vardy_api.cli.checkup import Check, failed, passed, warned
from vardy_api.cli.doctor_security import key_checks
from vardy_api.cli.text import counted, duration
from vardy_api.operations.service import queue_views, worker_view
from vardy_api.shapes import QueuesView, RulesView, rules_view
from vardy_worker.contracts.errors import RulesError
from vardy_worker.contracts.functions import Catalogue, FunctionKind
from vardy_worker.contracts.job import QUEUE_NAMES
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import ApiKey, Scope
from vardy_worker.documents import KEYS, RECIPES, read_catalogue, read_rules, recipe_version
from vardy_worker.ports import WorkerSeen
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.store.connection import translated
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redis import Redis

    from vardy_api.client import Vardy
    from vardy_api.shapes import WorkerView
    from vardy_worker.settings import Settings

OLDEST_SECONDS_WARN = 60.0
RECIPES_NAMED_MAX = 5
BLIND_SECONDS_MAX = 30.0
"""Above the longest pause of a reconciler, and what one look takes on a busy server."""


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What is known of the deployment. None: could not be looked at from here."""

    queues: QueuesView
    catalogue: Catalogue
    rules: RulesView
    admin_keys: int | None = None
    risks: tuple[Check, ...] = ()
    """What is found of keys that outlive their reason, or may do too much."""
    jobs: Mapping[Status, int] | None = None
    without_judge: tuple[str, ...] = ()
    """Recipes that have the judge, where VARDY_JUDGE_MODEL is not set."""


def read_from_store(redis: Redis, settings: Settings, now_ms: int) -> ServiceFacts:
    """Reads everything from Redis, and writes nothing. Raises `StoreUnavailable`."""
    documents = RedisDocuments(redis, settings.namespace)
    keys = [ApiKey.model_validate(document.value) for document in documents.all(KEYS)]
    able = [key for key in keys if Scope.ADMIN in key.scopes and key.is_valid(now_ms)]
    queue = CeleryQueue(make_celery(settings), settings)
    try:
        queues = queue_views(queue, now_ms)
    finally:
        queue.close()
    return ServiceFacts(
        queues=QueuesView(queues=queues, workers=_read_workers(redis, settings.namespace)),
        catalogue=read_catalogue(documents),
        rules=rules_view(read_rules(documents)),
        admin_keys=len(able),
        risks=tuple(key_checks(keys, now_ms)),
        jobs=RedisJobStore(redis, settings.namespace).counts(),
        without_judge=() if settings.judge_model else tuple(_recipes_with_judge(documents)),
    )


def _recipes_with_judge(documents: RedisDocuments) -> list[str]:
    recipes = [recipe_version(document) for document in documents.all(RECIPES)]
    return [recipe.name for recipe in recipes if recipe.judge]


def _read_workers(redis: Redis, namespace: str) -> tuple[WorkerView, ...]:
    """The live workers; unlike `RedisPresence.seen`, this does not clean up after silent ones."""
    keys, adapter = Keys(namespace), TypeAdapter(WorkerSeen)
    with translated():
        names: list[bytes] = sorted(redis.smembers(keys.workers))  # type: ignore[arg-type] # the blocking client
        stored: list[bytes | None] = redis.mget([keys.worker(name.decode()) for name in names]) if names else []  # type: ignore[assignment] # the same
    return tuple(worker_view(adapter.validate_json(text)) for text in stored if text is not None)


def read_from_api(client: Vardy) -> ServiceFacts:
    """The same as far as the API tells it. Raises `VardyError`."""
    return ServiceFacts(queues=client.queues(), catalogue=client.functions(), rules=client.rules())


def service_checks(facts: ServiceFacts) -> list[Check]:
    """All that can be said of the deployment."""
    checks = [_workers(facts.queues), *_reconcilers(facts.queues), *_sandboxes(facts.queues)]
    checks += [_queues(facts.queues), _catalogue(facts.catalogue)]
    checks.append(_rules(facts.rules, facts.catalogue))
    if facts.admin_keys is not None:
        checks.append(_keys(facts.admin_keys))
    checks += facts.risks
    if facts.jobs is not None:
        checks.append(_jobs(facts.jobs))
    if facts.without_judge:
        checks.append(_judge(facts.without_judge))
    return checks


def _judge(recipes: Sequence[str]) -> Check:
    named = ", ".join(recipes[:RECIPES_NAMED_MAX]) + (", …" if len(recipes) > RECIPES_NAMED_MAX else "")
    return warned(
        "judge",
        f"{counted(len(recipes), 'recipe')} ({named}) {'has' if len(recipes) == 1 else 'have'} texts judged, and "
        "VARDY_JUDGE_MODEL is not set here.",
        "Set it where workers are started; without it such jobs end as `execution.judge_not_configured`.",
    )


def _workers(queues: QueuesView) -> Check:
    if not queues.workers:
        return failed("workers", "No worker is alive, so no job runs.", "Start one with `vardy worker`.")
    served = {name for worker in queues.workers for name in worker.queues}
    missing = [name for name in QUEUE_NAMES if name not in served]
    if missing:
        return failed(
            "workers",
            f"{counted(len(queues.workers), 'worker')} alive, but none serves {' and '.join(missing)}.",
            "Start one with `vardy worker`, or widen VARDY_WORKER_QUEUES.",
        )
    return passed("workers", f"{counted(len(queues.workers), 'worker')} alive, serving {', '.join(sorted(served))}.")


def _reconcilers(queues: QueuesView) -> list[Check]:
    """Whether somebody looks for lost jobs. Nothing without a worker, since each of them does."""
    if not queues.workers:
        return []
    blind = [worker.worker for worker in queues.workers if _seconds_blind(worker) > BLIND_SECONDS_MAX]
    seeing = len(queues.workers) - len(blind)
    if not seeing:
        return [
            failed(
                "reconciler",
                "No worker looks for lost jobs: what a lost worker had in hand is not taken up.",
                "Look for `reconcile.crashed` and `reconcile.waiting` in the workers' logs.",
            )
        ]
    if blind:
        return [
            warned(
                "reconciler",
                f"{counted(seeing, 'worker')} looked for lost jobs just now, but not {', '.join(blind)}.",
                "Look for `reconcile.crashed` and `reconcile.waiting` in its log.",
            )
        ]
    return [passed("reconciler", f"{counted(seeing, 'worker')} looked for lost jobs just now.")]


def _seconds_blind(worker: WorkerView) -> float:
    """How long it had not looked when it last said that it lives, by its own clock."""
    looked_at = worker.looked_at or worker.started_at
    return (worker.seen_at - looked_at).total_seconds() if worker.seen_at and looked_at else 0.0


def _sandboxes(queues: QueuesView) -> list[Check]:
    """Nothing when no live worker runs programs."""
    running = [worker for worker in queues.workers if "run" in worker.queues]
    bare = [worker.worker for worker in running if worker.confined is False]
    waiting = [worker.worker for worker in running if worker.confined is None]
    if bare:
        return [
            warned(
                "sandbox",
                f"Programs run without a filter of system calls in {', '.join(bare)}: the system has none that fits.",
                "Run these workers on Linux (x86-64 or ARM64) with seccomp in the kernel; until then WebAssembly and "
                "the limits of the process confine programs.",
            )
        ]
    if waiting:
        return [
            warned(
                "sandbox",
                f"The sandbox has not started yet in {', '.join(waiting)}, so nothing can be said of its filter.",
                "Ask again some seconds after its start. If this stays, look into its log for why no sandbox process "
                "starts.",
            )
        ]
    if not running:
        return []
    return [passed("sandbox", f"The sandbox of {counted(len(running), 'worker')} filters system calls.")]


def _queues(queues: QueuesView) -> Check:
    waiting = ", ".join(f"{queue.name} {queue.depth}" for queue in queues.queues)
    late = [queue for queue in queues.queues if (queue.oldest_seconds or 0) >= OLDEST_SECONDS_WARN]
    if late:
        oldest = max(late, key=lambda queue: queue.oldest_seconds or 0)
        return warned(
            "queues",
            f"Waiting: {waiting}; the oldest in {oldest.name} for {duration(oldest.oldest_seconds or 0)}.",
            "Start more workers, or raise VARDY_WORKER_CONCURRENCY.",
        )
    return passed("queues", f"Waiting: {waiting}.")


def _catalogue(catalogue: Catalogue) -> Check:
    if not catalogue.functions:
        return failed(
            "catalogue",
            "No function is known, so programs can call nothing.",
            "Start a worker with VARDY_FUNCTIONS; it publishes the catalogue.",
        )
    writes = sum(spec.kind is FunctionKind.WRITE for spec in catalogue.functions)
    return passed("catalogue", f"{counted(len(catalogue.functions), 'function')}, {writes} of them writes.")


def _rules(rules: RulesView, catalogue: Catalogue) -> Check:
    from vardy_worker.rules import CelRules  # noqa: PLC0415 - a compiled library that few commands need

    engine = CelRules()
    try:
        loaded = engine.load(rules.text, catalogue)
    except RulesError as error:
        return failed(
            "rules",
            f"The active rules do not fit the catalogue any more, so writes are blocked: {error.message}",
            "Mend them and apply them with `vardy rules apply FILE`.",
        )
    if not rules.version:
        return warned(
            "rules",
            "No rules were applied: every write waits for an approval.",
            "Write a rules file and apply it with `vardy rules apply FILE`.",
        )
    idle = [warning.rule for warning in engine.warnings(loaded, catalogue)]
    if idle:
        return warned(
            "rules",
            f"Version {rules.version} is active, and rules of it do nothing: {', '.join(idle)}.",
            "`vardy rules show > rules.yaml` and `vardy rules check rules.yaml` say why.",
        )
    return passed("rules", f"Version {rules.version} is active: {counted(len(loaded.rules), 'rule')}.")


def _keys(admin_keys: int) -> Check:
    if not admin_keys:
        return warned(
            "keys",
            "No valid key has the scope admin.",
            "Make the first with `vardy keys create --bootstrap --name ops --scope admin --expires-in 90d`.",
        )
    return passed("keys", f"{counted(admin_keys, 'valid key')} with the scope admin.")


def _jobs(jobs: Mapping[Status, int]) -> Check:
    shown = (Status.QUEUED, Status.RUNNING, Status.COMMITTING, Status.PENDING_APPROVAL, Status.PARTIAL)
    message = ", ".join(f"{status.value} {jobs.get(status, 0)}" for status in shown) + "."
    if jobs.get(Status.PARTIAL, 0):
        return warned("jobs", message, "See what stopped half-way with `vardy commits list`.")
    return passed("jobs", message)
