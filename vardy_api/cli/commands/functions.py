"""`vardy functions`: what programs may call."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vardy_api.cli.command import command, make_group
from vardy_api.cli.exits import not_found
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("See the company's functions, as a worker published them.")

FunctionKindName = Literal["read", "write"]


@command(group, "list", examples=["vardy functions list", "vardy functions list --kind write"])
def list_functions(
    session: Session,
    *,
    kind: Annotated[FunctionKindName | None, typer.Option(help="Only functions of this kind.")] = None,
) -> Shown:
    """List the functions."""
    catalogue = session.client.functions()
    if kind is not None:
        kept = tuple(spec for spec in catalogue.functions if spec.kind.value == kind)
        catalogue = catalogue.model_copy(update={"functions": kept})
    return Shown(catalogue)


@command(group, "show", examples=["vardy functions show refund_payment"])
def show_function(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the function.", show_default=False)],
) -> Shown:
    """Show one function: its declaration as programs see it, and its options."""
    catalogue = session.client.functions()
    spec = catalogue.get(name)
    if spec is not None:
        return Shown(spec)
    from difflib import get_close_matches  # noqa: PLC0415 - only for a name that was mistyped

    near = get_close_matches(name, [known.name for known in catalogue.functions], n=1)
    hint = f"did you mean {near[0]}?" if near else "see `vardy functions list`."
    raise not_found(f"There is no function {name}; {hint}", code="function.not_found")
