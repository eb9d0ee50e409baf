"""`vardy approvals`: plans that wait for a person, and the decision."""

from __future__ import annotations

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.exits import usage_error
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("See plans that wait for approval, and decide.")


@command(group, "list", examples=["vardy approvals list", "vardy approvals list --user ana --json"])
def list_approvals(
    session: Session,
    *,
    user: options.OfUser = None,
    recipe: options.OfRecipe = None,
    created_after: options.CreatedAfter = None,
    limit: options.Limit = 20,
) -> Shown:
    """List the jobs that wait for approval, newest first."""
    from vardy_api.cli.listing import list_page  # noqa: PLC0415 - see `vardy_api.cli`

    filters = {"status": ["PENDING_APPROVAL"], "user": user, "recipe": recipe, "created_after": created_after}
    return Shown(list_page(session.client, filters, limit=limit), style="approvals")


@command(group, "show", examples=["vardy approvals show job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def show_approval(session: Session, job: options.JobId) -> Shown:
    """Show everything a decision needs: the program, its params, and every effect in full."""
    return Shown(session.client.get(job), style="whole")


@command(
    group,
    "approve",
    examples=[
        "vardy approvals approve job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --digest 3f2a9c81d0e4 --user lia --role support_lead"
    ],
)
def approve(
    session: Session,
    job: options.JobId,
    *,
    digest: options.Digest = None,
    user: options.User = None,
    roles: options.Roles = None,
    reason: options.Reason = "",
    wait: options.Wait = True,
    timeout: options.Timeout = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Approve exactly the plan that was looked at, and wait for its commit.

    Give the digest that was shown, or see the plan and confirm at the terminal; --yes
    approves whatever plan the job has now. Who asked for the job cannot approve it.
    """
    from vardy_api.cli.deciding import looked_at, would_decide  # noqa: PLC0415 - see `vardy_api.cli`

    person = options.parse_person(user, roles)
    shown = looked_at(session, job, digest=digest, action="approve this plan", yes=yes or dry_run)
    if dry_run:
        return would_decide("approve", shown, frozenset({"PENDING_APPROVAL"}))
    decided = session.client.approve(shown, user=person, reason=reason, wait=False)
    return session.settle(decided, wait=wait, timeout=timeout)


@command(group, "deny", examples=['vardy approvals deny job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --reason "Too many mails."'])
def deny(
    session: Session,
    job: options.JobId,
    *,
    reason: options.Reason = "",
    digest: options.Digest = None,
    user: options.User = None,
    roles: options.Roles = None,
    dry_run: options.DryRun = False,
) -> Shown:
    """Deny a plan, which ends the job. Needs a reason."""
    from vardy_api.cli.deciding import looked_at, would_decide  # noqa: PLC0415 - see `vardy_api.cli`

    if not reason.strip():
        raise usage_error('A denial needs a reason: add --reason "…".')
    person = options.parse_person(user, roles)
    # Denying needs no look at the plan: it changes nothing at the target.
    shown = looked_at(session, job, digest=digest, action="deny this plan", yes=True)
    if dry_run:
        return would_decide("deny", shown, frozenset({"PENDING_APPROVAL"}))
    return Shown(session.client.deny(shown, reason=reason, user=person))
