"""Decisions bind to the plan that a person looked at; here is how a command line knows which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.cli.bulk import DryRunItem, would
from vardy_api.cli.exits import confirmation_needed, conflict, usage_error
from vardy_api.cli.next_steps import DIGEST_SHOWN, short_digest

if TYPE_CHECKING:
    from vardy_api.cli.session import Session
    from vardy_api.cli.shown import Shown
    from vardy_worker.contracts.view import JobView

DIGEST_LENGTH = 64


def looked_at(session: Session, job_id: str, *, digest: str | None, action: str, yes: bool) -> JobView:
    """The job with the plan that is meant.

    With `digest` (whole, or at least its first 12 characters) the job's plan must have it.
    Without, the plan is shown and `action` confirmed at the terminal, unless `yes`. What is
    sent afterwards names the whole digest, so a plan that changes meanwhile is refused.
    """
    wanted = (digest or "").strip().lower().strip('"')
    if digest is not None and not (DIGEST_SHOWN <= len(wanted) <= DIGEST_LENGTH):
        raise usage_error(f"--digest takes the plan's digest, or at least its first {DIGEST_SHOWN} characters.")
    job = session.client.get(job_id)
    if job.plan is None:
        raise conflict(
            f"Job {job.id} has no plan: it is {job.status.value}.",
            code="plan.none",
            details={"status": job.status.value},
        )
    if digest is not None:
        if not job.plan.digest.startswith(wanted):
            raise conflict(
                f"The plan of {job.id} is {short_digest(job.plan.digest)} now, not the one that was shown; "
                f"nothing was done. Look again with `vardy approvals show {job.id}`.",
                code="digest.mismatch",
                details={"digest": job.plan.digest},
            )
        return job
    if yes:
        return job
    if not session.can_ask:
        raise confirmation_needed(
            f"Give the digest of the plan you looked at: --digest {short_digest(job.plan.digest)}; "
            "or --yes for whatever plan the job has."
        )
    _show_to_decide(job)
    session.confirm(action, yes=False)
    return job


def _show_to_decide(job: JobView) -> None:
    """Draws the plan on standard error: standard output is for the outcome."""
    from vardy_api.cli.output import Output  # noqa: PLC0415 - only here a person looks
    from vardy_api.cli.report import job_report  # noqa: PLC0415 - the same

    out = Output()
    out.stdout = out.stderr
    job_report(out, job, whole=True)
    out.line()


def would_decide(action: str, job: JobView, expected: frozenset[str]) -> Shown:
    """The dry run of a decision: whether the status allows it, and on which plan."""
    digest = job.plan.digest if job.plan else ""
    allowed = job.status.value in expected
    note = f"plan {digest}" if allowed else f"a {job.status.value} job takes no such decision"
    return would(action, [DryRunItem(target=job.id, status=job.status, allowed=allowed, note=note)])
