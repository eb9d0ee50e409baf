"""The run task: from a submitted job to its plan, verdict and next status.

    claim ─▶ program (recipe, stored, or generated) ─▶ execute ─▶ plan ─▶ policy ─▶
        no effects → SUCCESS · plan mode → PLANNED · block → POLICY_BLOCKED
        approve → PENDING_APPROVAL · allow → COMMITTING, and a commit message

Nothing outside is changed here: a job picked up again after a crash runs again, with the
program that was stored before it first ran.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.active_rules import read_user_window
from vardy_worker.contracts.errors import (
    JOB_ERRORS,
    ErrorInfo,
    FenceLost,
    NotConfirmed,
    QueueUnavailable,
    RulesError,
    SettingsError,
    StoreUnavailable,
)
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.ids import new_id
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.policy import PolicyResult, Verdict
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.logs import get_logger
from vardy_worker.pipeline.generation import generate_program, recipe_program
from vardy_worker.pipeline.params import bad_params
from vardy_worker.pipeline.settle import apply, plan_made, settled
from vardy_worker.ports import KEEP, Change, Claimed, Keep
from vardy_worker.stages.execute import Executed, ExecuteInput, NotExecuted, execute
from vardy_worker.stages.plan import plan_of
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS, blocked_error, plan_facts, status_event

if TYPE_CHECKING:
    from vardy_worker.active_rules import ActiveRules
    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import Attempt, JobRecord, Usage
    from vardy_worker.contracts.limits import Limits
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.program import Program
    from vardy_worker.leases import Hold, LeaseKeeper
    from vardy_worker.ports import Clock, FunctionHost, JobStore, Model, Queue, Sandbox
    from vardy_worker.settings import Settings

log = get_logger(__name__)

CLAIMABLE = frozenset({Status.QUEUED, Status.RUNNING})
RUNNING = frozenset({Status.RUNNING})


@dataclass(frozen=True, slots=True)
class RunPipeline:
    """Everything a run needs."""

    store: JobStore
    queue: Queue
    host: FunctionHost
    model: Model
    sandbox: Sandbox
    rules: ActiveRules
    leases: LeaseKeeper
    clock: Clock
    settings: Settings
    worker: str
    unfit: threading.Event = field(default_factory=threading.Event)
    """Set when no sandbox can be started in this process, which should then be replaced."""

    def run(self, job_id: str) -> None:
        """Takes one job as far as it goes. Safe to call any number of times."""
        if self.leases.has(job_id, "run"):
            log.info("run.not_claimed", reason="in_hand")
            return
        lease_ms = int(self.settings.execute_lease_seconds * 1000)
        claim = self.store.claim(job_id, expect=CLAIMABLE, to=Status.RUNNING, worker=self.worker, lease_ms=lease_ms)
        if not isinstance(claim, Claimed):
            log.info("run.not_claimed", reason=claim.reason)
            return
        job = self.store.get(job_id)
        if job is None:
            return
        with self.leases.hold(job_id, fence=claim.fence, lease_ms=lease_ms) as hold:
            work = RunInHand(self, job, claim.fence, hold)
            try:
                work.advance(deliveries=claim.deliveries)
            except FenceLost as error:
                log.warning("run.taken_over", reason=error.message)
            except NotConfirmed as error:
                log.warning("run.put_off", reason=error.message)
                with suppress(StoreUnavailable, FenceLost):
                    work.hand_back()
            except StoreUnavailable as error:
                log.warning("run.left_to_the_reconciler", reason=error.message)
            except SettingsError as error:
                log.error("run.handed_back", reason=error.message)  # noqa: TRY400 - one sentence
                self.unfit.set()
                work.hand_back()


@dataclass(slots=True)
class RunInHand:
    """One claimed job. `job` is kept equal to what the store has."""

    parts: RunPipeline
    job: JobRecord
    fence: int
    hold: Hold
    limits: Limits = field(init=False)
    catalogue: Catalogue = field(init=False)
    """The functions that this job's user may use."""

    def __post_init__(self) -> None:
        submission = self.job.submission
        self.limits = self.parts.settings.limits.lowered(submission.limits)
        self.catalogue = self.parts.host.catalogue().for_user(submission.user.roles, submission.functions)

    def advance(self, *, deliveries: int) -> None:
        """Everything between the claim and the job's next status."""
        if deliveries > self.parts.settings.delivery_attempts_max:
            self._give_up()
            return
        try:
            self._advance()
        except (FenceLost, StoreUnavailable, SettingsError):
            raise
        except Exception:
            # The last resort: a fault of Vardy's own settles the job instead of killing workers in turn.
            correlation_id = new_id("err")
            log.exception("run.crashed", correlation_id=correlation_id)
            error = ErrorInfo(
                code="execution.internal",
                message=f"Vardy failed on this job; the operator's log has it as {correlation_id}.",
                details={"correlation_id": correlation_id},
            )
            self._settle_bare(error)

    def _settle_bare(self, error: ErrorInfo) -> None:
        """Ends a job after a fault, where what is remembered of it may be what cannot be written."""
        try:
            self.settle(Status.EXECUTION_ERROR, error=error)
        except (FenceLost, StoreUnavailable):
            raise
        except Exception:
            log.exception("run.crashed", correlation_id=error.details["correlation_id"])
            fresh = self.parts.store.get(self.job.id)
            if fresh is not None:
                self.job = fresh.model_copy(update={"usage": self.job.usage, "timings": self.job.timings})
                self.settle(Status.EXECUTION_ERROR, error=error)

    def hand_back(self) -> None:
        """Leaves the job to another worker: that this one is unfit says nothing about the job."""
        due_at_ms = self.parts.clock.now_ms() + PUBLISH_GRACE_MS
        self.write({}, to=Status.RUNNING, events=(), due_at_ms=due_at_ms, release=True)

    def _advance(self) -> None:
        queued_ms = max((self.job.started_at_ms or 0) - self.job.created_at_ms, 0)
        self.note_time("queued", queued_ms)
        problem = self._bad_submission()
        if problem is not None:
            self.settle(Status.VALIDATION_BLOCKED, error=problem)
            return
        repairs_left = self.job.submission.execution_repairs
        program = self._program()
        while program is not None:
            outcome = self._execute(program)
            if isinstance(outcome, Executed):
                self._plan(outcome)
                return
            may_repair = self.job.recipe is None and repairs_left > 0
            if not may_repair or not _is_worth_a_repair(outcome.error):
                self.settle(JOB_ERRORS[outcome.error.code], error=outcome.error)
                return
            repairs_left -= 1
            program = generate_program(self, failed=outcome)

    def _bad_submission(self) -> ErrorInfo | None:
        submission = self.job.submission
        known = {spec.name for spec in self.catalogue.functions}
        missing = [name for name in submission.functions or () if name not in known]
        if missing:
            return ErrorInfo(
                code="validation.functions",
                message=f"The request names functions that {submission.user.id} does not have: {', '.join(missing)}.",
                details={"functions": missing},
            )
        return None if self.job.recipe is None else bad_params(self.job.recipe, self.job.submission.params)

    def _program(self) -> Program | None:
        if self.job.program is not None:
            return self.job.program
        if self.job.recipe is not None:
            return recipe_program(self, self.job.recipe)
        return generate_program(self)

    def _execute(self, program: Program) -> Executed | NotExecuted:
        # From the next renewal on, which comes before the lease in hand ends.
        self.hold.lease_ms = int(self.parts.settings.execute_lease_seconds * 1000)
        started = self.parts.clock.monotonic()
        outcome = execute(
            ExecuteInput(
                job_id=self.job.id,
                program=program,
                catalogue=self.catalogue,
                params=self.job.submission.params,
                user=self.job.submission.user,
                limits=self.limits,
                now_ms=self.job.started_at_ms or self.job.created_at_ms,
            ),
            sandbox=self.parts.sandbox,
            host=self.parts.host,
            clock=self.parts.clock,
        )
        self.note_time("execute", (self.parts.clock.monotonic() - started) * 1000)
        if outcome.trace.console.lines:
            self.parts.store.put_console(self.job.id, outcome.trace.console)
        self.job = self.job.model_copy(update={"calls": outcome.trace.calls, "warnings": outcome.trace.warnings})
        return outcome

    def _plan(self, executed: Executed) -> None:
        returned = {"output": executed.output, "output_refs": executed.output_refs}
        if not executed.effects:
            self.settle(Status.SUCCESS, fields=returned)
            return
        started = self.parts.clock.monotonic()
        try:
            rules = self.parts.rules.current()
        except RulesError as error:
            # Rules that cannot be read: closed, not open.
            broken = ErrorInfo(code="policy.rule_failed", message=error.message, details=error.details)
            self.settle(Status.POLICY_BLOCKED, error=broken)
            return
        plan = plan_of(self.job, executed.effects, rules_digest=rules.digest, plan_bytes_max=self.limits.plan_bytes_max)
        if isinstance(plan, ErrorInfo):
            self.settle(JOB_ERRORS[plan.code], error=plan)
            return
        window = read_user_window(self.parts.store, rules, self.job)
        facts = plan_facts(self.job, self.parts.host.catalogue(), window)
        body = plan.body()
        verdict = self.parts.rules.evaluate(body, facts, rules=rules)
        policy = self.parts.rules.advised(verdict, body, facts, rules=rules)
        self.note_time("policy", (self.parts.clock.monotonic() - started) * 1000)
        self._branch(plan, policy, returned)

    def _branch(self, plan: Plan, policy: PolicyResult, returned: dict[str, object]) -> None:
        now_ms = self.parts.clock.now_ms()
        expires_at_ms = now_ms + self.parts.settings.approval_ttl_seconds * 1000
        fields = {**returned, "plan": plan, "revision": 1, "policy": policy}
        noted = (plan_made(plan, policy, now_ms),)
        if self.job.submission.mode is Mode.PLAN:
            self.settle(Status.PLANNED, fields=fields, expires_at_ms=expires_at_ms, audit=noted)
        elif policy.verdict is Verdict.BLOCK:
            self.settle(Status.POLICY_BLOCKED, fields=fields, error=blocked_error(policy), audit=noted)
        elif policy.verdict is Verdict.APPROVE:
            self.settle(Status.PENDING_APPROVAL, fields=fields, expires_at_ms=expires_at_ms, audit=noted)
        else:
            self._commit(fields, now_ms, noted)

    def _commit(self, fields: dict[str, object], now_ms: int, noted: tuple[AuditNote, ...]) -> None:
        self.write(
            {**fields, **self._remembered(), "stage": None, "commit_checked": False},
            to=Status.COMMITTING,
            events=(status_event(Status.COMMITTING, now_ms),),
            audit=noted,
            due_at_ms=now_ms + PUBLISH_GRACE_MS,
            release=True,
        )
        try:
            self.parts.queue.publish("commit", self.job.id)
        except QueueUnavailable as error:
            log.warning("job.not_published", queue="commit", reason=error.message)
        log.info("run.ended", status=Status.COMMITTING)

    def _give_up(self) -> None:
        attempts = self.parts.settings.delivery_attempts_max
        error = ErrorInfo(
            code="execution.poison",
            message=f"The job was given up after {attempts} workers were lost while they worked on it.",
            details={"attempts": attempts},
        )
        log.error("run.poison", attempts=attempts)
        self.settle(Status.EXECUTION_ERROR, error=error)

    # --- writing ----------------------------------------------------------------------------

    def note_time(self, part: str, spent_ms: float) -> None:
        """Adds to one of the job's timings; written with the next change."""
        timings = self.job.timings
        name = "validate_" if part == "validate" else part
        before = 0 if part == "queued" else getattr(timings, name)
        updated = timings.model_copy(update={name: round(before + spent_ms, 3)})
        self.job = self.job.model_copy(update={"timings": updated})

    def remember_attempt(self, attempt: Attempt) -> None:
        """Adds an answer that did not do; written with the next change."""
        self.job = self.job.model_copy(update={"attempts": (*self.job.attempts, attempt)})

    def remember_usage(self, usage: Usage) -> None:
        """What the model calls took so far; written with the next change."""
        self.job = self.job.model_copy(update={"usage": usage})

    def enter(self, stage: Stage, fields: dict[str, object] | None = None) -> None:
        """Writes the stage that is entered, with whatever else is known by now."""
        event = Event(type="stage", data={"stage": stage.value}, at_ms=self.parts.clock.now_ms())
        self.write({**(fields or {}), "stage": stage}, to=Status.RUNNING, events=(event,))

    def write(
        self,
        fields: dict[str, object],
        *,
        to: Status,
        events: tuple[Event, ...],
        audit: tuple[AuditNote, ...] = (),
        due_at_ms: int | Keep = KEEP,
        release: bool = False,
    ) -> None:
        """One change under this worker's fence. Raises `FenceLost`."""
        apply(
            self.parts.store,
            Change(
                job_id=self.job.id,
                expect_status=RUNNING,
                expect_fence=self.fence,
                to=to,
                set=fields,
                events=events,
                audit=audit,
                release=release,
                due_at_ms=due_at_ms,
            ),
        )
        self.job = self.job.model_copy(update={**fields, "status": to})

    def settle(
        self,
        to: Status,
        *,
        error: ErrorInfo | None = None,
        fields: dict[str, object] | None = None,
        expires_at_ms: int | None = None,
        audit: tuple[AuditNote, ...] = (),
    ) -> None:
        """Ends the run in a settled status, with everything remembered of it."""
        # Also after a last resort: a job that has left RUNNING meanwhile must not be written over.
        self.job = self.job.model_copy(update={"status": Status.RUNNING})
        written = {**self._remembered(), **(fields or {})}
        apply(
            self.parts.store,
            settled(
                self.job,
                to,
                fence=self.fence,
                now_ms=self.parts.clock.now_ms(),
                retain_seconds=self.parts.settings.job_retention_seconds,
                error=error,
                fields=written,
                expires_at_ms=expires_at_ms,
                audit=audit,
            ),
        )
        log.info(
            "run.ended",
            status=to,
            code=error.code if error else "",
            calls=len(self.job.calls),
            prompt_tokens=self.job.usage.prompt_tokens,
            execute_ms=self.job.timings.execute,
        )

    def _remembered(self) -> dict[str, object]:
        return {
            name: getattr(self.job, name) for name in ("calls", "warnings", "timings", "usage", "attempts", "program")
        }


def _is_worth_a_repair(error: ErrorInfo) -> bool:
    """Whether another program may do better: it failed itself, or gave a call arguments that do not fit."""
    return error.code == "validation.arguments" or JOB_ERRORS[error.code] is Status.EXECUTION_ERROR
