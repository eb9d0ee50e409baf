"""`vardy commits`: commits that stopped half-way, and the operator's verbs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.exits import usage_error
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("Repair commits that stopped: requeue, resolve, discard.")


class CommitStatus(StrEnum):
    """The statuses of a commit that runs, or stopped."""

    COMMITTING = "COMMITTING"
    PARTIAL = "PARTIAL"
    FUNCTION_ERROR = "FUNCTION_ERROR"


OfStatus = Annotated[
    list[CommitStatus] | None,
    typer.Option("--status", case_sensitive=False, metavar="STATUS", help="Only commits in this status; repeatable."),
]
OfError = Annotated[
    str | None, typer.Option("--error", metavar="CODE", help="Only commits that stopped with this code.")
]
RequeueIds = Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids of jobs.", show_default=False)]
AllCommits = Annotated[bool, typer.Option("--all", help="Every stopped commit that matches the filters.")]
Seq = Annotated[int, typer.Argument(min=0, help="Position of the effect, from 0.", show_default=False)]
Result = Annotated[
    str | None,
    typer.Option(
        metavar="JSON|@FILE", help="What the function returned; needed where a later effect or the output refers to it."
    ),
]
Done = Annotated[bool, typer.Option("--done", help="The effect was applied at the target.", show_default=False)]
NotDone = Annotated[
    bool, typer.Option("--not-done", help="The effect was not applied at the target.", show_default=False)
]


@command(group, "list", examples=["vardy commits list", "vardy commits list --status PARTIAL --error commit.unknown"])
def list_commits(
    session: Session,
    *,
    status: OfStatus = None,
    error: OfError = None,
    user: options.OfUser = None,
    recipe: options.OfRecipe = None,
    created_after: options.CreatedAfter = None,
    limit: options.Limit = 20,
) -> Shown:
    """List commits that run, or stopped before their end, newest first."""
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    filters = {"user": user, "recipe": recipe, "created_after": created_after}
    return Shown(operating.commits(session.client, filters, status=status, error=error, limit=limit), style="commits")


@command(group, "show", examples=["vardy commits show job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def show_commit(session: Session, job: options.JobId) -> Shown:
    """Show one commit: every effect in full, where it stands, and what to do next."""
    return Shown(session.client.get(job), style="whole")


@command(
    group,
    "requeue",
    examples=[
        "vardy commits requeue job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A",
        "vardy commits requeue --all --recipe overdue-reminder --created-after 24h --yes",
    ],
)
def requeue(
    session: Session,
    jobs: RequeueIds = None,
    *,
    everything: AllCommits = False,
    status: OfStatus = None,
    error: OfError = None,
    of_user: Annotated[str | None, typer.Option("--of-user", metavar="ID", help="Only jobs for this person.")] = None,
    recipe: options.OfRecipe = None,
    created_after: options.CreatedAfter = None,
    user: options.User = None,
    roles: options.Roles = None,
    wait: options.Wait = True,
    timeout: options.Timeout = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Start stopped commits again, at the first effect that is not done.

    Takes ids, or --all and filters; effects that are done are never called again. Asks
    for more than one. Exit code 5 when some of several failed.
    """
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    filters = {"user": of_user, "recipe": recipe, "created_after": created_after}
    chosen = everything or bool(status or error) or any(value is not None for value in filters.values())
    if bool(jobs) == chosen:
        raise usage_error("Give ids of jobs, or --all (with filters, if you like); not both.")
    person = options.parse_person(user, roles)
    if not jobs:
        jobs = operating.stopped_commits(session.client, filters, status=status, error=error)
    return operating.change_jobs(
        session,
        operating.REQUEUE,
        jobs,
        lambda job_id: session.client.requeue(job_id, user=person),
        yes=yes,
        dry_run=dry_run,
        wait=wait,
        timeout_seconds=timeout,
        bulk=chosen,
    )


@command(
    group,
    "resolve",
    examples=[
        'vardy commits resolve job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A 2 --not-done --reason "Not in the mail log."',
        'vardy commits resolve job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A 0 --done --result \'{"id": 7}\' --reason "It exists."',
    ],
)
def resolve(
    session: Session,
    job: options.JobId,
    seq: Seq,
    *,
    done: Done = False,
    not_done: NotDone = False,
    result: Result = None,
    reason: options.Reason = "",
    user: options.User = None,
    roles: options.Roles = None,
    dry_run: options.DryRun = False,
) -> Shown:
    """Say of an effect whose outcome is unknown whether it was applied. Starts nothing."""
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    if done == not_done:
        raise usage_error("Say what you found out: either --done or --not-done.")
    if not reason.strip():
        raise usage_error('Say how you found out: --reason "…".')
    value = None if result is None else options.parse_json(result, "--result")
    if value is not None and not done:
        raise usage_error("--result is what a function returned, so it goes with --done only.")
    person = options.parse_person(user, roles)
    if dry_run:
        return operating.would_resolve(session.client.get(job), seq, done=done)
    return Shown(session.client.resolve(job, seq, done=done, reason=reason, result=value, user=person))


@command(group, "discard", examples=['vardy commits discard job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --reason "Done by hand."'])
def discard(
    session: Session,
    job: options.JobId,
    *,
    reason: options.Reason = "",
    user: options.User = None,
    roles: options.Roles = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Give up the rest of a `PARTIAL` job, for good. Asks first."""
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    if not reason.strip():
        raise usage_error('Say why the rest is given up: --reason "…".')
    person = options.parse_person(user, roles)
    if not dry_run:
        session.confirm(f"give up the rest of {job} for good", yes=yes)
    return operating.change_jobs(
        session,
        operating.DISCARD,
        [job],
        lambda job_id: session.client.discard(job_id, reason=reason, user=person),
        yes=True,
        dry_run=dry_run,
    )
