"""`vardy audit`: who did what, and whether the record of it still holds."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.exits import ExitCode, usage_error
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

if TYPE_CHECKING:
    from vardy_worker.contracts.audit import AuditEntry

PAGE_ENTRIES = 200

group = make_group("See, check and export the audit trail: who did what, when and from where.")


def _actions() -> list[str]:
    from vardy_worker.contracts.audit import Action  # noqa: PLC0415 - completion and listings alone need it

    return [action.value for action in Action]


def _parse_action(text: str) -> str:
    if text not in _actions():
        msg = f"{text!r} is not an action; they are {', '.join(_actions())}."
        raise typer.BadParameter(msg)
    return text


def _complete_action(incomplete: str) -> list[str]:
    return [action for action in _actions() if action.startswith(incomplete)]


OfJob = Annotated[str | None, typer.Option("--job", metavar="JOB", help="Only what was done to this job.")]
OfChain = Annotated[str | None, typer.Option("--chain", metavar="CHAIN", help="Only this chain: settings, or a job.")]
By = Annotated[str | None, typer.Option("--by", metavar="ID", help="Only what this person did; `vardy` for itself.")]
OfAction = Annotated[
    str | None,
    typer.Option(
        "--action", parser=_parse_action, metavar="ACTION", help="Only this action.", autocompletion=_complete_action
    ),
]
After = Annotated[
    datetime | None,
    typer.Option(
        parser=options.parse_moment, metavar="TIME", help="Only after this time (ISO 8601, or 2h for two hours ago)."
    ),
]
Before = Annotated[
    datetime | None, typer.Option(parser=options.parse_moment, metavar="TIME", help="Only before this time.")
]
Cursor = Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on after the page that named it.")]
AllPages = Annotated[bool, typer.Option("--all", help="Every page, however many.")]
File = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="Check this export, without asking the API for anything.")
]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="FILE", help="Also compare with this earlier export: is all of it still there?"),
]
To = Annotated[str | None, typer.Option("--to", metavar="FILE", help="Write to this file instead of standard output.")]
Append = Annotated[bool, typer.Option("--append", help="Go on with the file where it ends, if it is there.")]
AfterPlace = Annotated[
    str, typer.Option("--after", metavar="PLACE", help="Only what came after the line with this `place`.")
]


@command(
    group,
    "list",
    examples=[
        "vardy audit list --job job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A",
        "vardy audit list --by lea --action decision.approve --after 7d --all",
        "vardy audit list --chain settings --json",
    ],
)
def list_audit(
    session: Session,
    *,
    job: OfJob = None,
    chain: OfChain = None,
    by: By = None,
    action: OfAction = None,
    after: After = None,
    before: Before = None,
    limit: options.Limit = 20,
    cursor: Cursor = None,
    everything: AllPages = False,
) -> Shown:
    """List what was done, newest first. Needs the scope admin or operate."""
    from vardy_worker.contracts.audit import AuditPage  # noqa: PLC0415 - see `vardy_api.cli`

    if job is not None and chain is not None:
        raise usage_error("Give --job or --chain, not both.")
    items: list[AuditEntry] = []
    while True:
        # A page may be short where few entries match.
        page = session.client.audit(
            chain=job or chain,
            by=by,
            action=action,
            after=after,
            before=before,
            cursor=cursor,
            limit=PAGE_ENTRIES if everything else limit - len(items),
        )
        items += page.items
        cursor = page.next
        if cursor is None or (not everything and len(items) >= limit):
            return Shown(AuditPage(items=tuple(items), next=cursor))


@command(
    group,
    "verify",
    examples=[
        "vardy audit verify",
        "vardy audit verify --against audit-2025-03-01.jsonl",
        "vardy audit verify --file audit.jsonl",
    ],
)
def verify_audit(session: Session, *, chain: OfChain = None, file: File = None, against: Against = None) -> Shown:
    """Check every chain: no entry was changed, taken out, put in, or moved. Exit code 1 when one does not hold.

    The API checks the live trail. With --file an export is checked here, without the API.
    With --against FILE an earlier export is compared: a chain that was cut off or written
    anew since is named.
    """
    from vardy_api.cli import auditing  # noqa: PLC0415 - see `vardy_api.cli`

    if chain is not None and (file is not None or against is not None):
        raise usage_error("--chain asks the API about one chain; --file and --against are about all of an export.")
    return auditing.verify(session, chain=chain, file=file, against=against)


@command(
    group,
    "export",
    examples=[
        "vardy audit export --to audit.jsonl",
        "vardy audit export --to audit.jsonl --append",
        "vardy audit export > audit.jsonl",
    ],
)
def export_audit(session: Session, *, to: To = None, append: Append = False, after: AfterPlace = "") -> Shown | int:
    """Export every entry as one line of JSON, oldest first.

    Keep exports where nobody who can write to Redis can write: they are what a trail that
    was written anew is found by. --append goes on with a file, also after an interruption.
    """
    from vardy_api.cli import auditing  # noqa: PLC0415 - see `vardy_api.cli`

    if to is not None:
        if after:
            raise usage_error("--after is for standard output; --append finds where a file ends.")
        return auditing.export(session, to=to, append=append)
    if append:
        raise usage_error("--append needs --to FILE.")
    for line in session.client.export_audit(after=after):
        sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
    return ExitCode.OK
