"""`vardy rules`: the active rules."""

from __future__ import annotations

from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.exits import usage_error
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("See, check, try and apply the rules.")

LAST = 100
"""Plans that a test looks at without `--last`."""

RulesFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A rules file; - is standard input.", show_default=False)
]


@command(group, "show", examples=["vardy rules show", "vardy rules show > rules.yaml"])
def show_rules(session: Session) -> Shown:
    """Show the active rules, as they were applied."""
    return Shown(session.client.rules())


@command(group, "check", examples=["vardy rules check rules.yaml"])
def check_rules(session: Session, file: RulesFile) -> Shown:
    """Check a rules file against the catalogue, and change nothing.

    Warns of rules that hold but do nothing: that never match, or that another rule leaves
    without effect. Warnings refuse nothing.
    """
    return Shown(session.client.check_rules(options.read_text(file)), style="checked")


@command(
    group,
    "test",
    examples=[
        "vardy rules test rules.yaml",
        "vardy rules test rules.yaml --last 1000 --status SUCCESS --json",
        "vardy rules test rules.yaml --job job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A",
    ],
)
def try_rules(
    session: Session,
    file: RulesFile,
    *,
    job: Annotated[str | None, typer.Option(metavar="JOB", help="Only the plan of this job.")] = None,
    last: Annotated[
        int | None, typer.Option(min=1, metavar="N", help=f"How many plans, the newest first; {LAST} without it.")
    ] = None,
    status: options.Statuses = None,
    user: options.OfUser = None,
    recipe: options.OfRecipe = None,
    created_after: options.CreatedAfter = None,
) -> Shown:
    """Say what a rules file would change of plans that are stored. Changes nothing.

    Every plan is judged again under the file, with the functions and the totals of each
    user as they are now, and compared with what was recorded of it.
    """
    filters = {"status": status, "user": user, "recipe": recipe, "created_after": created_after}
    text = options.read_text(file)
    from vardy_api.cli.replaying import replay  # noqa: PLC0415 - see `vardy_api.cli`
    from vardy_api.rule_shapes import rules_test_report  # noqa: PLC0415 - the same

    if job is None:
        return Shown(replay(session, text, filters, last=last or LAST))
    if last is not None or any(value is not None for value in filters.values()):
        raise usage_error("Give --job, or --last and filters; not both.")
    return Shown(rules_test_report([session.client.test_rules(text, job=job)]))


@command(group, "apply", examples=["vardy rules apply rules.yaml", "vardy rules apply rules.yaml --expect-version 3"])
def apply_rules(
    session: Session,
    file: RulesFile,
    *,
    user: options.User = None,
    roles: options.Roles = None,
    expect_version: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Refuse when another version is active by now.")
    ] = None,
    dry_run: options.DryRun = False,
) -> Shown:
    """Make a rules file the active rules, as a new version."""
    text = options.read_text(file)
    if dry_run:
        return Shown(session.client.check_rules(text), style="checked")
    person = options.parse_person(user, roles)
    return Shown(session.client.apply_rules(text, user=person, expect_version=expect_version), style="applied")
