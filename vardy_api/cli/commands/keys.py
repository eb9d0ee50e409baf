"""`vardy keys`: API keys."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("Make, list, limit, rotate and revoke API keys.")


class ScopeName(StrEnum):
    """`contracts.user.Scope`, without loading it for `--help`; a test compares them."""

    SUBMIT = "submit"
    READ = "read"
    JUDGE = "judge"
    DECIDE = "decide"
    OPERATE = "operate"
    ADMIN = "admin"


KeyId = Annotated[str, typer.Argument(metavar="KEY", help="Id of the key.", show_default=False)]
RequestsPerMinute = Annotated[
    str | None,
    typer.Option(
        "--requests-per-minute", parser=options.parse_ceiling, metavar="N", help="Requests that the key may send."
    ),
]
JobsMax = Annotated[
    str | None,
    typer.Option(
        "--jobs-max", parser=options.parse_ceiling, metavar="N", help="Unsettled jobs that it may have at once."
    ),
]
TokensPerDay = Annotated[
    str | None,
    typer.Option("--tokens-per-day", parser=options.parse_ceiling, metavar="N", help="Tokens that its jobs may use."),
]
CostPerDay = Annotated[
    str | None,
    typer.Option("--cost-per-day", parser=options.parse_ceiling, metavar="USD", help="What its jobs may cost."),
]


@command(
    group,
    "create",
    examples=[
        "vardy keys create --name billing --scope submit --scope read",
        "vardy keys create --scope decide --scope read --person lia --role support_lead --expires-in 90d",
        "vardy keys create --name reports --scope submit --requests-per-minute 120 --cost-per-day 5",
        "vardy keys create --bootstrap --name ops --scope admin --expires-in 90d",
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
    requests_per_minute: RequestsPerMinute = None,
    jobs_max: JobsMax = None,
    tokens_per_day: TokensPerDay = None,
    cost_per_day: CostPerDay = None,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Make the first key, directly in Redis (VARDY_REDIS_URL).")
    ] = False,
) -> Shown:
    """Make an API key; its secret is printed this once.

    The first one is made with --bootstrap, which works only while no valid key has the
    scope admin. Ceilings that are not given are those of the deployment; 0 is none.
    """
    bound = options.parse_person(person, roles, option="--person")
    seconds = None if expires_in is None else int(expires_in)
    quota = options.ceilings(
        requests_per_minute=requests_per_minute,
        jobs_max=jobs_max,
        tokens_per_day=tokens_per_day,
        cost_usd_per_day=cost_per_day,
    )
    if bootstrap:
        from vardy_api.cli.first_key import create_first_key  # noqa: PLC0415 - see `vardy_api.cli`

        first = create_first_key(scopes, name=name, owner=owner, person=bound, expires_in_seconds=seconds, quota=quota)
        return Shown(first)
    made = session.client.create_key(
        scopes, name=name, owner=owner, person=bound, expires_in_seconds=seconds, quota=quota
    )
    return Shown(made)


@command(group, "list", examples=["vardy keys list", "vardy keys list --unused 90d"])
def list_keys(
    session: Session,
    *,
    unused: Annotated[
        float | None,
        typer.Option(
            parser=options.parse_duration, metavar="TIME", help="Only valid keys that nobody used for so long."
        ),
    ] = None,
) -> Shown:
    """List all keys, the revoked ones too, without their secrets."""
    from vardy_api.cli.key_checks import unused_for  # noqa: PLC0415 - see `vardy_api.cli`
    from vardy_api.shapes import KeyList  # noqa: PLC0415 - the same

    keys = session.client.keys()
    return Shown(KeyList(items=keys if unused is None else unused_for(keys, unused, session.out.now)))


@command(group, "show", examples=["vardy keys show key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def show_key(session: Session, key: KeyId) -> Shown:
    """Show a key without its secrets: what it may do, until when, and when it was used last."""
    return Shown(session.client.key(key))


@command(
    group,
    "rotate",
    examples=[
        "vardy keys rotate key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --keep 1h",
        "vardy keys rotate key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A",
    ],
)
def rotate_key(
    session: Session,
    key: KeyId,
    *,
    keep: Annotated[
        float | None,
        typer.Option(
            parser=options.parse_duration,
            metavar="TIME",
            help="How long the secret before still works, for example 1h; without it, that ends at once.",
        ),
    ] = None,
    dry_run: options.DryRun = False,
) -> Shown:
    """Give a key a new secret, which is printed this once; everything else of the key stays.

    Only the secret just before it can be kept for a while: any older one ends at once.
    """
    if not dry_run:
        return Shown(session.client.rotate_key(key, keep_seconds=int(keep or 0)))
    from vardy_api.cli.key_checks import would_change  # noqa: PLC0415 - see `vardy_api.cli`

    return would_change("rotate", session.client.key(key), session.out.now)


@command(
    group,
    "change",
    examples=[
        "vardy keys change key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --jobs-max 20 --cost-per-day 5",
        "vardy keys change key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --requests-per-minute deployment",
    ],
)
def change_key(
    session: Session,
    key: KeyId,
    *,
    requests_per_minute: RequestsPerMinute = None,
    jobs_max: JobsMax = None,
    tokens_per_day: TokensPerDay = None,
    cost_per_day: CostPerDay = None,
) -> Shown:
    """Change ceilings of a key, from its next request on; its secret stays.

    Ceilings that are not given stay. 0 is none, and `deployment` takes the key's own away.
    """
    quota = options.ceilings(
        requests_per_minute=requests_per_minute,
        jobs_max=jobs_max,
        tokens_per_day=tokens_per_day,
        cost_usd_per_day=cost_per_day,
    )
    if not quota:
        from vardy_api.cli.exits import usage_error  # noqa: PLC0415 - see `vardy_api.cli`

        raise usage_error("Give at least one ceiling, for example --requests-per-minute 120.")
    return Shown(session.client.change_key(key, quota=quota))


@command(
    group,
    "usage",
    examples=["vardy keys usage", "vardy keys usage key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A", "vardy keys usage --user ana"],
)
def show_usage(
    session: Session,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="Id of another key; needs the scope admin.", show_default=False)
    ] = None,
    *,
    user: Annotated[str | None, typer.Option(metavar="ID", help="A person; by default the key's.")] = None,
) -> Shown:
    """Show what a key, and the person it acts for, may use, and what is used of it."""
    return Shown(session.client.usage(user=user, key=key))


@command(group, "revoke", examples=["vardy keys revoke key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"])
def revoke_key(
    session: Session,
    key: KeyId,
    *,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """End a key with all its secrets at once. Jobs of its owner stay with other keys of that owner.

    The last valid key with the scope admin is revoked only after a question, or with --yes:
    afterwards keys can be made only with --bootstrap.
    """
    from vardy_api.cli.key_checks import is_last_admin, would_change  # noqa: PLC0415 - see `vardy_api.cli`

    found = session.client.key(key)
    if dry_run:
        return would_change("revoke", found, session.out.now)
    if is_last_admin(found, session.client, session.out.now):
        session.confirm("revoke the last valid key with the scope admin", yes=yes)
    return Shown(session.client.revoke_key(key))
