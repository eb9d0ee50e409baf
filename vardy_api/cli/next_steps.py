"""The commands that bring a job further, as a person would type them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import is_discarded
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from vardy_api.recipe_shapes import RecipeView
    from vardy_worker.contracts.view import JobView

DIGEST_SHOWN = 12
"""Characters of a digest that people see; commands take as many."""
_FAILED = frozenset({Status.VALIDATION_BLOCKED, Status.EXECUTION_ERROR, Status.FUNCTION_ERROR})
_MODEL_CODES = frozenset({"generation.not_configured", "generation.model_unavailable", "generation.model_rejected"})


def short_digest(digest: str) -> str:
    """The part of a digest that is shown."""
    return digest[:DIGEST_SHOWN]


def next_steps(job: JobView) -> list[str]:
    """What may be done with the job now; nothing for one that is over."""
    if job.erased_at is not None:
        return []
    match job.status:
        case Status.QUEUED | Status.RUNNING | Status.COMMITTING:
            return [f"vardy jobs wait {job.id}"]
        case Status.PENDING_APPROVAL if job.plan is not None:
            return [
                f"vardy approvals approve {job.id} --digest {short_digest(job.plan.digest)}",
                f'vardy approvals deny {job.id} --reason "…"',
            ]
        case Status.PLANNED if job.plan is not None:
            return [f"vardy jobs commit {job.id} --digest {short_digest(job.plan.digest)}"]
        case Status.PARTIAL | Status.FUNCTION_ERROR if job.plan is not None:
            return _after_a_stopped_commit(job)
        case Status.GENERATION_ERROR if job.error is not None and job.error.code in _MODEL_CODES:
            return ["vardy doctor"]
        case _:
            return _after_an_end(job)


def after_saving(view: RecipeView) -> list[str]:
    """How the recipe is run, and how to see what a version changed of the one before it."""
    steps = [recipe_run(view)]
    if view.changed and view.version > 1:
        steps.append(f"vardy recipes show {view.name} --diff {view.version - 1}")
    return steps


def recipe_run(view: RecipeView) -> str:
    """How the recipe is run, with every param that it needs, for its value to be filled in."""
    needed = view.params_schema.get("required")
    names = [name for name in needed if isinstance(name, str)] if isinstance(needed, list) else []
    if not names:
        return f"vardy recipes run {view.name}"
    params = "{" + ", ".join(f"{json.dumps(name)}: …" for name in names) + "}"
    return f"vardy recipes run {view.name} --params {shlex.quote(params)}"


def _after_an_end(job: JobView) -> list[str]:
    if _wants_the_judge(job):
        return [f'vardy {job.kind.value} "…" --judge']
    if job.status in _FAILED and job.program is not None:
        return [f"vardy jobs show {job.id} --full", f"vardy jobs console {job.id}"]
    return [f"vardy jobs show {job.id} --full"] if job.rounds else []


def _wants_the_judge(job: JobView) -> bool:
    findings = job.error.details.get("findings") if job.error is not None else None
    if not isinstance(findings, list):
        return False
    return any(isinstance(finding, dict) and finding.get("code") == "program.judge_off" for finding in findings)


def _after_a_stopped_commit(job: JobView) -> list[str]:
    if is_discarded(job.error):
        return []
    unknown = [effect.seq for effect in job.effects if effect.state is EffectState.UNKNOWN]
    used = {ref.effect for ref in job.output_refs} | {ref.effect for effect in job.effects for ref in effect.refs}
    steps = [
        f'vardy commits resolve {job.id} {seq} --done{" --result JSON" if seq in used else ""} --reason "…"'
        "    (or --not-done)"
        for seq in unknown
    ]
    steps.append(f"vardy commits requeue {job.id}")
    if job.status is Status.PARTIAL:
        steps.append(f'vardy commits discard {job.id} --reason "…"')
    return steps
