"""A claimed job in a worker's hand: its record, and every write of it, under the worker's fence.

Which way the job goes is decided by `pipeline.run` and `pipeline.explore`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import ErrorInfo, FenceLost, StoreUnavailable
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.job import ConsoleRecord, JobKind
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.judge.session import JudgeSession
from vardy_worker.logs import get_logger
from vardy_worker.pipeline.settle import apply, settled
from vardy_worker.ports import KEEP, Change, Keep
from vardy_worker.stages.execute import Executed, ExecuteInput, NotExecuted, execute
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS

if TYPE_CHECKING:
    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import Attempt, JobRecord, JudgeUsage, Usage
    from vardy_worker.contracts.limits import Limits
    from vardy_worker.contracts.program import Program
    from vardy_worker.contracts.quota import QuotaExceeded
    from vardy_worker.leases import Hold
    from vardy_worker.pipeline.run import RunPipeline

log = get_logger(__name__)

RUNNING = frozenset({Status.RUNNING})


@dataclass(slots=True)
class JobInHand:
    """One claimed job. `job` is kept equal to what the store has."""

    parts: RunPipeline
    job: JobRecord
    fence: int
    hold: Hold
    limits: Limits = field(init=False)
    catalogue: Catalogue = field(init=False)
    """The functions that this job's user may use; of an explore those that read, of a recipe those it is pinned to."""
    _usage_written: Usage = field(init=False)

    def __post_init__(self) -> None:
        self._usage_written = self.job.usage
        submission = self.job.submission
        self.limits = self.parts.settings.limits.lowered(submission.limits)
        self.catalogue = self._usable(submission.functions)
        if self.job.recipe is not None:
            pinned = self.job.recipe.functions
            self.catalogue = self.catalogue.model_copy(
                update={"functions": tuple(spec for spec in self.catalogue.functions if spec.name in pinned)}
            )

    def _usable(self, only: tuple[str, ...] | None = None) -> Catalogue:
        user, reads_only = self.job.submission.user, self.job.kind is JobKind.EXPLORE
        return self.parts.host.catalogue().for_user(user.roles, only, reads_only=reads_only)

    def missing_functions(self) -> ErrorInfo | None:
        """What is wrong with the functions that the request is narrowed to."""
        submission = self.job.submission
        if submission.functions is None:
            return None
        known = {spec.name for spec in self._usable().functions}
        missing = [name for name in submission.functions if name not in known]
        if not missing:
            return None
        return ErrorInfo(
            code="validation.functions",
            message=f"The request names functions that {submission.user.id} does not have: {', '.join(missing)}.",
            details={"functions": missing},
        )

    def execute(self, program: Program) -> Executed | NotExecuted:
        """Runs a program to its end, and remembers what it did."""
        # From the next renewal on, which comes before the lease in hand ends.
        self.hold.lease_ms = int(self.parts.settings.execute_lease_seconds * 1000)
        judge = self._judge_session()
        if judge is not None:
            # A recipe's program asks the first model of its job; its time is not for loading libraries.
            self.parts.model.prepare()
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
            judge=judge,
        )
        self.note_time("execute", (self.parts.clock.monotonic() - started) * 1000)
        self._keep_console(outcome.trace.console)
        self.job = self.job.model_copy(update={"calls": outcome.trace.calls, "warnings": outcome.trace.warnings})
        return outcome

    def judge_missing(self) -> ErrorInfo | None:
        """Why the job cannot have the judge that it asks for."""
        if self.parts.judge is not None or not self.job.has_judge:
            return None
        message = "The job asks for the judge, and no worker has one: set VARDY_JUDGE_MODEL, or ask without `judge`."
        return ErrorInfo(code="execution.judge_not_configured", message=message)

    def _judge_session(self) -> JudgeSession | None:
        if self.parts.judge is None or not self.job.has_judge:
            return None
        return JudgeSession(
            self.parts.judge,
            job_id=self.job.id,
            limits=self.limits,
            spent=self.job.usage.judge,
            noted=self._write_judge_usage,
            exceeded=self.exceeded,
        )

    def exceeded(self) -> QuotaExceeded | None:
        """The ceiling of a day that forbids another call of a model."""
        return self.parts.store.exceeded(self.job)

    def _write_judge_usage(self, spent: JudgeUsage) -> None:
        """Kept at once, so that a job picked up after a crash has no new budget."""
        usage = self.job.usage.model_copy(update={"judge": spent})
        self.remember_usage(usage)
        self.write({"usage": usage}, to=Status.RUNNING, events=())

    def _keep_console(self, printed: ConsoleRecord) -> None:
        """Stores what the program printed; of an explore, behind what earlier rounds printed."""
        if not printed.lines:
            return
        if self.job.rounds:
            earlier = self.parts.store.console(self.job.id) or ConsoleRecord()
            printed = earlier.with_round(len(self.job.rounds), printed, bytes_max=self.limits.console_bytes_max)
        self.parts.store.put_console(self.job.id, printed)

    # --- ends that are the worker's, not the job's ------------------------------------------

    def hand_back(self) -> None:
        """Leaves the job to another worker: that this one is unfit says nothing about the job."""
        due_at_ms = self.parts.clock.now_ms() + PUBLISH_GRACE_MS
        self.write({}, to=Status.RUNNING, events=(), due_at_ms=due_at_ms, release=True)

    def give_up(self) -> None:
        """Ends a job that worker after worker was lost with."""
        attempts = self.parts.settings.delivery_attempts_max
        error = ErrorInfo(
            code="execution.poison",
            message=f"The job was given up after {attempts} workers were lost while they worked on it.",
            details={"attempts": attempts},
        )
        log.error("run.poison", attempts=attempts)
        self.settle(Status.EXECUTION_ERROR, error=error)

    def settle_crashed(self, correlation_id: str) -> None:
        """Ends a job after a fault of Vardy's own, where what is remembered of it may be what cannot be written."""
        error = ErrorInfo(
            code="execution.internal",
            message=f"Vardy failed on this job; the operator's log has it as {correlation_id}.",
            details={"correlation_id": correlation_id},
        )
        try:
            self.settle(Status.EXECUTION_ERROR, error=error)
        except (FenceLost, StoreUnavailable):
            raise
        except Exception:
            log.exception("run.crashed", correlation_id=correlation_id)
            fresh = self.parts.store.get(self.job.id)
            if fresh is not None:
                self.job = fresh.model_copy(update={"usage": self.job.usage, "timings": self.job.timings})
                self.settle(Status.EXECUTION_ERROR, error=error)

    def leave_usage(self) -> None:
        """Adds what was spent since the last write to a job that was cancelled meanwhile.

        The call under way then was paid for. A job that another worker took is that one's to write.
        """
        if self.job.usage == self._usage_written:
            return
        spent = Change(
            job_id=self.job.id,
            expect_status=frozenset({Status.CANCELLED}),
            expect_fence=self.fence,
            set={"usage": self.job.usage},
        )
        try:
            self.parts.store.change(spent)
        except StoreUnavailable as error:
            log.warning("run.usage_lost", reason=error.message)

    # --- writing ----------------------------------------------------------------------------

    def note_time(self, part: str, spent_ms: float) -> None:
        """Adds to one of the job's timings; written with the next change."""
        timings = self.job.timings
        name = "validate_" if part == "validate" else part
        before = 0 if part == "queued" else getattr(timings, name)
        updated = timings.model_copy(update={name: round(before + spent_ms, 3)})
        self.job = self.job.model_copy(update={"timings": updated})

    def note_queued(self) -> None:
        """The time until the job was first claimed; written with the next change."""
        self.note_time("queued", max((self.job.started_at_ms or 0) - self.job.created_at_ms, 0))

    def remember_attempt(self, attempt: Attempt) -> None:
        """Adds an answer that did not do; written with the next change."""
        self.job = self.job.model_copy(update={"attempts": (*self.job.attempts, attempt)})

    def remember_usage(self, usage: Usage) -> None:
        """What the model calls took so far; written with the next change."""
        self.job = self.job.model_copy(update={"usage": usage})

    def enter(self, stage: Stage, fields: dict[str, object] | None = None, *, also: tuple[Event, ...] = ()) -> None:
        """Writes the stage that is entered, with whatever else is known by now, and tells of that too."""
        event = Event(type="stage", data={"stage": stage.value}, at_ms=self.parts.clock.now_ms())
        self.write({**(fields or {}), "stage": stage}, to=Status.RUNNING, events=(*also, event))

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
        if "usage" in fields:
            self._usage_written = self.job.usage

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
        written = {**self.remembered(), **(fields or {})}
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
            calls=len(self.job.calls) + sum(len(each.calls) for each in self.job.rounds),
            prompt_tokens=self.job.usage.prompt_tokens,
            execute_ms=self.job.timings.execute,
        )

    def remembered(self) -> dict[str, object]:
        """The fields that were remembered and may not be written yet."""
        return {
            name: getattr(self.job, name) for name in ("calls", "warnings", "timings", "usage", "attempts", "program")
        }
