"""`vardy programs`: programs that nobody submitted yet."""

from __future__ import annotations

from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.exits import ExitCode
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("Check programs before they run.")


@command(
    group,
    "check",
    examples=[
        "vardy programs check reminder.js",
        "vardy programs check reminder.js --user ana --role support --json",
        "vardy programs check answer.md --extract",
    ],
)
def check_program(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A program; - is standard input.", show_default=False)],
    *,
    extract: Annotated[
        bool, typer.Option("--extract", help="The file is the answer of a model: take the program out of it first.")
    ] = False,
    user: Annotated[
        str | None, typer.Option(metavar="ID|JSON", help="Check against the functions of this person.")
    ] = None,
    roles: options.Roles = None,
    functions: options.FunctionNames = None,
    judge: Annotated[bool, typer.Option("--judge", help="The program may use `classify` and `ai`.")] = False,
) -> Shown | int:
    """Print what the checks find in a program, like a compiler; nothing runs.

    The exit code is 1 when an error was found; warnings leave it at 0. Without --user a
    key that is bound to a person checks for that person, any other against all functions.
    """
    # Editors count neither a byte order mark nor the carriage returns.
    given = options.read_text(file).removeprefix("\ufeff").replace("\r\n", "\n")
    checked = session.client.check_program(
        None if extract else given,
        text=given if extract else None,
        user=options.parse_person(user, roles),
        functions=functions,
        judge=judge,
    )
    exit_code = ExitCode.OK if checked.ok else ExitCode.ERROR
    if session.as_json:
        return Shown(checked, exit_code=exit_code)
    from vardy_api.cli.findings import print_findings  # noqa: PLC0415 - see `vardy_api.cli`

    print_findings(session.out, checked, "<stdin>" if file == "-" else file)
    return exit_code
