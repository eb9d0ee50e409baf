"""The commit task: checks the stored plan once more, then executes exactly it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import ErrorInfo, FenceLost, NotConfirmed, RulesError, StoreUnavailable
from vardy_worker.contracts.ids import new_id
from vardy_worker.contracts.job import Timings
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import approvers
from vardy_worker.logs import get_logger
from vardy_worker.pipeline.counting import corrected, count
from vardy_worker.pipeline.settle import apply, job_settled, settled
from vardy_worker.ports import Change, Changed, Claimed, Conflict
from vardy_worker.stages.commit import (
    AllDone,
    CancelledBefore,
    Committer,
    StoppedAt,
    TryAgain,
    Unwritten,
    resolve_refs,
)
from vardy_worker.verbs.commits import park
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS, is_approved, plan_facts

if TYPE_CHECKING:
    from vardy_worker.active_rules import ActiveRules
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.policy import PolicyResult, RuleSet
    from vardy_worker.leases import Hold, LeaseKeeper
    from vardy_worker.ports import Clock, FunctionHost, JobStore
    from vardy_worker.settings import Settings

log = get_logger(__name__)

COMMITTING = frozenset({Status.COMMITTING})


@dataclass(frozen=True, slots=True)
class CommitPipeline:
    """Everything a commit needs; neither program code nor a model is reachable from here."""

    store: JobStore
    host: FunctionHost
    rules: ActiveRules
    leases: LeaseKeeper
    clock: Clock
    settings: Settings
    worker: str

    def commit(self, job_id: str) -> None:
        """Takes the commit of one job as far as it goes. Safe to call any number of times."""
        if self.leases.has(job_id, "commit"):
            log.info("commit.not_claimed", reason="in_hand")
            return
        lease_ms = int(self.settings.execute_lease_seconds * 1000)
        claim = self.store.claim(job_id, expect=COMMITTING, to=Status.COMMITTING, worker=self.worker, lease_ms=lease_ms)
        if not isinstance(claim, Claimed):
            log.info("commit.not_claimed", reason=claim.reason)
            return
        with self.leases.hold(job_id, fence=claim.fence, lease_ms=lease_ms, queue="commit") as hold:
            try:
                self._advance(claim, hold)
            except FenceLost as error:
                log.warning("commit.taken_over", reason=error.message)
            except NotConfirmed as error:
                log.warning("commit.put_off", reason=error.message)
                self._hand_back(claim)
            except StoreUnavailable as error:
                log.warning("commit.left_to_the_reconciler", reason=error.message)

    def _hand_back(self, claim: Claimed) -> None:
        """Leaves the job to whoever comes next: that a disk or a replica is slow is no loss of a worker."""
        handed_back = Change(
            job_id=claim.job.id,
            expect_status=COMMITTING,
            expect_fence=claim.fence,
            due_at_ms=self.clock.now_ms() + PUBLISH_GRACE_MS,
            release=True,
        )
        with suppress(StoreUnavailable):
            self.store.change(handed_back)

    def _advance(self, claim: Claimed, hold: Hold) -> None:
        started, job = self.clock.monotonic(), claim.job
        committer = Committer(
            job=job,
            fence=claim.fence,
            worker=self.worker,
            hold=hold,
            leases=self.leases,
            store=self.store,
            host=self.host,
            clock=self.clock,
            result_bytes_max=self.settings.limits.call_result_bytes_max,
            durable=self.settings.journal_fsync,
        )
        if claim.deliveries > self.settings.delivery_attempts_max:
            self._give_up(job, committer)
            return
        try:
            if job.plan is not None and not job.plan.is_intact:
                self._write(committer, self._refuse(job, committer, _damaged(job)))
            elif job.commit_checked or self._may_begin(job, committer):
                self._settle(job, committer, started)
        except (FenceLost, StoreUnavailable):
            raise
        except Exception:
            correlation_id = new_id("err")
            log.exception("commit.crashed", correlation_id=correlation_id)
            self._crashed(job, committer, correlation_id)

    def _may_begin(self, job: JobRecord, committer: Committer) -> bool:
        """Checks the plan once more, and writes what came of it."""
        stopped = self._check(job, committer)
        if stopped is not None:
            self._write(committer, stopped)
            log.info("commit.refused", status=stopped.to)
            return False
        counted = committer.job.counted
        checked = Change(
            job_id=job.id,
            expect_status=COMMITTING,
            expect_fence=committer.fence,
            set={"commit_checked": True, "counted": counted and counted.model_copy(update={"before": None})},
        )
        apply(self.store, checked)
        return True

    def _write(self, committer: Committer, change: Change) -> None:
        """Writes what ends the commit, or puts it off, and what its plan counts for from now on."""
        apply(self.store, corrected(change, committer.job, committer.records, self.host.catalogue()))

    def _crashed(self, job: JobRecord, committer: Committer, correlation_id: str) -> None:
        """The last resort: a fault of Vardy's own ends the commit with all that is known of it.

        Left to another worker, an outcome that was not written yet would be forgotten, and
        an effect that succeeded be unknown, or called again.
        """
        known = committer.orphaned()
        partly = committer.applied_or_unknown()
        error = ErrorInfo(
            code="commit.failed" if partly else "function.failed",
            message=f"Vardy failed on this commit and stopped it; the operator's log has it as {correlation_id}.",
            details={"correlation_id": correlation_id},
        )
        status = Status.PARTIAL if partly else Status.FUNCTION_ERROR
        self._write(committer, self._end(job, committer, status, error=error, unwritten=known))

    def _settle(self, job: JobRecord, committer: Committer, started: float) -> None:
        outcome = committer.walk()
        spent_ms = (self.clock.monotonic() - started) * 1000
        timings = job.timings.model_copy(update={"commit": job.timings.commit + spent_ms})
        if isinstance(outcome, TryAgain):
            cancelled = self._put_off(job, committer, outcome, timings)
            if cancelled is None:
                log.info("commit.ended", status=Status.COMMITTING, ms=round(spent_ms, 1))
                return
            outcome = cancelled
        match outcome:
            case AllDone():
                change = self._done(job, committer, outcome, timings)
            case StoppedAt():
                change = self._stopped(job, committer, outcome, timings)
            case CancelledBefore():
                change = self._cancelled(job, committer, outcome, timings)
        self._write(committer, change)
        log.info("commit.ended", status=change.to, ms=round(spent_ms, 1))

    def _put_off(
        self, job: JobRecord, committer: Committer, outcome: TryAgain, timings: Timings
    ) -> CancelledBefore | None:
        """Leaves the job to its next try, unless a cancel came during the call: that does not wait with it."""
        reply = self.store.change(
            Change(
                job_id=job.id,
                expect_status=COMMITTING,
                expect_fence=committer.fence,
                set={"not_before_ms": outcome.at_ms, "timings": timings},
                effects=outcome.unwritten.effects,
                journal=outcome.unwritten.journal,
                events=outcome.unwritten.events,
                due_at_ms=outcome.at_ms,
                release=True,
                unless_cancel_requested=True,
                durable=self.settings.journal_fsync,
            )
        )
        match reply:
            case Changed():
                return None
            case Conflict(cancel_requested_by=by, fence=fence) if by and fence == committer.fence:
                return CancelledBefore(outcome.seq, by, outcome.unwritten)
            case _:
                raise FenceLost(f"Another worker took over job {job.id}.")

    def _done(self, job: JobRecord, committer: Committer, outcome: AllDone, timings: Timings) -> Change:
        output = job.output
        warnings = job.warnings
        try:
            output = resolve_refs(job.output, job.output_refs, outcome.results)
        except LookupError as error:
            warnings = (*warnings, f"The output refers to a part of a result that is not there: {error}.")
        return self._end(
            job,
            committer,
            Status.SUCCESS,
            unwritten=outcome.unwritten,
            fields={"output": output, "output_refs": (), "warnings": warnings, "timings": timings},
        )

    def _stopped(self, job: JobRecord, committer: Committer, outcome: StoppedAt, timings: Timings) -> Change:
        error = outcome.error
        if not committer.applied_or_unknown():
            # A reference or a schema that does not fit is still the function's refusal here.
            status = Status.FUNCTION_ERROR
            code = error.code if error.code.startswith("function.") else "function.failed"
        else:
            status = Status.PARTIAL
            code = "commit.unknown" if committer.is_unknown(outcome.seq) else "commit.failed"
        details = {**error.details, "cause": error.code}
        if code == "commit.unknown":
            details["correlation_id"] = error.details.get("correlation_id")
        return self._end(
            job,
            committer,
            status,
            error=ErrorInfo(code=code, message=error.message, details=details),
            unwritten=outcome.unwritten,
            fields={"timings": timings},
        )

    def _cancelled(self, job: JobRecord, committer: Committer, outcome: CancelledBefore, timings: Timings) -> Change:
        partly = committer.applied_or_unknown()
        error = ErrorInfo(
            code="commit.cancelled" if partly else "job.cancelled",
            message=f"{outcome.by} cancelled the commit before effect {outcome.seq}.",
            details={"effect": outcome.seq, "by": outcome.by},
        )
        return self._end(
            job,
            committer,
            Status.PARTIAL if partly else Status.CANCELLED,
            error=error,
            unwritten=outcome.unwritten,
            fields={"timings": timings},
        )

    def _give_up(self, job: JobRecord, committer: Committer) -> None:
        lost = committer.orphaned()
        partly = committer.applied_or_unknown()
        attempts = self.settings.delivery_attempts_max
        error = ErrorInfo(
            code="commit.poison" if partly else "function.failed",
            message=f"The commit was given up after {attempts} workers were lost while they worked on it.",
            details={"attempts": attempts},
        )
        status = Status.PARTIAL if partly else Status.FUNCTION_ERROR
        self._write(committer, self._end(job, committer, status, error=error, unwritten=lost))
        log.error("commit.poison", attempts=attempts)

    def _end(
        self,
        job: JobRecord,
        committer: Committer,
        to: Status,
        *,
        error: ErrorInfo | None = None,
        unwritten: Unwritten | None = None,
        fields: dict[str, object] | None = None,
    ) -> Change:
        now_ms = self.clock.now_ms()
        return settled(
            job,
            to,
            fence=committer.fence,
            now_ms=now_ms,
            audit=(job_settled(job, committer.records, error, now_ms),),
            retain_seconds=self.settings.job_retention_seconds,
            error=error,
            unwritten=unwritten,
            fields=fields,
        )

    # --- the check at the beginning of a commit ---------------------------------------------

    def _check(self, job: JobRecord, committer: Committer) -> Change | None:
        """What stops the commit before its first effect, or None when it may go on."""
        changed = self._changed_function(job)
        if changed is not None:
            return self._refuse(job, committer, changed)
        try:
            rules = self.rules.current()
        except RulesError as error:
            broken = ErrorInfo(
                code="policy.changed",
                message=f"The active rules cannot be used, so nothing is committed: {error.message}",
                details=error.details,
            )
            return self._refuse(job, committer, broken)
        policy = self._evaluate(committer, rules)
        if policy.verdict is Verdict.BLOCK:
            first = policy.blocked_effects()[0]
            blocked = ErrorInfo(
                code="policy.changed",
                message=f"The rules now active block effect {first.seq}: {first.message}",
                details={"effect": first.seq, "rules": list(first.rules), "rules_digest": policy.rules_digest},
            )
            return self._refuse(job, committer, blocked)
        if policy.verdict is Verdict.APPROVE and not is_approved(policy, approvers(job)):
            return self._ask_again(job, committer, policy)
        return None

    def _ask_again(self, job: JobRecord, committer: Committer, policy: PolicyResult) -> Change:
        if committer.applied_or_unknown():
            # A new revision has new idempotency keys: what was applied could be applied twice.
            missing = ErrorInfo(
                code="policy.changed",
                message="The rules now active ask for an approval that was not given, and part of the plan is "
                "already applied. Relax the rules or discard the rest.",
                details={"rules": [need.rule for need in policy.approvals]},
            )
            return self._refuse(job, committer, missing)
        return park(
            job,
            policy=policy,
            now_ms=self.clock.now_ms(),
            approval_ttl_seconds=self.settings.approval_ttl_seconds,
            expect=Status.COMMITTING,
            fence=committer.fence,
        )

    def _refuse(self, job: JobRecord, committer: Committer, error: ErrorInfo) -> Change:
        """A first commit is blocked; after a requeue the job goes back to where that found it."""
        if committer.applied_or_unknown() or committer.has(EffectState.RESOLVED_NOT_DONE):
            status = Status.PARTIAL
        elif committer.has(EffectState.FAILED):
            status = Status.FUNCTION_ERROR
        else:
            status = Status.POLICY_BLOCKED
        return self._end(job, committer, status, error=error, unwritten=committer.orphaned())

    def _changed_function(self, job: JobRecord) -> ErrorInfo | None:
        catalogue = self.host.catalogue()
        for effect in job.plan.body().effects if job.plan else ():
            spec = catalogue.get(effect.function)
            if spec is None or spec.version != effect.version:
                what = "is not registered any more" if spec is None else "has another version now"
                return ErrorInfo(
                    code="plan.function_changed",
                    message=f"{effect.function} {what}, so the plan is not what was approved. Submit the job again.",
                    details={
                        "effect": effect.seq,
                        "function": effect.function,
                        "planned": effect.version,
                        "now": spec.version if spec else None,
                    },
                )
        return None

    def _evaluate(self, committer: Committer, rules: RuleSet) -> PolicyResult:
        """What the rules say of the plan, counted first: of plans that race, the later sees the earlier."""
        job, catalogue = committer.job, self.host.catalogue()
        if job.plan is None:
            msg = f"job {job.id} has no plan to commit"
            raise ValueError(msg)
        hours = rules.user_window_hours if rules.reads_user_window else 0
        counted = count(self.store, job, fence=committer.fence, catalogue=catalogue, window_hours=hours)
        committer.job = job.model_copy(update={"counted": counted})
        body = job.plan.body()
        facts = plan_facts(job, catalogue, counted.before, four_eyes=self.settings.four_eyes)
        policy = self.rules.evaluate(body, facts, rules=rules)
        waits = not is_approved(policy, approvers(job))
        return self.rules.advised(policy, body, facts, rules=rules) if waits else policy


def _damaged(job: JobRecord) -> ErrorInfo:
    log.error("commit.plan_damaged")
    return ErrorInfo(
        code="plan.damaged",
        message="The stored plan is not the one that its digest names, so nothing more of it is executed. "
        "Somebody or something changed the store; submit the job again.",
        details={"digest": job.digest},
    )
