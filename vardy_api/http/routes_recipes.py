"""Recipes: reviewed programs under a name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import body
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.paging import LIMIT_DEFAULT, Cursor, PageLimit
from vardy_api.http.problems import problem_responses
from vardy_api.operations.recipes import FoundRecipe, RecipePage, SavedRecipe
from vardy_api.recipe_shapes import (
    RecipeDifference,
    RecipeList,
    RecipeReview,
    RecipeSave,
    RecipeView,
    recipe_view,
)
from vardy_api.shapes import VERSION_MAX

router = APIRouter(prefix="/v1/recipes", tags=["recipes"], route_class=JsonRoute)

DryRun = Annotated[bool, Query(description="Only validate, and show what would be stored. Needs no scope.")]
Number = Annotated[int | None, Query(ge=1, le=VERSION_MAX)]


def _view(found: FoundRecipe) -> RecipeView:
    return recipe_view(found.recipe, found.changes)


def _saved(saved: SavedRecipe, *, dry_run: bool) -> Response:
    return body(recipe_view(saved.recipe, warnings=saved.warnings, changed=saved.changed, dry_run=dry_run))


def _page(page: RecipePage) -> Response:
    return body(RecipeList(items=tuple(map(_view, page.items)), next=page.next))


@router.get("", response_model=RecipeList, summary="List recipes", responses=problem_responses("cursor.invalid"))
def list_recipes(
    use: UseCases, _: Authenticated, *, cursor: Cursor = None, limit: PageLimit = LIMIT_DEFAULT
) -> Response:
    """A page of recipes by name, the newest version of each."""
    return _page(use.recipes.list(cursor=cursor, limit=limit))


@router.get(
    "/{name}", response_model=RecipeView, summary="Read a recipe", responses=problem_responses("recipe.not_found")
)
def read_recipe(use: UseCases, _: Authenticated, name: str) -> Response:
    """The newest version, which is the one that runs; `changes` says what changed of its functions since its review."""
    return body(_view(use.recipes.get(name)))


@router.get(
    "/{name}/versions",
    response_model=RecipeList,
    summary="List the versions of a recipe",
    responses=problem_responses("recipe.not_found", "cursor.invalid"),
)
def list_recipe_versions(
    use: UseCases, _: Authenticated, name: str, *, cursor: Cursor = None, limit: PageLimit = LIMIT_DEFAULT
) -> Response:
    """A page of its versions, oldest first."""
    return _page(use.recipes.versions(name, cursor=cursor, limit=limit))


@router.get(
    "/{name}/versions/{version}",
    response_model=RecipeView,
    summary="Read one version of a recipe",
    responses=problem_responses("recipe.not_found"),
)
def read_recipe_version(
    use: UseCases, _: Authenticated, name: str, version: Annotated[int, Path(ge=1, le=VERSION_MAX)]
) -> Response:
    """To read it: only the newest version runs."""
    return body(_view(use.recipes.version(name, version)))


@router.get(
    "/{name}/difference",
    response_model=RecipeDifference,
    summary="Compare two versions of a recipe",
    responses=problem_responses("recipe.not_found"),
)
def compare_recipe_versions(
    use: UseCases,
    _: Authenticated,
    name: str,
    before: Annotated[Number, Query(alias="from", description="None: the one before `to`.")] = None,
    after: Annotated[Number, Query(alias="to", description="None: the newest.")] = None,
) -> Response:
    """The fields that differ, and the programs as a unified diff."""
    return body(use.recipes.difference(name, before=before, after=after))


@router.put(
    "/{name}",
    response_model=RecipeView,
    summary="Save a recipe",
    responses=problem_responses(
        "request.malformed",
        "request.too_large",
        "recipe.invalid",
        "recipe.conflict",
        "job.not_found",
        "plan.none",
        "plan.erased",
    ),
)
def save_recipe(
    use: UseCases,
    caller: Authenticated,
    name: str,
    request: Annotated[RecipeSave, Body(openapi_examples=examples.RECIPE)],
    dry_run: DryRun = False,
) -> Response:
    """Stores a new version, from `source` or from a job's program, after validating it. Saving is reviewing.

    It is pinned to the present versions of the functions that it calls. Where the newest version
    is the same already, nothing is stored (`changed` is false).
    """
    return _saved(use.recipes.save(caller, name, request, dry_run=dry_run), dry_run=dry_run)


@router.post(
    "/{name}/review",
    response_model=RecipeView,
    summary="Review a recipe again",
    responses=problem_responses(
        "request.malformed", "request.too_large", "recipe.not_found", "recipe.invalid", "recipe.conflict"
    ),
)
def review_recipe(
    use: UseCases,
    caller: Authenticated,
    name: str,
    request: Annotated[RecipeReview, Body(openapi_examples=examples.RECIPE_REVIEW)],
    dry_run: DryRun = False,
) -> Response:
    """Makes a new version of the same program, validated against the functions as they are now and pinned to them."""
    return _saved(use.recipes.review(caller, name, request, dry_run=dry_run), dry_run=dry_run)


@router.delete(
    "/{name}",
    status_code=204,
    response_class=Response,
    summary="Delete a recipe",
    responses=problem_responses("recipe.not_found"),
)
def delete_recipe(use: UseCases, caller: Authenticated, name: str) -> Response:
    """Deletes all versions; jobs that were submitted with one keep it, and the audit trail says what was deleted."""
    use.recipes.delete(caller, name)
    return Response(status_code=204)
