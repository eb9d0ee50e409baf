"""`vardy recipes`: reviewed programs saved under a name."""

from __future__ import annotations

from typing import Annotated

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.commands.run import Mode, run
from vardy_api.cli.exits import not_found, usage_error
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("Save, look at, run and delete recipes.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the recipe.", show_default=False)]
ExpectVersion = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Refuse if this is not the newest version; 0: it must not exist yet."),
]


@command(group, "list", examples=["vardy recipes list"])
def list_recipes(session: Session) -> Shown:
    """List the recipes."""
    from vardy_api.recipe_shapes import RecipeList  # noqa: PLC0415 - see `vardy_api.cli`

    return Shown(RecipeList(items=session.client.recipes()))


@command(
    group, "show", examples=["vardy recipes show overdue-reminder", "vardy recipes show overdue-reminder --versions"]
)
def show_recipe(
    session: Session,
    name: Name,
    *,
    version: Annotated[int | None, typer.Option(min=1, metavar="N", help="This version, not the newest.")] = None,
    versions: Annotated[bool, typer.Option("--versions", help="List all versions.")] = False,
) -> Shown:
    """Show a recipe: its params, the functions it calls, its program."""
    if version is not None and versions:
        raise usage_error("Give --version or --versions, not both.")
    if version is None and not versions:
        return Shown(session.client.recipe(name))
    from vardy_api.recipe_shapes import RecipeList  # noqa: PLC0415 - see `vardy_api.cli`

    found = session.client.recipe_versions(name)
    if versions:
        return Shown(RecipeList(items=found))
    for view in found:
        if view.version == version:
            return Shown(view)
    raise not_found(f"Recipe {name} has no version {version}; see --versions.", code="recipe.not_found")


@command(
    group,
    "save",
    examples=[
        "vardy recipes save overdue-reminder --from-job job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --reviewed-by lia",
        "vardy recipes save overdue-reminder --file reminder.js --params-schema @schema.json",
    ],
)
def save_recipe(
    session: Session,
    name: Name,
    *,
    from_job: Annotated[str | None, typer.Option(metavar="JOB", help="Take the program of this job.")] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Take the program in this file; - is standard input.")
    ] = None,
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it does, for people.")] = "",
    params_schema: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="JSON Schema of the params object.")
    ] = None,
    reviewed_by: Annotated[
        str, typer.Option(metavar="WHO", help="Who reviewed the program; a key that is bound to a person needs none.")
    ] = "",
    expect_version: ExpectVersion = None,
) -> Shown:
    """Save a new version of a recipe. The program is validated; every finding is shown."""
    if (from_job is None) == (file is None):
        raise usage_error("Say where the program is: either --from-job JOB or --file FILE.")
    saved = session.client.save_recipe(
        name,
        source=None if file is None else options.read_text(file),
        from_job=from_job,
        description=description,
        params_schema=options.parse_object(params_schema, "--params-schema"),
        reviewed_by=reviewed_by,
        expect_version=expect_version,
    )
    return Shown(saved, style="saved", hints=[f"vardy recipes run {saved.name} --params '{{}}'"])


@command(group, "run", examples=["vardy recipes run overdue-reminder --params '{\"days\": 30}' --user ana"])
def run_recipe(
    session: Session,
    name: Name,
    *,
    params: options.Params = None,
    user: options.User = None,
    roles: options.Roles = None,
    mode: Mode = "execute",
    metadata: options.Metadata = None,
    idempotency_key: options.IdempotencyKey = None,
    wait: options.Wait = True,
    timeout: options.Timeout = None,
) -> Shown:
    """Run a recipe; the same as `vardy run --recipe NAME`."""
    return run(
        session,
        recipe=name,
        params=params,
        user=user,
        roles=roles,
        mode=mode,
        metadata=metadata,
        idempotency_key=idempotency_key,
        wait=wait,
        timeout=timeout,
    )


@command(group, "delete", examples=["vardy recipes delete overdue-reminder --yes"])
def delete_recipe(session: Session, name: Name, *, yes: options.Yes = False, dry_run: options.DryRun = False) -> Shown:
    """Delete a recipe with all its versions. Asks first."""
    from vardy_api.cli.bulk import Done, DryRunItem, would  # noqa: PLC0415 - see `vardy_api.cli`

    if dry_run:
        newest = session.client.recipe(name)
        return would("delete", [DryRunItem(target=name, note=f"versions 1 to {newest.version}")])
    session.confirm(f"delete recipe {name} with all its versions", yes=yes)
    session.client.delete_recipe(name)
    return Shown(Done(action="Deleted", target=f"recipe {name}"))
