"""Asking the main model, and checking a program that it gave; for a run and for an explore."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.job import JobKind, Usage
from vardy_worker.contracts.program import Program
from vardy_worker.logs import get_logger
from vardy_worker.programs import check
from vardy_worker.stages.generate import GenerationFailed, generate

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.limits import Limits
    from vardy_worker.contracts.program import Extracted
    from vardy_worker.pipeline.in_hand import JobInHand
    from vardy_worker.stages.generate import ExploreInput, Generated, GenerateInput

log = get_logger(__name__)


class AskedFields(TypedDict):
    """The fields of `stages.generate.Asked`."""

    job_id: str
    params: JsonObject
    catalogue: Catalogue
    limits: Limits
    judge: bool
    model: str
    fallbacks: tuple[str, ...]
    timeout_seconds: float
    retries: int


def asked_fields(work: JobInHand) -> AskedFields:
    """What every question about a job says."""
    settings = work.parts.settings
    return {
        "job_id": work.job.id,
        "params": work.job.submission.params,
        "catalogue": work.catalogue,
        "limits": work.limits,
        "judge": work.job.has_judge,
        "model": settings.model,
        "fallbacks": settings.model_fallbacks,
        "timeout_seconds": settings.model_timeout_seconds,
        "retries": settings.model_retries,
    }


def prepare_to_ask(work: JobInHand) -> None:
    """Takes a lease that is long enough for a model's answer."""
    work.parts.leases.relength(work.hold, lease_ms=int(work.parts.settings.generate_lease_seconds * 1000))


def ask(work: JobInHand, question: GenerateInput | ExploreInput) -> Generated | ErrorInfo:
    """Asks once, unless a day's ceiling is reached; time and usage are remembered."""
    if (exceeded := work.exceeded()) is not None:
        message = f"{exceeded.sentence} The model was not asked."
        return ErrorInfo(code="generation.quota", message=message, details=exceeded.model_dump(mode="json"))
    started = work.parts.clock.monotonic()
    outcome = generate(work.parts.model, question)
    work.note_time("generate", (work.parts.clock.monotonic() - started) * 1000)
    if isinstance(outcome, GenerationFailed):
        return outcome.error
    usage = work.job.usage
    total = usage.plus(outcome.reply.usage)
    work.remember_usage(Usage(**total.model_dump(), model=outcome.reply.model, judge=usage.judge))
    log.info(
        "run.generated",
        model=outcome.reply.model,
        prompt=outcome.prompt_version,
        finish_reason=outcome.reply.finish_reason,
        completion_tokens=outcome.reply.usage.completion_tokens,
    )
    return outcome


def nameable(work: JobInHand) -> Catalogue:
    """The functions that a program may name; in an explore also writes, so that one is found to be a write."""
    if work.job.kind is not JobKind.EXPLORE:
        return work.catalogue
    submission = work.job.submission
    return work.parts.host.catalogue().for_user(submission.user.roles, submission.functions)


def checked(work: JobInHand, extracted: Extracted, *, attempts: int, prompt: str) -> tuple[Program, ErrorInfo | None]:
    """The program with its findings, and why it may not run; None when it may."""
    started = work.parts.clock.monotonic()
    findings = check(
        extracted.source,
        nameable(work),
        judge=work.job.has_judge,
        reads_only=work.job.kind is JobKind.EXPLORE,
        line_map=extracted.line_map,
    )
    work.note_time("validate", (work.parts.clock.monotonic() - started) * 1000)
    program = Program(
        source=extracted.source,
        sha256=sha256_text(extracted.source),
        line_map=extracted.line_map,
        attempts=attempts,
        prompt=prompt,
        warnings=findings,
    )
    errors = [finding for finding in findings if finding.severity == "error"]
    if not errors:
        return program, None
    first = errors[0]
    message = f"The program does not pass the checks: line {first.line}, column {first.column}: {first.message}"
    if len(errors) > 1:
        message += f" ({len(errors) - 1} more)"
    details = {"findings": [finding.model_dump(mode="json") for finding in errors]}
    return program, ErrorInfo(code="validation.program", message=message, details=details)
