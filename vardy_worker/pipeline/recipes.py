"""A recipe's program against the functions as they are now, and as this job's user may use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Status
from vardy_worker.verbs.shared import is_own_review

if TYPE_CHECKING:
    from vardy_worker.contracts.recipe import Recipe
    from vardy_worker.pipeline.in_hand import JobInHand


def functions_withheld(work: JobInHand, recipe: Recipe) -> ErrorInfo | None:
    """Which of the recipe's functions this job does not get, and why. Those that are gone are the checks' to tell."""
    submission, registered = work.job.submission, work.parts.host.catalogue()
    pinned = [spec for name in sorted(recipe.functions) if (spec := registered.get(name)) is not None]
    if not_his := [spec.name for spec in pinned if not spec.visible_to(submission.user.roles)]:
        return _withheld(
            recipe,
            not_his,
            f"Recipe {recipe.name} calls functions that {submission.user.id} may not use with the roles given: "
            f"{', '.join(not_his)}.",
        )
    wanted = submission.functions
    if left_out := [spec.name for spec in pinned if wanted is not None and spec.name not in wanted]:
        return _withheld(
            recipe,
            left_out,
            f"The request leaves out functions that recipe {recipe.name} calls: {', '.join(left_out)}. "
            "Name them in `functions`, or leave `functions` away.",
        )
    return None


def _withheld(recipe: Recipe, functions: list[str], message: str) -> ErrorInfo:
    details = {"recipe": recipe.name, "version": recipe.version, "functions": functions}
    return ErrorInfo(code="validation.functions", message=message, details=details)


def recipe_program(work: JobInHand, recipe: Recipe) -> Program | None:
    """The recipe's program, checked against the functions as they are now; None when it was refused."""
    started = work.parts.clock.monotonic()
    findings = work.parts.checked.check(recipe.source, work.catalogue, judge=recipe.judge)
    work.note_time("validate", (work.parts.clock.monotonic() - started) * 1000)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        first = errors[0]
        error = ErrorInfo(
            code="validation.recipe",
            message=f"Recipe {recipe.name} does not fit the functions as they are now, so its program has to be "
            f"changed: line {first.line}, column {first.column}: {first.message}",
            details={
                "recipe": recipe.name,
                "version": recipe.version,
                "findings": [finding.model_dump(mode="json") for finding in errors],
            },
        )
        work.settle(Status.VALIDATION_BLOCKED, error=error)
        return None
    # Not written before it runs, as a generated one is: the record has the recipe since submission.
    program = Program(source=recipe.source, sha256=sha256_text(recipe.source), warnings=findings)
    work.job = work.job.model_copy(update={"program": program})
    return program


def warn_of_review(work: JobInHand, recipe: Recipe) -> None:
    """Adds to the job's warnings why the review of its recipe does not count, and what that means for its plan."""
    if recipe.envelope is not None and work.parts.settings.four_eyes and is_own_review(work.job):
        own = f"{recipe.reviewed_by} reviewed recipe {recipe.name}, so a plan of theirs is not within its envelope."
        work.job = work.job.model_copy(update={"warnings": (own, *work.job.warnings)})
    changed = recipe.changed_functions(work.parts.host.catalogue())
    if changed:
        outside = ", and until then no plan is within its envelope" if recipe.envelope is not None else ""
        since = f"since that of version {recipe.version}, {', '.join(changed)} changed"
        warning = f"Recipe {recipe.name} needs a review{outside}: {since}."
        work.job = work.job.model_copy(update={"warnings": (warning, *work.job.warnings)})
