"""What rules may look at beside a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.ports import PlanFacts

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import FunctionHost


def plan_facts(job: JobRecord, host: FunctionHost) -> PlanFacts:
    """The facts of one job, as the functions of this worker stand."""
    return PlanFacts(
        user=job.submission.user,
        params=job.submission.params,
        mode=job.submission.mode.value,
        catalogue=host.catalogue(),
        recipe_name=job.submission.recipe or "",
    )
