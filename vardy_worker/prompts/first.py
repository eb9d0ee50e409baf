"""What a model is sent first for a job, whatever its kind: for looking at a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.job import JobKind
from vardy_worker.prompts.explore import explore_prompt
from vardy_worker.prompts.program import program_prompt

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.limits import Limits
    from vardy_worker.contracts.model import Message
    from vardy_worker.contracts.user import User


def first_prompt(
    kind: JobKind,
    *,
    catalogue: Catalogue,
    user: User,
    functions: tuple[str, ...] | None,
    request: str,
    params: JsonObject,
    limits: Limits,
    judge: bool = False,
) -> tuple[Message, ...]:
    """The messages for the first attempt at a program, or for the first round of an explore.

    `catalogue` is the whole one; of it the model sees what the user may use, narrowed to
    `functions`, and in an explore to reads.
    """
    if kind is JobKind.EXPLORE:
        reads = catalogue.for_user(user.roles, functions, reads_only=True)
        return explore_prompt(catalogue=reads, question=request, params=params, limits=limits, judge=judge)
    visible = catalogue.for_user(user.roles, functions)
    return program_prompt(catalogue=visible, request=request, params=params, limits=limits, judge=judge)
