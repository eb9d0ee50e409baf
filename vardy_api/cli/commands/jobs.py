"""`vardy jobs`: look at jobs, wait for them, follow, commit, cancel or erase them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import one_line

group = make_group("Look at jobs, wait for them, follow, commit planned ones, cancel, erase.")

KindName = Literal["run", "explore"]
SomeJobs = Annotated[list[str], typer.Argument(metavar="JOB", help="Ids of jobs.", show_default=False)]
Full = Annotated[
    bool, typer.Option("--full", help="With programs, params, summaries of rounds, all arguments, times and cost.")
]
Cursor = Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on after the page that named it.")]
AllPages = Annotated[bool, typer.Option("--all", help="Every page, however many.")]


@command(
    group, "list", examples=["vardy jobs list --status PARTIAL --created-after 24h", "vardy jobs list --all --json"]
)
def list_jobs(
    session: Session,
    *,
    status: options.Statuses = None,
    kind: Annotated[KindName | None, typer.Option(help="Only jobs of this kind.")] = None,
    user: options.OfUser = None,
    recipe: options.OfRecipe = None,
    created_after: options.CreatedAfter = None,
    limit: options.Limit = 20,
    cursor: Cursor = None,
    everything: AllPages = False,
) -> Shown:
    """List jobs, newest first."""
    from vardy_api.cli.listing import list_page  # noqa: PLC0415 - see `vardy_api.cli`

    filters = {"status": status, "kind": kind, "user": user, "recipe": recipe, "created_after": created_after}
    return Shown(list_page(session.client, filters, limit=limit, cursor=cursor, everything=everything))


@command(group, "show", examples=["vardy jobs show job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --full"])
def show_job(session: Session, job: options.JobId, *, full: Full = False) -> Shown:
    """Show one job: status, answer, rounds, output, plan, approvals, error, and what to do next."""
    return Shown(session.client.get(job), style="whole" if full else "")


@command(group, "wait", examples=["vardy jobs wait job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --timeout 5m"])
def wait_job(session: Session, job: options.JobId, *, timeout: options.Timeout = None) -> Shown:
    """Wait until a job settles, then show it. Exit codes as for `vardy run`."""
    return session.settle(session.client.get(job), wait=True, timeout=timeout)


@command(
    group,
    "events",
    examples=[
        "vardy jobs events job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --follow",
        "vardy jobs events job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --json",
    ],
)
def follow_job(
    session: Session,
    job: options.JobId,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on when the job has settled, until nothing more can become of it.")
    ] = False,
    after: Annotated[str, typer.Option(metavar="ID", help="Only what came after the event with this id.")] = "",
) -> int:
    """Show what happens to a job, each event as it comes: statuses, stages, rounds, decisions, effects.

    Ends when the job has settled. A lost connection is taken up again where it broke. With
    --json each event is one line of JSON.
    """
    from vardy_api.cli import following  # noqa: PLC0415 - see `vardy_api.cli`

    return following.follow(session, job, after=after, to_the_end=follow)


@command(group, "commit", examples=["vardy jobs commit job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --digest 3f2a9c81d0e4"])
def commit_job(
    session: Session,
    job: options.JobId,
    *,
    digest: options.Digest = None,
    user: options.User = None,
    roles: options.Roles = None,
    wait: options.Wait = True,
    timeout: options.Timeout = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Execute the plan of a `PLANNED` job, under the rules and approvals as always.

    Exactly the plan that was looked at: give its digest, or see it and confirm at the terminal.
    """
    from vardy_api.cli.deciding import looked_at, would_decide  # noqa: PLC0415 - see `vardy_api.cli`

    person = options.parse_person(user, roles)
    shown = looked_at(session, job, digest=digest, action="commit this plan", yes=yes or dry_run)
    if dry_run:
        return would_decide("commit", shown, frozenset({"PLANNED"}))
    begun = session.client.commit_planned(shown, user=person, wait=False)
    return session.settle(begun, wait=wait, timeout=timeout)


@command(group, "cancel", examples=["vardy jobs cancel job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def cancel_jobs(
    session: Session,
    jobs: SomeJobs,
    *,
    user: options.User = None,
    roles: options.Roles = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Cancel jobs. One that is committing stops before its next effect. Asks for more than one."""
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    person = options.parse_person(user, roles)
    return operating.change_jobs(
        session,
        operating.CANCEL,
        jobs,
        lambda job_id: session.client.cancel(job_id, user=person),
        yes=yes,
        dry_run=dry_run,
    )


@command(group, "console", examples=["vardy jobs console job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def show_console(session: Session, job: options.JobId) -> Shown:
    """Show what the job's program printed."""
    return Shown(session.client.console(job))


@command(group, "attempts", examples=["vardy jobs attempts job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def show_attempts(session: Session, job: options.JobId) -> Shown:
    """Show the answers of the model that did not become the job's program, and why. For operators."""
    return Shown(session.client.attempts(job))


@command(
    group,
    "erase",
    examples=[
        "vardy jobs erase job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A",
        "vardy jobs erase --user ana --dry-run",
        "vardy jobs erase --all --recipe overdue-reminder --yes",
    ],
)
def erase_jobs(
    session: Session,
    jobs: options.JobIds = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Every job that matches the filters.")] = False,
    status: options.Statuses = None,
    kind: Annotated[KindName | None, typer.Option(help="Only jobs of this kind.")] = None,
    user: options.OfUser = None,
    recipe: options.OfRecipe = None,
    created_after: options.CreatedAfter = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Erase what jobs hold, for good: texts, params, programs, output, arguments, results. Asks first.

    Takes ids, or --all and filters. Status, codes, counts, times, digests and decisions stay.
    With filters, jobs that are not over yet are skipped and named. With --user alone, what
    that person's plans added up to for limits over time is erased too. Can be repeated.
    """
    from vardy_api.cli import operating  # noqa: PLC0415 - see `vardy_api.cli`

    filters = {"status": status, "kind": kind, "user": user, "recipe": recipe, "created_after": created_after}
    given = {name for name, value in filters.items() if value}
    operating.only_chosen(jobs, by_filter=everything or bool(given))
    over, alive = (jobs, []) if jobs else operating.erasable(session.client, filters)
    whole_person = given == {"user"}
    if whole_person and not over and not dry_run:
        session.confirm(f"erase what the plans of {user} added up to", yes=yes)
    shown = operating.change_jobs(
        session,
        operating.ERASE,
        over,
        session.client.erase,
        yes=yes,
        dry_run=dry_run,
        bulk=not jobs,
        skipped=alive,
        for_good=True,
    )
    if user is not None and whole_person and shown.failure is None:
        if not dry_run:
            session.client.erase_totals(user)
        tense = "would be" if dry_run else "was"
        session.note(f"What the plans of {one_line(user)} added up to {tense} erased too: limits over time begin anew.")
    return shown
