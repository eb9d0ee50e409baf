"""A recipe as the text of a file: what was reviewed as a comment on top, then the program, byte for byte."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from vardy_worker.recipe_files.yaml_text import yaml_lines

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.recipe import Recipe

FILE_SUFFIX: Final = ".recipe.js"
HEADER_START: Final = "/*---"
HEADER_END: Final = "---*/"


def recipe_file_name(name: str) -> str:
    """The name of a recipe's file."""
    return name + FILE_SUFFIX


def recipe_file_text(recipe: Recipe) -> str:
    """The whole text; `read_recipe_file` makes the same recipe of it, apart from the job it came from.

    Write it as UTF-8 with its line ends as they are: those of the program are part of it.
    """
    return "\n".join([HEADER_START, *yaml_lines(_header(recipe)), HEADER_END, recipe.source])


def _header(recipe: Recipe) -> JsonObject:
    envelope = recipe.envelope
    header: JsonObject = {
        "name": recipe.name,
        "version": recipe.version,
        "description": recipe.description,
        "judge": recipe.judge,
        "params_schema": recipe.params_schema,
        "envelope": None if envelope is None else envelope.model_dump(mode="json", exclude_defaults=True),
        "functions": dict(sorted(recipe.functions.items())),
        "reviewed_by": recipe.reviewed_by,
        "reviewed_at": _moment(recipe.reviewed_at_ms) if recipe.reviewed_at_ms else "",
    }
    return {
        name: value for name, value in header.items() if value not in ("", None, False, {}) or name == "params_schema"
    }


def _moment(at_ms: int) -> str:
    kept = "milliseconds" if at_ms % 1000 else "seconds"
    moment = datetime.fromtimestamp(at_ms // 1000, UTC).replace(microsecond=at_ms % 1000 * 1000)
    return moment.isoformat(timespec=kept).replace("+00:00", "Z")
