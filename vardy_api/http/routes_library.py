"""What jobs are made from: programs, functions, prompts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import body
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.problems import problem_responses
from vardy_api.shapes import (
    CheckedProgram,
    ProgramCheck,
    PromptRequest,
    PromptView,
)
from vardy_worker.contracts.functions import Catalogue

router = APIRouter(prefix="/v1", route_class=JsonRoute)


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
def read_functions(
    use: UseCases,
    caller: Authenticated,
    role: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Query(max_length=100, description="Only what somebody with these roles may use; a bound person has its own."),
    ] = None,
) -> Response:
    """The company's functions, as a worker published them when it started.

    A key that is bound to a person sees those that the person may use. Any other key sees all,
    or with `role`, which may be repeated, those that are open to one of the roles.
    """
    return body(use.catalogue.seen_by(caller, role or ()))


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
