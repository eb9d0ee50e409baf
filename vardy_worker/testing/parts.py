"""A worker and its surroundings put together in memory: the composition root of tests."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from vardy_worker.active_rules import ActiveRules
from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.errors import RequestError, SettingsError
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobKind, JobRecord
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.quota import QuotaExceeded
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.documents import CURRENT, RULES, publish_catalogue
from vardy_worker.leases import LeaseKeeper
from vardy_worker.pipeline.commit import CommitPipeline
from vardy_worker.pipeline.run import RunPipeline
from vardy_worker.ports import Changed
from vardy_worker.reconcile import Reconciler
from vardy_worker.rules import CelRules
from vardy_worker.settings import Settings
from vardy_worker.store.memory_documents import MemoryDocuments, MemoryPresence
from vardy_worker.store.memory_jobs import MemoryJobStore
from vardy_worker.store.memory_queue import MemoryQueue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_settings import PydanticBaseSettingsSource

    from vardy_worker.contracts.job import Submission
    from vardy_worker.contracts.recipe import Recipe
    from vardy_worker.ports import Change, FunctionHost, JobStore, Judge, Model, Sandbox
    from vardy_worker.testing.clock import Calendar

OWNER = "test"
"""Who submits every job."""


class _GivenSettings(Settings):
    """Settings that the environment has no say in: a test gives the same everywhere."""

    given_limits: Limits = Limits()

    @classmethod
    def settings_customise_sources(cls, *_: Any, **sources: Any) -> tuple[PydanticBaseSettingsSource, ...]:
        return (sources["init_settings"],)

    @cached_property
    def limits(self) -> Limits:
        return self.given_limits


def make_settings(given: Mapping[str, Any], limits: Mapping[str, float]) -> Settings:
    """The defaults, with what is given by the names of `docs/settings.md`. Raises `SettingsError`."""
    for name in (*given.keys() - Settings.model_fields.keys(), *limits.keys() - Limits.model_fields.keys()):
        raise SettingsError(f"There is no setting {name!r}.", details={"setting": name})
    try:
        return _GivenSettings(**{"model": "scripted", **given}, given_limits=Limits.model_validate(limits))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise SettingsError(f"The setting {name} is wrong: {first['msg']}.", details={"setting": name}) from error


class Parts:
    """Real pipelines, rules, functions and reconciler over memory stores and one clock.

    `deliver` takes the messages that are there, as a worker would; `worker` is its name.
    Set `judge` for programs that have texts judged.
    """

    def __init__(self, host: FunctionHost, *, clock: Calendar, settings: Settings) -> None:
        self.host = host
        self.clock = clock
        self.settings = settings
        memory = MemoryJobStore(clock)
        self.store: JobStore = memory
        self.documents = MemoryDocuments(memory.audit)
        self.queue = MemoryQueue(clock)
        self.engine = CelRules()
        self.rules = ActiveRules(self.documents, self.engine)
        self._keepers: list[LeaseKeeper] = []
        self._workers = itertools.count(1)
        self.judge: Judge | None = None
        self.worker = ""
        self.next_worker()
        self.reconciler = Reconciler(
            store=self.store,
            audit=memory.audit,
            queue=self.queue,
            presence=MemoryPresence(clock),
            clock=clock,
            settings=settings,
            worker="reconciler",
        )
        publish_catalogue(self.documents, host.catalogue())

    def next_worker(self) -> None:
        """Another worker, with leases of its own, takes what comes now."""
        self.worker = f"worker-{next(self._workers)}"
        self.leases = LeaseKeeper(self.store, self.clock)
        self._keepers.append(self.leases)

    def close(self) -> None:
        """Ends what the workers left running."""
        for keeper in self._keepers:
            keeper.stop()

    def apply_rules(self, text: str) -> None:
        """Makes these the active rules. Raises `RulesError` with line and reason."""
        digest = self.engine.load(text, self.host.catalogue()).digest
        self.documents.put(RULES, CURRENT, {"digest": digest, "text": text, "applied_at_ms": self.clock.now_ms()})

    def new_job(self, submission: Submission, recipe: Recipe | None = None, *, kind: JobKind = JobKind.RUN) -> str:
        """Stores a job, and tells the workers of it; its id. Raises `RequestError` `quota.exceeded`."""
        now_ms = self.clock.now_ms()
        job = JobRecord(
            id=new_job_id(),
            kind=kind,
            owner=OWNER,
            quotas=self.settings.quotas.without_rates(),
            submission=submission,
            recipe=recipe,
            stage=Stage.EXECUTE if recipe else Stage.GENERATE,
            created_at_ms=now_ms,
        )
        noted = AuditNote(action=Action.JOB_SUBMITTED, at_ms=now_ms, by=submission.user.id)
        stored = self.store.submit(job, None, due_at_ms=now_ms, audit=[noted])
        if isinstance(stored, QuotaExceeded):
            details = stored.model_dump(mode="json")
            raise RequestError(f"{stored.sentence} The job was not taken.", code="quota.exceeded", details=details)
        self.queue.publish("run", job.id)
        return job.id

    def job(self, job_id: str) -> JobRecord:
        """The stored record. Raises `RequestError` `job.not_found`."""
        job = self.store.get(job_id)
        if job is None:
            raise RequestError(f"There is no job {job_id}.", code="job.not_found")
        return job

    def change(self, change: Change) -> None:
        """Applies what a verb decided, and tells the workers of a commit."""
        reply = self.store.change(change)
        if not isinstance(reply, Changed):
            raise RequestError(f"The job changed meanwhile: {reply}.", code="job.conflict")
        if change.to is Status.COMMITTING:
            self.queue.publish("commit", change.job_id)

    def deliver(self, model: Model | None = None, sandbox: Sandbox | None = None) -> None:
        """Takes every message. Those of runs stay where they are without a model and a sandbox."""
        if model is not None and sandbox is not None:
            runs = self.runs(model, sandbox)
            while (job_id := self.queue.take("run")) is not None:
                runs.run(job_id)
        while (job_id := self.queue.take("commit")) is not None:
            self.commits().commit(job_id)

    def settle(self, job_id: str) -> None:
        """Takes a commit as far as it goes by itself: the clock is moved to when each retry is due."""
        self.deliver()
        while (job := self.job(job_id)).status is Status.COMMITTING and job.not_before_ms > self.clock.now_ms():
            self.clock.move_to(job.not_before_ms)
            self.reconciler.look()
            self.deliver()

    def forward(self, seconds: float) -> None:
        """Time passes, and the reconciler looks for what is due then."""
        self.clock.move_to(self.clock.now_ms() + int(seconds * 1000))
        self.reconciler.look()

    def runs(self, model: Model, sandbox: Sandbox) -> RunPipeline:
        """The run task of the worker."""
        return RunPipeline(
            store=self.store,
            queue=self.queue,
            host=self.host,
            model=model,
            sandbox=sandbox,
            rules=self.rules,
            leases=self.leases,
            clock=self.clock,
            settings=self.settings,
            worker=self.worker,
            judge=self.judge,
        )

    def commits(self) -> CommitPipeline:
        """The commit task of the worker."""
        return CommitPipeline(
            store=self.store,
            host=self.host,
            rules=self.rules,
            leases=self.leases,
            clock=self.clock,
            settings=self.settings,
            worker=self.worker,
        )
