"""What differs between two versions of a recipe."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Final

from vardy_api.recipe_shapes import FieldDifference, RecipeDifference

if TYPE_CHECKING:
    from vardy_worker.contracts.recipe import Recipe

FIELDS: Final = ("description", "params_schema", "functions", "judge", "envelope", "reviewed_by", "from_job")


def difference(before: Recipe, after: Recipe) -> RecipeDifference:
    """The fields that differ, and the programs as a unified diff."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return RecipeDifference(
        name=after.name,
        before=before.version,
        after=after.version,
        fields=tuple(
            FieldDifference(field=name, before=old[name], after=new[name]) for name in FIELDS if old[name] != new[name]
        ),
        source=_unified(before, after),
    )


def _unified(before: Recipe, after: Recipe) -> str:
    # Split at line feeds alone: a program that only lost its last one differs, too.
    lines = unified_diff(
        before.source.split("\n"),
        after.source.split("\n"),
        f"{before.name} version {before.version}",
        f"{after.name} version {after.version}",
        lineterm="",
    )
    return "\n".join(lines)
