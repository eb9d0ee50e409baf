"""`vardy commits`: commits that stopped half-way, and the operator's verbs."""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.exits import usage_error
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown
from vardy_worker.contracts.errors import JOB_ERRORS

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


def _parse_code(text: str) -> str:
    if text in JOB_ERRORS:
        return text
    near = get_close_matches(text, JOB_ERRORS, n=1)
    msg = f"{text!r} is not the code of a job's error" + (f"; did you mean {near[0]}?" if near else ".")
    raise typer.BadParameter(msg)


OfError = Annotated[
    str | None,
    typer.Option("--error", parser=_parse_code, metavar="CODE", help="Only commits that stopped with this code."),
]
OfPerson = Annotated[str | None, typer.Option("--of-user", metavar="ID", help="Only jobs for this person.")]
AllCommits = Annotated[bool, typer.Option("--all", help="Every stopped commit that matches the filters.")]
Seqs = Annotated[
    list[int], typer.Argument(metavar="SEQ", min=0, help="Positions of effects, from 0.", show_default=False)
]
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
    """Show one commit: every effect in full, a timeline of its attempts, and what to do next."""
    from vardy_api.cli.timeline import commit_report  # noqa: PLC0415 - see `vardy_api.cli`

    return Shown(commit_report(session.client.get(job), session.client.journal(job)), style="whole")


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
    jobs: options.JobIds = None,
    *,
    everything: AllCommits = False,
    status: OfStatus = None,
    error: OfError = None,
    of_user: OfPerson = None,
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
    for more than one. Of several, those that run already or have ended are skipped, so the
    same command can be repeated. Exit code 5 when some of several failed.
    """
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    filters = {"user": of_user, "recipe": recipe, "created_after": created_after}
    chosen = everything or bool(status or error) or any(value is not None for value in filters.values())
    operating.only_chosen(jobs, by_filter=chosen)
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
        'vardy commits resolve job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A 3 4 7 --done --reason "All three are in the ledger."',
    ],
)
def resolve(
    session: Session,
    job: options.JobId,
    seqs: Seqs,
    *,
    done: Done = False,
    not_done: NotDone = False,
    result: Result = None,
    reason: options.Reason = "",
    user: options.User = None,
    roles: options.Roles = None,
    dry_run: options.DryRun = False,
) -> Shown:
    """Say of effects whose outcome is unknown whether they were applied. Starts nothing."""
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    if done == not_done:
        raise usage_error("Say what you found out: either --done or --not-done.")
    if not reason.strip():
        raise usage_error('Say how you found out: --reason "…".')
    value = None if result is None else options.parse_json(result, "--result")
    if value is not None and not done:
        raise usage_error("--result is what a function returned, so it goes with --done only.")
    if value is not None and len(seqs) > 1:
        raise usage_error("--result is what one effect returned, so it goes with one SEQ only.")
    person = options.parse_person(user, roles)
    if dry_run:
        return operating.would_resolve(session.client.get(job), seqs, done=done)
    return operating.resolve_effects(
        session,
        job,
        seqs,
        lambda seq: session.client.resolve(job, seq, done=done, reason=reason, result=value, user=person),
    )


@command(
    group,
    "discard",
    examples=[
        'vardy commits discard job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --reason "Done by hand."',
        'vardy commits discard --all --recipe overdue-reminder --reason "The campaign is over." --yes',
    ],
)
def discard(
    session: Session,
    jobs: options.JobIds = None,
    *,
    everything: AllCommits = False,
    error: OfError = None,
    of_user: OfPerson = None,
    recipe: options.OfRecipe = None,
    created_after: options.CreatedAfter = None,
    reason: options.Reason = "",
    user: options.User = None,
    roles: options.Roles = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Give up the rest of `PARTIAL` jobs, for good. Asks first.

    Takes ids, or --all and filters. Of several, those that were discarded before are
    skipped, so the same command can be repeated. Exit code 5 when some of several failed.
    """
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    if not reason.strip():
        raise usage_error('Say why the rest is given up: --reason "…".')
    filters = {"user": of_user, "recipe": recipe, "created_after": created_after}
    chosen = everything or error is not None or any(value is not None for value in filters.values())
    operating.only_chosen(jobs, by_filter=chosen)
    person = options.parse_person(user, roles)
    if not jobs:
        jobs = operating.stopped_commits(session.client, filters, status=["PARTIAL"], error=error)
    return operating.change_jobs(
        session,
        operating.DISCARD,
        jobs,
        lambda job_id: session.client.discard(job_id, reason=reason, user=person),
        yes=yes,
        dry_run=dry_run,
        bulk=chosen,
        for_good=True,
    )
