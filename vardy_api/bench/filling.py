"""Fills a server with jobs as they are in production: queued, parked with a plan, and settled."""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from vardy_api.bench.ahead import AheadOfReplies
from vardy_worker.contracts.audit import Action, AuditNote, Origin
from vardy_worker.contracts.base import JsonObject, sha256_json, sha256_text
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.execution import CallSummary
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobRecord, Submission, Timings, Usage
from vardy_worker.contracts.plan import Effect, PlanBody, make_plan
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.contracts.user import User
from vardy_worker.ports import Change, Changed, Claimed, PlanFacts
from vardy_worker.rules import CelRules
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.policy import PolicyResult

USERS, OWNERS, RECIPES = 10, 5, 3
"""So few that even small stores have whole pages of each. A user's jobs are all of one owner."""
RECIPE_SHARE = 4
"""Of so many jobs one is of a recipe."""
HOUR_MS = 3_600_000
RETAIN_SECONDS = 30 * 86_400
RULES = """default: approve
rules:
- name: large-refunds
  on: [refund_payment]
  when: args.amount_cents > 5000
  then: approve
  approvers: {roles: [accounting], quorum: 2}
  message: "Refunds above 50.00 are looked at by accounting."
"""
PROGRAM = """async function run(params) {
  const orders = await list_orders({ status: "delivered", since: params.since });
  let refunded = 0;
  for (const order of orders) {
    const payments = await list_payments({ order_id: order.id });
    const doubled = payments.filter((payment, at) => payments.findIndex((p) => p.amount === payment.amount) !== at);
    for (const payment of doubled) {
      await refund_payment({ payment_id: payment.id, amount_cents: payment.amount, reason: "charged twice" });
      refunded += 1;
    }
  }
  return { looked_at: orders.length, refunded };
}
"""
"""As a model writes one, of common length."""
VERSION = sha256_text("refund_payment")[:16]
REQUEST = "Refund every payment that was charged twice for orders delivered since the first of this month"


class Filling:
    """Writes jobs through the store's own code, sent by batches."""

    def __init__(self, client: Any, namespace: str) -> None:
        self._sent = AheadOfReplies(client, Keys(namespace).job(""))
        self._store = RedisJobStore(cast("Any", self._sent), namespace)
        self._settled = import_module("vardy_worker.pipeline.settle")
        self._engine = CelRules()
        self._rules = self._engine.load(RULES, Catalogue())
        self._policies: dict[int, PolicyResult] = {}
        self._program = Program(
            source=PROGRAM,
            sha256=sha256_text(PROGRAM),
            line_map=tuple(range(1, PROGRAM.count("\n") + 1)),
            attempts=1,
            prompt="program-1",
        )
        self._made = 0
        self._began_ms = time.time_ns() // 1_000_000

    def queued(self, jobs: int, *, due_in_ms: int = HOUR_MS) -> list[str]:
        """Jobs that no worker has taken."""
        return self._each(jobs, lambda: self._submit(due_in_ms).id)

    def parked(self, jobs: int, *, effects: int, expires_in_ms: int = 24 * HOUR_MS) -> list[str]:
        """Jobs whose plans wait for people."""
        return self._each(jobs, lambda: self._park(effects, expires_in_ms))

    def succeeded(self, jobs: int, *, retain_seconds: int = RETAIN_SECONDS) -> list[str]:
        """Jobs that ended without a plan, and are kept for a while."""
        return self._each(jobs, lambda: self._succeed(retain_seconds))

    def _each(self, jobs: int, make: Callable[[], str]) -> list[str]:
        made = []
        for _ in range(jobs):
            made.append(make())
            if self._sent.is_full:
                self._sent.flush()
        self._sent.flush()
        return made

    def new_job(self) -> tuple[JobRecord, AuditNote]:
        """A job that nobody submitted yet, and what the audit trail is told of it. They are a millisecond apart."""
        self._made += 1
        number, now_ms = self._made, self._began_ms + self._made
        recipe = f"recipe-{number % RECIPES}" if number % RECIPE_SHARE == 0 else None
        submission = Submission(
            request=None if recipe else REQUEST,
            recipe=recipe,
            params={"since": "2026-11-01"},
            user=User(id=f"user-{number % USERS}", roles=("support",)),
            metadata={"ticket": f"T-{number}"},
        )
        job = JobRecord(id=new_job_id(), owner=f"owner-{number % OWNERS}", submission=submission, created_at_ms=now_ms)
        origin = Origin(via="api", key_id="key_bench")
        return job, AuditNote(action=Action.JOB_SUBMITTED, at_ms=now_ms, by=submission.user.id, origin=origin)

    def _submit(self, due_in_ms: int) -> JobRecord:
        job, noted = self.new_job()
        self._store.submit(job, None, due_at_ms=job.created_at_ms + due_in_ms, audit=[noted])
        return job

    def _run(self) -> JobRecord:
        job = self._submit(HOUR_MS)
        claimed = self._store.claim(
            job.id, expect=frozenset({Status.QUEUED}), to=Status.RUNNING, worker="bench:1:aaaaaa", lease_ms=5000
        )
        if not isinstance(claimed, Claimed):
            raise RuntimeError(f"the job could not be claimed: {claimed}")  # noqa: TRY004 - no type is at fault
        told = [
            Event(type="stage", data={"stage": stage.value}, at_ms=job.created_at_ms)
            for stage in (Stage.GENERATE, Stage.EXECUTE)
        ]
        running = frozenset({Status.RUNNING})
        fields = {"program": self._program, "stage": Stage.EXECUTE}
        self._change(Change(job.id, running, Status.RUNNING, expect_fence=1, set=fields, events=told))
        return job.model_copy(update={"status": Status.RUNNING, "program": self._program})

    def _park(self, effects: int, expires_in_ms: int) -> str:
        job = self._run()
        now_ms = job.created_at_ms
        plan, policy = self._planned(job, effects)
        self._change(
            self._settled.settled(
                job,
                Status.PENDING_APPROVAL,
                fence=1,
                now_ms=now_ms,
                retain_seconds=RETAIN_SECONDS,
                fields={**self._remembered(job, effects), "output": {"looked_at": 40, "refunded": effects}}
                | {"plan": plan, "revision": 1, "policy": policy},
                expires_at_ms=now_ms + expires_in_ms,
                audit=(self._settled.plan_made(plan, policy, now_ms),),
            )
        )
        return job.id

    def _succeed(self, retain_seconds: int) -> str:
        job = self._run()
        self._change(
            self._settled.settled(
                job,
                Status.SUCCESS,
                fence=1,
                now_ms=job.created_at_ms,
                retain_seconds=retain_seconds,
                fields={**self._remembered(job, 0), "output": {"looked_at": 40, "refunded": 0}},
            )
        )
        return job.id

    def _remembered(self, job: JobRecord, effects: int) -> dict[str, object]:
        names = ["list_orders"] + ["list_payments"] * 4 + ["refund_payment"] * effects
        return {
            "calls": tuple(CallSummary(id=number, function=name, ok=True) for number, name in enumerate(names, 1)),
            "warnings": (),
            "timings": Timings(queued=3, generate=1840.25, execute=41.5, policy=2.125),
            "usage": Usage(model="openai/gpt", prompt_tokens=2210, completion_tokens=310),
            "attempts": (),
            "program": job.program,
        }

    def _planned(self, job: JobRecord, effects: int) -> tuple[Plan, PolicyResult]:
        body = PlanBody(
            job_id=job.id,
            revision=1,
            program_sha256=self._program.sha256,
            params_sha256=sha256_json(job.submission.params),
            rules_digest=self._rules.digest,
            requester=job.submission.user.id,
            effects=tuple(
                Effect(seq=seq, function="refund_payment", version=VERSION, args=_args(seq)) for seq in range(effects)
            ),
        )
        if effects not in self._policies:
            facts = PlanFacts(
                user=job.submission.user, params=job.submission.params, mode="execute", catalogue=Catalogue()
            )
            policy = self._engine.evaluate(self._rules, body, facts)
            advice = self._engine.smallest_change(self._rules, body, facts)
            self._policies[effects] = policy.model_copy(update={"avoidable": advice})
        return make_plan(body), self._policies[effects]

    def _change(self, change: Change) -> None:
        changed = self._store.change(change)
        if not isinstance(changed, Changed):
            raise RuntimeError(f"the job could not be prepared: {changed}")  # noqa: TRY004 - no type is at fault


def _args(seq: int) -> JsonObject:
    return {"payment_id": f"pay_{seq:08}", "amount_cents": 4900 + seq, "reason": "charged twice"}
