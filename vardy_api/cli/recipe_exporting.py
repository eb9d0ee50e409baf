"""`vardy recipes export`: recipes as files, never over a file with other content unasked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vardy_api.cli.exits import usage_error
from vardy_api.cli.recipe_folder import exported_files_in, read_bytes, remove_file, write_file
from vardy_api.cli.recipe_reports import Export, ExportedFile, FileState, RecipeText
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import counted
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.recipe_files import recipe_file_name, recipe_file_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.cli.session import Session
    from vardy_api.recipe_shapes import RecipeView


def recipe_of(view: RecipeView) -> Recipe:
    """The recipe that an answer of the service shows."""
    at_ms = 0 if view.reviewed_at is None else round(view.reviewed_at.timestamp() * 1000)
    fields = view.model_dump(include=set(Recipe.model_fields) - {"reviewed_at_ms"})
    return Recipe(**fields, reviewed_at_ms=at_ms)


def printed(views: Sequence[RecipeView]) -> Shown:
    """One recipe for standard output."""
    if len(views) != 1:
        raise usage_error("Standard output takes one recipe; name it, or give --to DIR.")
    recipe = recipe_of(views[0])
    return Shown(RecipeText(recipe=recipe.name, version=recipe.version, text=recipe_file_text(recipe)))


def export(
    session: Session, views: Sequence[RecipeView], folder: Path, *, prune: bool, dry_run: bool, yes: bool
) -> Shown:
    """Writes each recipe to its file in a folder; with `prune` removes the files of recipes that are no more.

    Asks before it overwrites or removes anything; then nothing was written yet.
    """
    texts = {folder / recipe_file_name(view.name): (view, recipe_file_text(recipe_of(view))) for view in views}
    items = [_compared(path, view, text) for path, (view, text) in texts.items()]
    gone = [path for path in exported_files_in(folder) if path not in texts] if prune else []
    items += [ExportedFile(file=str(path), state=FileState.REMOVED) for path in gone]
    report = Export(dry_run=dry_run, items=tuple(items))
    if dry_run:
        return Shown(report)
    changed = [item.file for item in items if item.state is FileState.CHANGED]
    questions = [f"overwrite {counted(len(changed), 'file')} ({', '.join(changed)})"] if changed else []
    questions += [f"remove {counted(len(gone), 'file')} ({', '.join(map(str, gone))})"] if gone else []
    if questions:
        session.confirm(" and ".join(questions), yes=yes)
    for item, (path, (_, text)) in zip(items, texts.items(), strict=False):
        if item.state is not FileState.UNCHANGED:
            write_file(path, text)
    for path in gone:
        remove_file(path)
    return Shown(report)


def _compared(path: Path, view: RecipeView, text: str) -> ExportedFile:
    there = read_bytes(path)
    state = FileState.NEW if there is None else FileState.CHANGED
    if there == text.encode():
        state = FileState.UNCHANGED
    return ExportedFile(file=str(path), state=state, recipe=view.name, version=view.version)
