"""Small pieces that the verbs, the pipeline and the reconciler build changes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.plan import make_plan
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import newest_decisions

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.plan import Plan
    from vardy_worker.contracts.policy import PolicyResult
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
    return RequestError(
        f"The job is {job.status.value}, so it cannot be {wish}.",
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


def approvers(job: JobRecord) -> tuple[User, ...]:
    """The people whose newest decision on the present plan is an approval."""
    return tuple(d.user for d in newest_decisions(job).values() if d.decision == "approve")


def is_approved(policy: PolicyResult, people: tuple[User, ...]) -> bool:
    """Whether distinct people satisfy every approval that the policy asks for."""
    return all(
        len({person.id for person in people if not need.roles or not set(need.roles).isdisjoint(person.roles)})
        >= need.quorum
        for need in policy.approvals
    )


def revised_plan(job: JobRecord, policy: PolicyResult) -> Plan:
    """The same effects as a new revision, under other rules; its digest is new."""
    if job.plan is None:
        msg = f"job {job.id} has no plan to revise"
        raise ValueError(msg)
    body = job.plan.body().model_copy(update={"revision": job.revision + 1, "rules_digest": policy.rules_digest})
    return make_plan(body)


def blocked_message(policy: PolicyResult) -> tuple[str, str, dict[str, object]]:
    """Code, sentence and details of the first effect that is blocked."""
    first = next(effect for effect in policy.effects if effect.verdict is Verdict.BLOCK)
    code = "policy.rule_failed" if first.failed_rule else "policy.blocked"
    details: dict[str, object] = {
        "effect": first.seq,
        "rules": list(first.rules),
        "blocked": [effect.seq for effect in policy.blocked_effects()],
    }
    if first.failed_rule:
        details["rule"] = first.failed_rule
    elif first.rules:
        details["rule"] = first.rules[0]
    return code, first.message, details
