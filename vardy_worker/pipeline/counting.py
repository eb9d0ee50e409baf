"""How a commit's plan is counted among its requester's totals, and taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import FenceLost
from vardy_worker.contracts.journal import DONE
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.rules.totals import effect_totals, with_known_sums
from vardy_worker.stages.commit import resolve_refs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.journal import EffectRecord
    from vardy_worker.contracts.plan import Effect, PlanBody
    from vardy_worker.contracts.totals import CountedPlan
    from vardy_worker.ports import Change, JobStore

TAKEN_BACK = frozenset({Status.POLICY_BLOCKED, Status.FUNCTION_ERROR, Status.CANCELLED, Status.PENDING_APPROVAL})
"""Where a commit ends of which nothing was, or may have been, applied."""
STAYS = frozenset({Status.SUCCESS, Status.PARTIAL})


def count(store: JobStore, job: JobRecord, *, fence: int, catalogue: Catalogue, window_hours: int) -> CountedPlan:
    """Counts the plan of a commit that begins. Raises `FenceLost` when it is not this worker's any more."""
    totals = effect_totals(job.plan.body().effects if job.plan else (), catalogue)
    counted = store.count_plan(job, fence=fence, totals=totals, window_hours=window_hours)
    if counted is None:
        raise FenceLost(f"Another worker took over job {job.id}.")
    return counted


def corrected(change: Change, job: JobRecord, records: Sequence[EffectRecord], catalogue: Catalogue) -> Change:
    """The change that ends a commit, and with it what its plan counts for.

    Nothing, where nothing was applied. Otherwise the whole plan, also what was not applied
    of it, and with the sums that the results of earlier effects have made known.
    """
    counted = job.counted
    if counted is None or change.to not in TAKEN_BACK | STAYS:
        return change
    totals = EffectTotals() if change.to in TAKEN_BACK else counted.totals
    if totals.unknown and job.plan is not None and job.plan.is_intact:
        totals = with_known_sums(totals, _known(job.plan.body(), records), catalogue)
    note = None if change.to in TAKEN_BACK else counted.model_copy(update={"totals": totals, "before": None})
    correction = counted.correction(job.submission.user.id, totals)
    return replace(change, set={**change.set, "counted": note}, correction=correction)


def _known(plan: PlanBody, records: Sequence[EffectRecord]) -> list[Effect]:
    """The effects with every reference resolved whose result is known by now."""
    results = [record.result for record in records]
    effects = []
    for effect in plan.effects:
        known = [ref for ref in effect.refs if records[ref.effect].state in DONE]
        try:
            args = resolve_refs(effect.args, known, results)
        except LookupError:
            effects.append(effect)
            continue
        rest = tuple(ref for ref in effect.refs if ref not in known)
        effects.append(effect.model_copy(update={"args": args, "refs": rest}))
    return effects
