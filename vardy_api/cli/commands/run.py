"""`vardy run`: submit a job in plain words, or by the name of a recipe."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vardy_api.cli import options
from vardy_api.cli.exits import usage_error
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

ModeName = Literal["execute", "plan"]
Mode = Annotated[ModeName, typer.Option(help="`plan` makes the plan and executes nothing.")]
Repairs = Annotated[
    int, typer.Option(min=0, max=3, metavar="N", help="How often a program that failed may be written again.")
]

RUN_EXAMPLES = (
    'vardy run "how much does customer 3 owe?" --user ana',
    'vardy run "cancel order 17" --user ana --role support --mode plan',
    "vardy run --recipe overdue-reminder --params '{\"days\": 30}' --user ana --json",
)


def run(
    session: Session,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="What is asked, in plain words; - is standard input.", show_default=False),
    ] = None,
    *,
    recipe: Annotated[str | None, typer.Option(metavar="NAME", help="Run this recipe instead of a text.")] = None,
    params: options.Params = None,
    user: options.User = None,
    roles: options.Roles = None,
    mode: Mode = "execute",
    functions: options.FunctionNames = None,
    execution_repairs: Repairs = 0,
    judge: options.Judge = False,
    metadata: options.Metadata = None,
    limits: options.Limits = None,
    idempotency_key: options.IdempotencyKey = None,
    wait: options.Wait = True,
    timeout: options.Timeout = None,
) -> Shown:
    """Ask for something in plain words, or run a recipe.

    Waits until the job settles and prints it. The exit code is 0 when it ended well or
    waits for people, 1 when it did not, and 8 when the time was up.
    """
    if (text is None) == (recipe is None):
        raise usage_error('Give either a text or --recipe NAME, for example: vardy run "cancel order 17".')
    job = session.client.run(
        None if text is None else options.read_words(text),
        recipe=recipe,
        params=options.parse_object(params, "--params"),
        user=options.parse_person(user, roles),
        mode=mode,
        functions=functions,
        execution_repairs=execution_repairs,
        judge=judge,
        metadata=options.parse_pairs(metadata, "--metadata"),
        limits=options.parse_numbers(limits, "--limit"),
        idempotency_key=idempotency_key,
        wait=False,
    )
    return session.settle(job, wait=wait, timeout=timeout)
