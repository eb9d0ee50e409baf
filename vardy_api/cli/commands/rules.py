"""`vardy rules`: the active rules."""

from __future__ import annotations

from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("See, check and apply the rules.")

RulesFile = Annotated[str, typer.Argument(metavar="FILE", help="A rules file; - reads it.", show_default=False)]


@command(group, "show", examples=["vardy rules show", "vardy rules show > rules.yaml"])
def show_rules(session: Session) -> Shown:
    """Show the active rules, as they were applied."""
    return Shown(session.client.rules())


@command(group, "check", examples=["vardy rules check rules.yaml"])
def check_rules(session: Session, file: RulesFile) -> Shown:
    """Check a rules file against the catalogue, and change nothing."""
    return Shown(session.client.check_rules(options.read_text(file)), style="checked")


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
