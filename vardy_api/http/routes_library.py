"""What jobs are made from: programs, recipes, functions, prompts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import body
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.problems import problem_responses
from vardy_api.recipe_shapes import RecipeList, RecipeSave, RecipeView, recipe_view
from vardy_api.shapes import (
    CheckedProgram,
    ProgramCheck,
    PromptRequest,
    PromptView,
)
from vardy_worker.contracts.functions import Catalogue

router = APIRouter(prefix="/v1", route_class=JsonRoute)


@router.get(
    "/recipes", tags=["recipes"], response_model=RecipeList, summary="List recipes", responses=problem_responses()
)
def list_recipes(use: UseCases, _: Authenticated) -> Response:
    """The newest version of each, by name."""
    return body(RecipeList(items=tuple(recipe_view(recipe) for recipe in use.recipes.list())))


@router.get(
    "/recipes/{name}",
    tags=["recipes"],
    response_model=RecipeView,
    summary="Read a recipe",
    responses=problem_responses("recipe.not_found"),
)
def read_recipe(use: UseCases, _: Authenticated, name: str) -> Response:
    """The newest version."""
    return body(recipe_view(use.recipes.get(name)))


@router.get(
    "/recipes/{name}/versions",
    tags=["recipes"],
    response_model=RecipeList,
    summary="Read all versions of a recipe",
    responses=problem_responses("recipe.not_found"),
)
def recipe_versions(use: UseCases, _: Authenticated, name: str) -> Response:
    """Oldest first."""
    return body(RecipeList(items=tuple(recipe_view(recipe) for recipe in use.recipes.versions(name))))


@router.put(
    "/recipes/{name}",
    tags=["recipes"],
    response_model=RecipeView,
    summary="Save a recipe",
    responses=problem_responses(
        "request.malformed", "request.too_large", "recipe.invalid", "recipe.conflict", "job.not_found"
    ),
)
def save_recipe(
    use: UseCases,
    caller: Authenticated,
    name: str,
    request: Annotated[RecipeSave, Body(openapi_examples=examples.RECIPE)],
) -> Response:
    """Stores a new version, from `source` or from a job's program, after validating it.

    It is pinned to the present versions of the functions that it calls.
    """
    recipe, warnings = use.recipes.save(caller, name, request)
    return body(recipe_view(recipe, warnings=warnings))


@router.delete(
    "/recipes/{name}",
    tags=["recipes"],
    status_code=204,
    response_class=Response,
    summary="Delete a recipe",
    responses=problem_responses("recipe.not_found"),
)
def delete_recipe(use: UseCases, caller: Authenticated, name: str) -> Response:
    """Deletes all versions; jobs that were submitted with one keep it."""
    use.recipes.delete(caller, name)
    return Response(status_code=204)


@router.post(
    "/programs/check",
    tags=["programs"],
    response_model=CheckedProgram,
    summary="Check a program",
    responses=problem_responses("request.malformed", "request.too_large", "auth.person"),
)
def check_program(
    use: UseCases, caller: Authenticated, request: Annotated[ProgramCheck, Body(openapi_examples=examples.PROGRAM)]
) -> Response:
    """All findings of the static checks, for `source` or for the program in a model's `text`.

    Nothing is stored, and nothing runs. A program with findings is an answer (200), not a problem.
    """
    return body(use.programs.check(caller, request))


@router.get(
    "/functions",
    tags=["functions"],
    response_model=Catalogue,
    summary="Read the catalogue",
    responses=problem_responses(),
)
def read_functions(use: UseCases, _: Authenticated) -> Response:
    """The company's functions, as a worker published them when it started."""
    return body(use.catalogue.current())


@router.post(
    "/prompts",
    tags=["functions"],
    response_model=PromptView,
    summary="Look at a prompt",
    responses=problem_responses("request.malformed", "auth.person"),
)
def preview_prompt(
    use: UseCases, caller: Authenticated, request: Annotated[PromptRequest, Body(openapi_examples=examples.PROMPT)]
) -> Response:
    """Exactly the messages that the model would get for this request; nothing is sent."""
    return body(PromptView(messages=use.prompts.preview(caller, request)))
