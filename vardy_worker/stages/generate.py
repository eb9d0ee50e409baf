"""One question to the main model: a program is asked for, or a corrected one."""

from __future__ import annotations

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.errors import ErrorInfo, ModelRejected, ModelUnavailable
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.model import ModelReply, ModelRequest
from vardy_worker.ports import Model
from vardy_worker.prompts import PROMPT_VERSIONS, FailedTry, program_prompt, repair_prompt


class GenerateInput(Contract):
    """What one question is made of. `catalogue` is the part that the user may use.

    `failed` are the earlier answers of this job that did not do, oldest first.
    """

    job_id: str
    request: str
    params: JsonObject
    catalogue: Catalogue
    limits: Limits
    failed: tuple[FailedTry, ...] = ()
    model: str
    fallbacks: tuple[str, ...] = ()
    timeout_seconds: float = 60
    retries: int = 2


class Generated(Contract):
    """The model answered. Whether the text holds a program is for extraction to say."""

    reply: ModelReply
    prompt_version: str = Field(description="such as `program-1`, or `program-1+repair-1`")


class GenerationFailed(Contract):
    """There is no answer: `error.code` is a `generation.*` code."""

    error: ErrorInfo


def generate(model: Model, given: GenerateInput) -> Generated | GenerationFailed:
    """Asks the model once, with its own retries and fallbacks."""
    if not given.model:
        message = "No model is configured: set VARDY_MODEL, or run a recipe, which needs none."
        return GenerationFailed(error=ErrorInfo(code="generation.not_configured", message=message))
    messages = program_prompt(
        catalogue=given.catalogue,
        request=given.request,
        params=given.params,
        limits=given.limits,
    )
    version = f"program-{PROMPT_VERSIONS['program']}"
    if given.failed:
        messages = repair_prompt(messages, given.failed, catalogue=given.catalogue)
        version += f"+repair-{PROMPT_VERSIONS['repair']}"
    request = ModelRequest(
        messages=messages,
        model=given.model,
        fallbacks=given.fallbacks,
        timeout_seconds=given.timeout_seconds,
        retries=given.retries,
        purpose="program",
        job_id=given.job_id,
    )
    try:
        reply = model.complete(request)
    except (ModelUnavailable, ModelRejected) as error:
        return GenerationFailed(error=error.info())
    return Generated(reply=reply, prompt_version=version)
