"""`vardy prompts`: what the model would be sent."""

from __future__ import annotations

from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("See what the model would be sent.")


@command(
    group,
    "show",
    examples=[
        'vardy prompts show "cancel order 17" --user ana --role support',
        'vardy prompts show "who deserves attention this week?" --user ana --explore',
    ],
)
def show_prompt(
    session: Session,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="The request, in plain words; - is standard input.", show_default=False),
    ],
    *,
    params: options.Params = None,
    user: options.User = None,
    roles: options.Roles = None,
    functions: options.FunctionNames = None,
    explore: Annotated[bool, typer.Option("--explore", help="For a question, as `vardy explore` asks it.")] = False,
    judge: Annotated[bool, typer.Option("--judge", help="For programs that may use `classify` and `ai`.")] = False,
) -> Shown:
    """Show exactly what would be sent to the model for a request; nothing is sent."""
    view = session.client.prompt(
        options.read_words(text),
        kind="explore" if explore else "run",
        judge=judge,
        params=options.parse_object(params, "--params"),
        user=options.parse_person(user, roles),
        functions=functions,
    )
    return Shown(view)
