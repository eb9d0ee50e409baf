"""Small pieces that the verbs, the pipeline and the reconciler build changes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import ErrorInfo, RequestError
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.plan import make_plan
from vardy_worker.contracts.status import Status
from vardy_worker.ports import PlanFacts

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.envelope import Envelope
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.policy import PolicyResult
    from vardy_worker.contracts.totals import EffectTotals
    from vardy_worker.contracts.user import User


PUBLISH_GRACE_MS = 3_000
"""How long a published message may take before the reconciler publishes it again."""


def status_event(status: Status, now_ms: int, *, code: str = "") -> Event:
    """The event that tells of a new status."""
    data = {"status": status.value}
    if code:
        data["code"] = code
    return Event(type="status", data=data, at_ms=now_ms)


def conflict(job: JobRecord, wish: str) -> RequestError:
    """The job's status does not allow the wish; says what the status is."""
    state = "The job's contents were erased" if job.is_erased else f"The job is {job.status.value}"
    return RequestError(
        f"{state}, so it cannot be {wish}.",
        code="job.conflict",
        details={"status": job.status.value, "version": job.version},
    )


def require_digest(job: JobRecord, digest: str) -> None:
    """Raises unless the caller named exactly the plan as it is now."""
    if job.plan is None:
        raise RequestError("The job has no plan.", code="plan.none", details={"status": job.status.value})
    if not digest:
        raise RequestError(
            'Send the digest of the plan you looked at, as If-Match: "<digest>".',
            code="digest.missing",
            details={"header": "If-Match"},
        )
    if digest != job.plan.digest:
        raise RequestError(
            "The plan was changed since it was shown; look at it again. Nothing was done.",
            code="digest.mismatch",
            details={"digest": job.plan.digest, "revision": job.revision},
        )


def is_approved(policy: PolicyResult, people: tuple[User, ...]) -> bool:
    """Whether distinct people satisfy every approval that the policy asks for."""
    return all(
        len({person.id for person in people if need.open_to(person.roles)}) >= need.quorum for need in policy.approvals
    )


def revised_plan(job: JobRecord, policy: PolicyResult) -> Plan:
    """The same effects as a new revision, under other rules; its digest is new."""
    if job.plan is None:
        msg = f"job {job.id} has no plan to revise"
        raise ValueError(msg)
    body = job.plan.body().model_copy(update={"revision": job.revision + 1, "rules_digest": policy.rules_digest})
    return make_plan(body)


def rules_asking(policy: PolicyResult) -> list[str]:
    """Names of the rules whose approval is asked for."""
    return [need.rule for need in policy.approvals]


def blocked_error(policy: PolicyResult) -> ErrorInfo:
    """Why a plan is blocked: the first effect that is, and which others are."""
    blocked = policy.blocked_effects()
    first = blocked[0]
    details: JsonObject = {
        "effect": first.seq,
        "rules": list(first.rules),
        "blocked": [effect.seq for effect in blocked],
    }
    if rule := first.failed_rule or next(iter(first.rules), ""):
        details["rule"] = rule
    code = "policy.rule_failed" if first.failed_rule else "policy.blocked"
    return ErrorInfo(code=code, message=first.message, details=details)


def plan_facts(job: JobRecord, catalogue: Catalogue, user_window: EffectTotals | None, *, four_eyes: bool) -> PlanFacts:
    """What rules may look at beside a job's plan. Without the `user_window`, a rule that reads it blocks."""
    return PlanFacts(
        user=job.submission.user,
        params=job.submission.params,
        mode=job.submission.mode.value,
        catalogue=catalogue,
        recipe_name=job.submission.recipe or "",
        envelope=_envelope(job, catalogue, four_eyes=four_eyes),
        user_window=user_window,
    )


def _envelope(job: JobRecord, catalogue: Catalogue, *, four_eyes: bool) -> Envelope | None:
    """What the plan must stay within; None also where the review does not count for it.

    That is where a function is not the one that was reviewed, or where the requester is the reviewer.
    """
    recipe = job.recipe
    if recipe is None or (four_eyes and is_own_review(job)) or recipe.changed_functions(catalogue):
        return None
    return recipe.envelope


def is_own_review(job: JobRecord) -> bool:
    """Whether the requester is who reviewed the job's recipe."""
    return job.recipe is not None and job.recipe.reviewed_by == job.submission.user.id
