"""A run job: from its program to its plan, verdict and next status.

    program (recipe, stored, or generated) ─▶ execute ─▶ plan ─▶ policy ─▶
        no effects → SUCCESS · plan mode → PLANNED · block → POLICY_BLOCKED
        approve → PENDING_APPROVAL · allow → COMMITTING, and a commit message

Nothing outside is changed here: a job picked up again after a crash runs again, with the
program that was stored before it first ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.active_rules import read_user_window
from vardy_worker.contracts.errors import JOB_ERRORS, ErrorInfo, QueueUnavailable, RulesError
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.policy import PolicyResult, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.logs import get_logger
from vardy_worker.pipeline.generation import generate_program
from vardy_worker.pipeline.params import bad_params
from vardy_worker.pipeline.recipes import functions_withheld, recipe_program, warn_of_review
from vardy_worker.pipeline.settle import plan_made
from vardy_worker.stages.execute import Executed
from vardy_worker.stages.plan import plan_of
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS, blocked_error, plan_facts, status_event

if TYPE_CHECKING:
    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.program import Program
    from vardy_worker.pipeline.in_hand import JobInHand

log = get_logger(__name__)


def run_job(work: JobInHand) -> None:
    """Takes a claimed `run` job to its next status."""
    work.note_queued()
    problem = _bad_submission(work)
    if problem is not None:
        work.settle(Status.VALIDATION_BLOCKED, error=problem)
        return
    repairs_left = work.job.submission.execution_repairs
    program = _program(work)
    while program is not None:
        outcome = work.execute(program)
        if work.job.recipe is not None:
            warn_of_review(work, work.job.recipe)
        if isinstance(outcome, Executed):
            _plan(work, outcome)
            return
        may_repair = work.job.recipe is None and repairs_left > 0
        if not may_repair or not _is_worth_a_repair(outcome.error):
            work.settle(JOB_ERRORS[outcome.error.code], error=outcome.error)
            return
        repairs_left -= 1
        program = generate_program(work, failed=outcome)


def _bad_submission(work: JobInHand) -> ErrorInfo | None:
    if (missing := work.missing_functions()) is not None:
        return missing
    recipe = work.job.recipe
    if recipe is None:
        return None
    return functions_withheld(work, recipe) or bad_params(recipe, work.job.submission.params)


def _program(work: JobInHand) -> Program | None:
    if work.job.program is not None:
        return work.job.program
    if work.job.recipe is not None:
        return recipe_program(work, work.job.recipe)
    return generate_program(work)


def _plan(work: JobInHand, executed: Executed) -> None:
    returned = {"output": executed.output, "output_refs": executed.output_refs}
    if not executed.effects:
        work.settle(Status.SUCCESS, fields=returned)
        return
    started = work.parts.clock.monotonic()
    try:
        rules = work.parts.rules.current()
    except RulesError as error:
        # Rules that cannot be read: closed, not open.
        broken = ErrorInfo(code="policy.rule_failed", message=error.message, details=error.details)
        work.settle(Status.POLICY_BLOCKED, error=broken)
        return
    plan = plan_of(work.job, executed.effects, rules_digest=rules.digest, plan_bytes_max=work.limits.plan_bytes_max)
    if isinstance(plan, ErrorInfo):
        work.settle(JOB_ERRORS[plan.code], error=plan)
        return
    window = read_user_window(work.parts.store, rules, work.job)
    facts = plan_facts(work.job, work.parts.host.catalogue(), window, four_eyes=work.parts.settings.four_eyes)
    body = plan.body()
    verdict = work.parts.rules.evaluate(body, facts, rules=rules)
    policy = work.parts.rules.advised(verdict, body, facts, rules=rules)
    work.note_time("policy", (work.parts.clock.monotonic() - started) * 1000)
    _branch(work, plan, policy, returned)


def _branch(work: JobInHand, plan: Plan, policy: PolicyResult, returned: dict[str, object]) -> None:
    now_ms = work.parts.clock.now_ms()
    expires_at_ms = now_ms + work.parts.settings.approval_ttl_seconds * 1000
    fields = {**returned, "plan": plan, "revision": 1, "policy": policy}
    noted = (plan_made(plan, policy, now_ms),)
    if work.job.submission.mode is Mode.PLAN:
        work.settle(Status.PLANNED, fields=fields, expires_at_ms=expires_at_ms, audit=noted)
    elif policy.verdict is Verdict.BLOCK:
        work.settle(Status.POLICY_BLOCKED, fields=fields, error=blocked_error(policy), audit=noted)
    elif policy.verdict is Verdict.APPROVE:
        work.settle(Status.PENDING_APPROVAL, fields=fields, expires_at_ms=expires_at_ms, audit=noted)
    else:
        _commit(work, fields, now_ms, noted)


def _commit(work: JobInHand, fields: dict[str, object], now_ms: int, noted: tuple[AuditNote, ...]) -> None:
    work.write(
        {**fields, **work.remembered(), "stage": None, "commit_checked": False},
        to=Status.COMMITTING,
        events=(status_event(Status.COMMITTING, now_ms),),
        audit=noted,
        due_at_ms=now_ms + PUBLISH_GRACE_MS,
        release=True,
    )
    try:
        work.parts.queue.publish("commit", work.job.id)
    except QueueUnavailable as error:
        log.warning("job.not_published", queue="commit", reason=error.message)
    log.info("run.ended", status=Status.COMMITTING)


def _is_worth_a_repair(error: ErrorInfo) -> bool:
    """Whether another program may do better: it failed itself, or gave a call arguments that do not fit."""
    if error.code == "execution.judge_unavailable":
        return False
    return error.code == "validation.arguments" or JOB_ERRORS[error.code] is Status.EXECUTION_ERROR
