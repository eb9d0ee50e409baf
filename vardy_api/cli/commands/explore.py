"""`vardy explore`: ask a question that reads may answer."""

from __future__ import annotations

from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

EXPLORE_EXAMPLES = (
    'vardy explore "who deserves attention this week?" --user ana',
    'vardy explore "which customers pay late?" --user ana --function list_invoices --rounds-max 2 --json',
)


def explore(
    session: Session,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="The question, in plain words; - is standard input.", show_default=False),
    ],
    *,
    params: options.Params = None,
    user: options.User = None,
    roles: options.Roles = None,
    functions: options.FunctionNames = None,
    judge: options.Judge = False,
    rounds_max: Annotated[
        int | None,
        typer.Option(
            min=1, max=20, metavar="N", help="At most so many programs; the deployment has a limit of its own."
        ),
    ] = None,
    metadata: options.Metadata = None,
    limits: options.Limits = None,
    idempotency_key: options.IdempotencyKey = None,
    wait: options.Wait = True,
    timeout: options.Timeout = None,
) -> Shown:
    """Ask a question: the model looks in rounds, by programs that only read, and answers.

    Waits for the answer and prints it; on a terminal the rounds are shown as they come. The
    exit code is 0 when there is an answer, 1 when there is none, and 8 when the time was up.
    """
    job = session.client.explore(
        options.read_words(text),
        params=options.parse_object(params, "--params"),
        user=options.parse_person(user, roles),
        functions=functions,
        judge=judge,
        rounds_max=rounds_max,
        metadata=options.parse_pairs(metadata, "--metadata"),
        limits=options.parse_numbers(limits, "--limit"),
        idempotency_key=idempotency_key,
        wait=False,
    )
    return session.settle(job, wait=wait, timeout=timeout)
