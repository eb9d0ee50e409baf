"""The bodies of `/v1/recipes`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from vardy_api.shapes import VERSION_MAX
from vardy_worker.contracts.base import Contract, JsonObject, JsonValue
from vardy_worker.contracts.envelope import Envelope
from vardy_worker.contracts.program import Finding
from vardy_worker.contracts.recipe import FunctionChange
from vardy_worker.contracts.user import PersonId
from vardy_worker.contracts.view import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.recipe import Recipe

_REVIEWED_BY = (
    "filled in from the key where it is bound to a person; if empty, the owner of the key; needed with an envelope"
)
_EXPECT_SHA256 = "`sha256` of what was looked at: a recipe that is deleted and saved anew counts from 1 again"


class RecipeSave(Contract):
    """A recipe to save: from `source`, or from the program of the job `from_job`."""

    source: str | None = Field(None, min_length=1)
    from_job: str | None = None
    description: str = Field("", max_length=2000)
    params_schema: JsonObject = Field(
        default_factory=lambda: {"type": "object"}, description="JSON Schema (2020-12) of the params object"
    )
    judge: bool = Field(False, description="whether its program has `classify` and `ai`")  # noqa: FBT003 - pydantic takes the default first
    envelope: Envelope | None = Field(None, description="bounds for the rules' `recipe.within_envelope`")
    envelope_from_job: str | None = Field(
        None, description="in place of `envelope`: exactly what the plan of this job did, made by the same program"
    )
    functions: dict[str, str] | None = Field(
        None, description="the versions it was reviewed against; refused unless they are the present ones"
    )
    reviewed_by: PersonId = Field("", max_length=200, description=_REVIEWED_BY)
    expect_version: int | None = Field(
        None, ge=0, le=VERSION_MAX, description="0: must not exist yet; none: whatever is there"
    )
    expect_sha256: str | None = Field(None, max_length=64, description=_EXPECT_SHA256)


class RecipeReview(Contract):
    """A review of the newest version: the same program, against the functions as they are now.

    `description` and `envelope` stay as they are unless they are given; an `envelope` of null removes it.
    """

    description: str | None = Field(None, max_length=2000)
    envelope: Envelope | None = None
    reviewed_by: PersonId = Field("", max_length=200, description=_REVIEWED_BY)
    expect_version: int | None = Field(
        None, ge=1, le=VERSION_MAX, description="the version that was looked at; none: whatever is the newest"
    )
    expect_sha256: str | None = Field(None, max_length=64, description=_EXPECT_SHA256)

    @property
    def keeps_envelope(self) -> bool:
        """Whether nothing was said of the envelope."""
        return "envelope" not in self.model_fields_set


class RecipeView(Contract):
    """One version of a recipe. `functions` maps each function it calls to the version it was reviewed against.

    `sha256` is of all that was reviewed, as in the audit trail: alike versions have the same.
    `needs_review`: a function has another version by now, or is gone; `changes` says what changed.
    `changed` and `warnings` are of a save or a review: whether there is something new to store, and
    what the checks say of the program beside errors.
    """

    name: str
    version: int
    sha256: str
    description: str
    source: str
    params_schema: JsonObject
    functions: dict[str, str]
    judge: bool
    envelope: Envelope | None = None
    reviewed_by: str
    reviewed_at: datetime | None
    from_job: str | None
    needs_review: bool = False
    changes: tuple[FunctionChange, ...] = ()
    changed: bool = False
    dry_run: bool = False
    warnings: tuple[Finding, ...] = ()


class RecipeList(Contract):
    """Recipes by name, or the versions of one, oldest first. `next` is the cursor of the following page."""

    items: tuple[RecipeView, ...]
    next: str | None = None


class FieldDifference(Contract):
    """A field of a recipe that differs between two versions."""

    field: str
    before: JsonValue = None
    after: JsonValue = None


class RecipeDifference(Contract):
    """What differs between two versions of a recipe: `source` as a unified diff, "" where it is the same."""

    name: str
    before: int
    after: int
    fields: tuple[FieldDifference, ...] = ()
    source: str = ""


def recipe_view(
    recipe: Recipe,
    changes: Sequence[FunctionChange] = (),
    *,
    warnings: tuple[Finding, ...] = (),
    changed: bool = False,
    dry_run: bool = False,
) -> RecipeView:
    """The public shape of a recipe, with what changed of its functions since it was reviewed."""
    return RecipeView(
        **recipe.model_dump(exclude={"reviewed_at_ms"}),
        sha256=recipe.digest,
        reviewed_at=moment(recipe.reviewed_at_ms or None),
        needs_review=bool(changes),
        changes=tuple(changes),
        warnings=warnings,
        changed=changed,
        dry_run=dry_run,
    )
