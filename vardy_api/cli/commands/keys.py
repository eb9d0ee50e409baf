"""`vardy keys`: API keys."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("Make, list and revoke API keys.")


class ScopeName(StrEnum):
    """`contracts.user.Scope`, without loading it for `--help`; a test compares them."""

    SUBMIT = "submit"
    READ = "read"
    JUDGE = "judge"
    DECIDE = "decide"
    OPERATE = "operate"
    ADMIN = "admin"


@command(
    group,
    "create",
    examples=[
        "vardy keys create --name billing --scope submit --scope read",
        "vardy keys create --scope decide --scope read --person lia --role support_lead --expires-in 90d",
        "vardy keys create --bootstrap --name operations --scope admin --scope operate",
    ],
)
def create_key(
    session: Session,
    *,
    scopes: Annotated[list[ScopeName], typer.Option("--scope", help="What the key may do; repeatable.")],
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the key is for.")] = "",
    owner: Annotated[str, typer.Option(metavar="TEXT", help="Whose jobs these are; default: person or name.")] = "",
    person: Annotated[
        str | None, typer.Option(metavar="ID|JSON", help="The key acts only as this person; else it names the user.")
    ] = None,
    roles: Annotated[list[str] | None, typer.Option("--role", help="A role of the person; repeatable.")] = None,
    expires_in: Annotated[
        float | None,
        typer.Option(parser=options.parse_duration, metavar="TIME", help="How long it is valid, for example 90d."),
    ] = None,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Make the first key, directly in Redis (VARDY_REDIS_URL).")
    ] = False,
) -> Shown:
    """Make an API key; its secret is printed this once.

    The first one is made with --bootstrap, which works only while no valid key has the
    scope admin.
    """
    bound = options.parse_person(person, roles, option="--person")
    seconds = None if expires_in is None else int(expires_in)
    if bootstrap:
        from vardy_api.cli.first_key import create_first_key  # noqa: PLC0415 - see `vardy_api.cli`

        return Shown(create_first_key(scopes, name=name, owner=owner, person=bound, expires_in_seconds=seconds))
    made = session.client.create_key(scopes, name=name, owner=owner, person=bound, expires_in_seconds=seconds)
    return Shown(made)


@command(group, "list", examples=["vardy keys list"])
def list_keys(session: Session) -> Shown:
    """List all keys, the revoked ones too, without their secrets."""
    from vardy_api.shapes import KeyList  # noqa: PLC0415 - see `vardy_api.cli`

    return Shown(KeyList(items=session.client.keys()))


@command(group, "revoke", examples=["vardy keys revoke key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def revoke_key(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Id of the key.", show_default=False)],
    *,
    dry_run: options.DryRun = False,
) -> Shown:
    """End a key at once. Jobs of its owner stay with other keys of that owner."""
    if not dry_run:
        return Shown(session.client.revoke_key(key))
    from vardy_api.cli.bulk import DryRunItem, would  # noqa: PLC0415 - see `vardy_api.cli`
    from vardy_api.cli.exits import not_found  # noqa: PLC0415 - the same

    found = session.client.keys()
    for known in found:
        if known.id == key:
            note = "revoked already" if known.revoked_at else f"{known.name or 'unnamed'}, of {known.owner}"
            return would("revoke", [DryRunItem(target=key, note=note)])
    raise not_found(f"There is no key {key}; see `vardy keys list`.", code="key.not_found")
