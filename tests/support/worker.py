"""A worker's parts on memory stores, with real functions and real rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.factories import NOW_MS, StillClock, planned_job, policy, queued_job, submission
from vardy_worker.contracts.base import safe_integers
from vardy_worker.contracts.plan import Effect
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.pipeline.commit import CommitPipeline
from vardy_worker.pipeline.run import RunPipeline
from vardy_worker.ports import Change, Changed
from vardy_worker.settings import load_settings
from vardy_worker.testing.parts import Parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker import Functions
    from vardy_worker.contracts.job import JobRecord, Submission
    from vardy_worker.ports import CallOutcome, FunctionCall, Model, Sandbox

ALLOW_ALL = "default: allow\n"


class InterruptedHost(FunctionRuntime):
    """The real host; `before_calls` happens between the journal's STARTED and the call."""

    before_calls: Callable[[], None] | None = None

    def call_many(self, calls: Sequence[FunctionCall], **limits: Any) -> Sequence[CallOutcome]:
        if self.before_calls is not None:
            self.before_calls()
        return super().call_many(calls, **limits)


class WorkerParts(Parts):
    """Everything a pipeline needs. `store` may be replaced to make writes fail."""

    host: InterruptedHost
    clock: StillClock

    def __init__(self, functions: Functions, *, rules: str = ALLOW_ALL, **settings: Any) -> None:
        super().__init__(
            InterruptedHost(functions, threads=4),
            clock=StillClock(),
            settings=load_settings(**{"model": "fake/model", **settings}),
        )
        self.apply_rules(rules)

    @property
    def rules_digest(self) -> str:
        return self.rules.current().digest

    def committer(self, worker: str = "w1") -> CommitPipeline:
        self.worker = worker
        return self.commits()

    def runner(self, model: Model, sandbox: Sandbox, worker: str = "w1") -> RunPipeline:
        self.worker = worker
        return self.runs(model, sandbox)

    def submit(self, what: Submission, **fields: Any) -> JobRecord:
        """A queued job in the store."""
        job = queued_job(submission=what, created_at_ms=self.clock.now_ms(), **fields)
        self.store.submit(job, None, due_at_ms=NOW_MS)
        return job

    def effect(self, seq: int, function: str, refs: Any = (), **args: Any) -> Effect:
        spec = self.host.catalogue().get(function)
        assert spec is not None
        return Effect(seq=seq, function=function, version=spec.version, args=safe_integers(args), refs=refs)

    def committing(self, *effects: Effect, needs: tuple[ApprovalNeed, ...] = (), **fields: Any) -> JobRecord:
        """A job in the store whose plan is about to be committed."""
        verdict = Verdict.APPROVE if needs else Verdict.ALLOW
        made = planned_job(Status.COMMITTING, effects=effects, needs=needs, verdict=verdict, **fields)
        judged = policy(verdict, len(effects), *needs, rules_digest=self.rules_digest)
        fresh = queued_job(id=made.id, submission=made.submission if "submission" in fields else submission())
        self.store.submit(fresh, None, due_at_ms=NOW_MS)
        written = {
            "plan": made.plan,
            "policy": judged,
            "revision": 1,
            "program": made.program,
            "expires_at_ms": made.expires_at_ms,
            **{name: value for name, value in fields.items() if name in {"output", "output_refs", "decisions"}},
        }
        for before, after in ((Status.QUEUED, Status.RUNNING), (Status.RUNNING, Status.COMMITTING)):
            change = Change(made.id, frozenset({before}), after, set=written)
            assert isinstance(self.store.change(change), Changed)
        return self.job(made.id)
