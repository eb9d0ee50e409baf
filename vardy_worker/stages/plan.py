"""Makes the immutable plan from recorded writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import sha256_json
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.plan import Plan, PlanBody, make_plan, number_effects

if TYPE_CHECKING:
    from vardy_worker.contracts.execution import EffectDraft
    from vardy_worker.contracts.job import JobRecord


def plan_of(
    job: JobRecord, effects: tuple[EffectDraft, ...], *, rules_digest: str, plan_bytes_max: int
) -> Plan | ErrorInfo:
    """The first revision of the job's plan, or `execution.plan_too_large`."""
    if job.program is None:
        msg = f"job {job.id} has no program"
        raise ValueError(msg)
    plan = make_plan(
        PlanBody(
            job_id=job.id,
            revision=1,
            program_sha256=job.program.sha256,
            params_sha256=sha256_json(job.submission.params),
            rules_digest=rules_digest,
            requester=job.submission.user.id,
            effects=number_effects(effects),
        )
    )
    size = len(plan.text.encode())
    if size > plan_bytes_max:
        return ErrorInfo(
            code="execution.plan_too_large",
            message=f"The plan has {size:,} bytes, more than {plan_bytes_max:,} (VARDY_PLAN_BYTES_MAX).",
            details={"limit": "plan_bytes_max", "limit_value": plan_bytes_max, "value": size},
        )
    return plan
