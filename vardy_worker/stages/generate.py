"""One question to the main model: for a program, a corrected one, or, in an explore, the answer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.errors import ErrorInfo, ModelRejected, ModelUnavailable
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.model import Message, ModelReply, ModelRequest
from vardy_worker.ports import Model
from vardy_worker.prompts import PROMPT_VERSIONS, FailedTry, explore_prompt, program_prompt, repair_prompt


class Asked(Contract):
    """What every question is made of. `catalogue` is the part that the user may use."""

    job_id: str
    params: JsonObject
    catalogue: Catalogue
    limits: Limits
    judge: bool = False
    model: str
    fallbacks: tuple[str, ...] = ()
    timeout_seconds: float = 60
    retries: int = 2


class GenerateInput(Asked):
    """A program is asked for. `failed` are the earlier answers of this job that did not do, oldest first."""

    request: str
    failed: tuple[FailedTry, ...] = ()


class ExploreInput(Asked):
    """A program or the answer is asked for.

    `rounds` are the ended ones, oldest first. `refused` are answers that were none, when no
    program could run any more.
    """

    question: str
    rounds: tuple[Round, ...] = ()
    refused: tuple[FailedTry, ...] = ()


class Generated(Contract):
    """The model answered. Whether the text holds a program is for extraction to say."""

    reply: ModelReply
    prompt_version: str = Field(description="such as `program-1`, or `program-1+repair-1`")


class GenerationFailed(Contract):
    """There is no answer: `error.code` is a `generation.*` code."""

    error: ErrorInfo


def generate(model: Model, given: GenerateInput | ExploreInput) -> Generated | GenerationFailed:
    """Asks the model once, with its own retries and fallbacks."""
    if not given.model:
        message = "No model is configured: set VARDY_MODEL, or run a recipe, which needs none."
        return GenerationFailed(error=ErrorInfo(code="generation.not_configured", message=message))
    purpose: Literal["program", "explore"]
    match given:
        case GenerateInput():
            purpose, (messages, version) = "program", _program_question(given)
        case ExploreInput():
            purpose, (messages, version) = "explore", _explore_question(given)
    request = ModelRequest(
        messages=messages,
        model=given.model,
        fallbacks=given.fallbacks,
        timeout_seconds=given.timeout_seconds,
        retries=given.retries,
        purpose=purpose,
        job_id=given.job_id,
    )
    try:
        reply = model.complete(request)
    except (ModelUnavailable, ModelRejected) as error:
        return GenerationFailed(error=error.info())
    return Generated(reply=reply, prompt_version=version)


def _program_question(given: GenerateInput) -> tuple[tuple[Message, ...], str]:
    messages = program_prompt(
        catalogue=given.catalogue,
        request=given.request,
        params=given.params,
        limits=given.limits,
        judge=given.judge,
    )
    version = f"program-{PROMPT_VERSIONS['program']}"
    if not given.failed:
        return messages, version
    repaired = repair_prompt(messages, given.failed, catalogue=given.catalogue)
    return repaired, version + f"+repair-{PROMPT_VERSIONS['repair']}"


def _explore_question(given: ExploreInput) -> tuple[tuple[Message, ...], str]:
    messages = explore_prompt(
        catalogue=given.catalogue,
        question=given.question,
        params=given.params,
        limits=given.limits,
        judge=given.judge,
        rounds=given.rounds,
        refused=given.refused,
    )
    version = f"explore-{PROMPT_VERSIONS['explore']}"
    if any(each.worked for each in given.rounds):
        version += f"+round-{PROMPT_VERSIONS['round']}"
    if given.refused or any(each.error for each in given.rounds):
        version += f"+round_failed-{PROMPT_VERSIONS['round_failed']}"
    return messages, version
