"""The client's methods about recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_api import client_calls as calls
from vardy_api.client_arguments import UNCHANGED, Unchanged, as_envelope, checked, job_id_of
from vardy_api.client_flows import Flow, Flows
from vardy_api.recipe_shapes import RecipeReview, RecipeSave

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_api.recipe_shapes import RecipeDifference, RecipeView
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.envelope import Envelope
    from vardy_worker.contracts.view import JobView


class RecipeFlows(Flows):
    """Recipes: save, look at, review, compare, delete."""

    def recipes(self) -> Flow[tuple[RecipeView, ...]]:
        """The newest version of every recipe, by name."""
        return (yield from self._all(lambda cursor: calls.list_recipes(cursor=cursor)))

    def recipe(self, name: str, *, version: int | None = None) -> Flow[RecipeView]:
        """The newest version of one recipe, or the one that is named."""
        return (yield from self._perform(calls.read_recipe(name, version=version)))

    def recipe_versions(self, name: str) -> Flow[tuple[RecipeView, ...]]:
        """All versions of one recipe, oldest first."""
        return (yield from self._all(lambda cursor: calls.recipe_versions(name, cursor=cursor)))

    def recipe_difference(self, name: str, before: int, after: int | None = None) -> Flow[RecipeDifference]:
        """What differs between two versions; without `after` up to the newest."""
        return (yield from self._perform(calls.recipe_difference(name, before, after)))

    def save_recipe(
        self,
        name: str,
        *,
        source: str | None = None,
        from_job: JobView | str | None = None,
        description: str = "",
        params_schema: JsonObject | None = None,
        judge: bool = False,
        envelope: Envelope | Mapping[str, Any] | None = None,
        envelope_from_job: JobView | str | None = None,
        functions: Mapping[str, str] | None = None,
        reviewed_by: str = "",
        expect_version: int | None = None,
        expect_sha256: str | None = None,
        dry_run: bool = False,
    ) -> Flow[RecipeView]:
        """Saves a recipe, from `source` or from the program of a job; saving is the act of review.

        What is the same as the newest version makes no new one: `changed` says which it was.
        `functions` are the versions it was reviewed against, where that was elsewhere; others
        than the present ones are refused. With `dry_run` it is only validated.

        Raises `Invalid` `recipe.invalid` with every finding, `Conflict` when
        `expect_version` is not the newest, or `expect_sha256` is not that of the newest.
        """
        with checked():
            request = RecipeSave(
                source=source,
                from_job=None if from_job is None else job_id_of(from_job, "from_job"),
                description=description,
                judge=judge,
                envelope=as_envelope(envelope),
                envelope_from_job=(
                    None if envelope_from_job is None else job_id_of(envelope_from_job, "envelope_from_job")
                ),
                functions=functions,
                reviewed_by=reviewed_by,
                expect_version=expect_version,
                expect_sha256=expect_sha256,
                **({} if params_schema is None else {"params_schema": params_schema}),
            )
        return (yield from self._perform(calls.save_recipe(name, request, dry_run=dry_run)))

    def review_recipe(
        self,
        name: str,
        *,
        description: str | None = None,
        envelope: Envelope | Mapping[str, Any] | Unchanged | None = UNCHANGED,
        reviewed_by: str = "",
        expect_version: int | None = None,
        expect_sha256: str | None = None,
        dry_run: bool = False,
    ) -> Flow[RecipeView]:
        """Reviews the newest version against the functions as they are now: a new version, the same program.

        Description and envelope stay as they are unless they are given; None removes the
        envelope. Raises as `save_recipe` does.
        """
        given = {} if envelope is UNCHANGED else {"envelope": as_envelope(envelope)}
        with checked():
            request = RecipeReview(
                description=description,
                reviewed_by=reviewed_by,
                expect_version=expect_version,
                expect_sha256=expect_sha256,
                **given,
            )
        return (yield from self._perform(calls.review_recipe(name, request, dry_run=dry_run)))

    def delete_recipe(self, name: str) -> Flow[None]:
        """Deletes a recipe with all its versions."""
        yield from self._perform(calls.delete_recipe(name))
