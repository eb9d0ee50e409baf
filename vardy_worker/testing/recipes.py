"""Recipes in a test: made as the service makes them, from their parts or from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.recipe import FileFinding
from vardy_worker.documents import RECIPES, recipe_version
from vardy_worker.programs.recipes import RecipeDraft, make_recipe
from vardy_worker.recipe_files import FILE_SUFFIX, read_recipe_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vardy_worker.contracts.recipe import Recipe
    from vardy_worker.testing.parts import Parts


def save(parts: Parts, draft: RecipeDraft, reviewed_by: str) -> Recipe:
    """Validates a recipe and saves it as a new version. Raises `RequestError` with every finding."""
    recipe, _ = make_recipe(
        draft,
        parts.host.catalogue(),
        program_bytes_max=parts.settings.limits.program_bytes_max,
        reviewed_by=reviewed_by,
        now_ms=parts.clock.now_ms(),
    )
    stored = parts.documents.put(RECIPES, draft.name, recipe.model_dump(mode="json", exclude={"version"}))
    assert stored is not None  # noqa: S101 - narrows the type; only an expected version can be refused
    return recipe_version(stored)


def load(parts: Parts, path: Path, text: str) -> Recipe:
    """Saves the recipe of a file. Raises `RequestError` with every finding at its line of the file."""
    try:
        file = read_recipe_file(text, file_name=path.name if path.name.endswith(FILE_SUFFIX) else "")
    except RequestError as error:
        raise _told(path, error, [FileFinding(**problem) for problem in error.details["problems"]]) from error
    recipe = file.recipe
    draft = RecipeDraft(
        name=recipe.name,
        source=recipe.source,
        description=recipe.description,
        params_schema=recipe.params_schema,
        judge=recipe.judge,
        envelope=recipe.envelope,
        functions=recipe.functions or None,
    )
    try:
        return save(parts, draft, recipe.reviewed_by)
    except RequestError as error:
        problems = error.details.get("problems") or [{"at": "/source", "message": error.message}]
        raise _told(path, error, [file.finding(problem) for problem in problems]) from error


def _told(path: Path, error: RequestError, findings: Sequence[FileFinding]) -> RequestError:
    lines = [f"  {path}:{each.line}:{each.column}: {each.message}" for each in findings]
    details = {"file": str(path), "problems": [finding.model_dump(mode="json") for finding in findings]}
    return RequestError("\n".join([f"{path} is not valid:", *lines]), code=error.code, details=details)
