"""`vardy recipes`: reviewed programs saved under a name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from vardy_api.cli import options
from vardy_api.cli.command import command, make_group
from vardy_api.cli.commands.run import Mode, run
from vardy_api.cli.exits import usage_error
from vardy_api.cli.next_steps import after_saving
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown

group = make_group("Save, review, run recipes, and keep them as files.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the recipe.", show_default=False)]
ExpectVersion = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Refuse if this is not the newest version; 0: it must not exist yet."),
]


ReviewedBy = Annotated[
    str, typer.Option(metavar="WHO", help="Who reviewed the program; without it, the key's person, or else its owner.")
]
_VERSIONS = re.compile(r"([1-9][0-9]{0,8})(?::([1-9][0-9]{0,8}))?")


@command(group, "list", examples=["vardy recipes list"])
def list_recipes(session: Session) -> Shown:
    """List the recipes, and say which need a review because their functions changed."""
    from vardy_api.recipe_shapes import RecipeList  # noqa: PLC0415 - see `vardy_api.cli`

    return Shown(RecipeList(items=session.client.recipes()))


@command(
    group,
    "show",
    examples=[
        "vardy recipes show overdue-reminder",
        "vardy recipes show overdue-reminder --versions",
        "vardy recipes show overdue-reminder --diff 2:3",
    ],
)
def show_recipe(
    session: Session,
    name: Name,
    *,
    version: Annotated[int | None, typer.Option(min=1, metavar="N", help="This version, not the newest.")] = None,
    versions: Annotated[bool, typer.Option("--versions", help="List all versions.")] = False,
    diff: Annotated[
        str | None, typer.Option(metavar="N[:M]", help="What differs from version N to M; without M to the newest.")
    ] = None,
) -> Shown:
    """Show a recipe: its params, the functions it calls, its program."""
    if sum((version is not None, versions, diff is not None)) > 1:
        raise usage_error("Give only one of --version, --versions and --diff.")
    if diff is not None:
        if (numbers := _VERSIONS.fullmatch(diff)) is None:
            raise usage_error("--diff takes one or two versions, for example 2:3.")
        before, after = int(numbers[1]), int(numbers[2]) if numbers[2] else None
        return Shown(session.client.recipe_difference(name, before, after))
    if versions:
        from vardy_api.recipe_shapes import RecipeList  # noqa: PLC0415 - see `vardy_api.cli`

        return Shown(RecipeList(items=session.client.recipe_versions(name)))
    return Shown(session.client.recipe(name, version=version))


@command(
    group,
    "save",
    examples=[
        "vardy recipes save overdue-reminder --from-job job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A --reviewed-by lia",
        "vardy recipes save overdue-reminder --file reminder.js --params-schema @schema.json --dry-run",
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
    judge: Annotated[bool, typer.Option("--judge", help="Its program has `classify` and `ai`.")] = False,
    envelope: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="Bounds for the rules' `recipe.within_envelope`.")
    ] = None,
    envelope_from_job: Annotated[
        str | None, typer.Option(metavar="JOB", help="Take exactly what the plan of this job did as the bounds.")
    ] = None,
    reviewed_by: ReviewedBy = "",
    expect_version: ExpectVersion = None,
    dry_run: options.DryRun = False,
) -> Shown:
    """Save a recipe, as reviewed: a new version. The program is validated; every finding is shown.

    A version is saved whole: what is not given, such as the envelope, the new version does not have.
    """
    if (from_job is None) == (file is None):
        raise usage_error("Say where the program is: either --from-job JOB or --file FILE.")
    source = None if file is None else options.read_text(file)
    if source is not None and source.lstrip("\ufeff").startswith("/*---"):
        raise usage_error(f"{file} is the file of a recipe, not a program alone: use `vardy recipes import {file}`.")
    saved = session.client.save_recipe(
        name,
        source=source,
        from_job=from_job,
        description=description,
        params_schema=options.parse_object(params_schema, "--params-schema"),
        judge=judge,
        envelope=options.parse_object(envelope, "--envelope"),
        envelope_from_job=envelope_from_job,
        reviewed_by=reviewed_by,
        expect_version=expect_version,
        dry_run=dry_run,
    )
    hints = [] if dry_run else after_saving(saved)
    return Shown(saved, style="saved", hints=hints)


@command(
    group,
    "review",
    examples=[
        "vardy recipes review overdue-reminder --reviewed-by lia",
        "vardy recipes review overdue-reminder --envelope @envelope.json --yes",
    ],
)
def review_recipe(
    session: Session,
    name: Name,
    *,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A new description; without it, it stays.")
    ] = None,
    envelope: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="New bounds; null removes them; without it, they stay.")
    ] = None,
    reviewed_by: ReviewedBy = "",
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Review a recipe against the functions as they are now: a new version with the same program.

    Shows what changed of its functions since the last review, and asks. The program is
    validated again.
    """
    given: dict[str, Any] = {"description": description, "reviewed_by": reviewed_by}
    if envelope is not None:
        removes = envelope.strip() == "null"
        given["envelope"] = None if removes else options.parse_object(envelope, "--envelope")
    newest = session.client.recipe(name)
    given |= {"expect_version": newest.version, "expect_sha256": newest.sha256}
    if (dry_run or (not yes and session.can_ask)) and not session.as_json:
        session.show(Shown(newest))
    if dry_run:
        return Shown(session.client.review_recipe(name, **given, dry_run=True), style="reviewed")
    session.confirm(f"review {name} version {newest.version}", yes=yes)
    return Shown(session.client.review_recipe(name, **given), style="reviewed")


@command(group, "run", examples=["vardy recipes run overdue-reminder --params '{\"days\": 30}' --user ana"])
def run_recipe(
    session: Session,
    name: Name,
    *,
    params: options.Params = None,
    user: options.User = None,
    roles: options.Roles = None,
    mode: Mode = "execute",
    functions: options.FunctionNames = None,
    metadata: options.Metadata = None,
    limits: options.Limits = None,
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
        functions=functions,
        metadata=metadata,
        limits=limits,
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


@command(
    group,
    "export",
    examples=[
        "vardy recipes export --all --to recipes",
        "vardy recipes export overdue-reminder --to -",
        "vardy recipes export --all --to recipes --prune --dry-run",
    ],
)
def export_recipes(
    session: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Names of recipes.", show_default=False)
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All recipes.")] = False,
    to: Annotated[str, typer.Option(metavar="DIR|-", help="Folder of the files; - prints one recipe.")] = ".",
    prune: Annotated[
        bool, typer.Option("--prune", help="With --all: remove exported files of recipes that do not exist any more.")
    ] = False,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Write recipes to files, NAME.recipe.js each, so that they can live in a repository.

    Asks before a file with other content is overwritten, and before anything is removed.
    """
    if bool(names) is everything:
        raise usage_error("Name recipes, or give --all.")
    if prune and (not everything or to == "-"):
        raise usage_error("--prune needs --all and a folder.")
    from vardy_api.cli.recipe_exporting import export, printed  # noqa: PLC0415 - see `vardy_api.cli`

    unique = dict.fromkeys(names or ())
    views = session.client.recipes() if everything else [session.client.recipe(name) for name in unique]
    if to == "-":
        return printed(views)
    return export(session, views, Path(to), prune=prune, dry_run=dry_run, yes=yes)


@command(
    group,
    "import",
    examples=[
        "vardy recipes import recipes --dry-run",
        "vardy recipes import recipes --yes",
        "vardy recipes import overdue-reminder.recipe.js --reviewed-by lia",
    ],
)
def import_recipes(
    session: Session,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DIR", help="Files of recipes, or folders of them; - is standard input."),
    ],
    *,
    reviewed_by: Annotated[
        str, typer.Option(metavar="WHO", help="Who reviewed the files; without it, whom each file names.")
    ] = "",
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
) -> Shown:
    """Save recipes from files, as reviewed.

    All are checked first: with one that is not valid, nothing is saved. What is the same
    already makes no new version. Asks before several are saved. With --dry-run the exit
    code is 1 when a file is not valid, so that a repository can check its recipes.
    """
    from vardy_api.cli.recipe_folder import found_files  # noqa: PLC0415 - see `vardy_api.cli`
    from vardy_api.cli.recipe_importing import import_files  # noqa: PLC0415 - the same

    return import_files(session, found_files(sources), reviewed_by=reviewed_by, dry_run=dry_run, yes=yes)
