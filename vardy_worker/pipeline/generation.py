"""How a job without a recipe comes by its program: from the model, within its attempts.

    ask ─▶ extract ─▶ check ─▶ store, then run
     ▲        │          │
     └────────┴──────────┘  what was wrong goes back to the model, `generation_attempts` in all

The accepted program is stored before it runs, so that a job picked up again after a crash
never asks anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import JOB_ERRORS, ErrorInfo
from vardy_worker.contracts.job import Attempt
from vardy_worker.contracts.program import NoProgram, Program
from vardy_worker.contracts.status import Stage
from vardy_worker.pipeline.asking import ask, asked_fields, checked, prepare_to_ask
from vardy_worker.programs import extract
from vardy_worker.prompts import FailedTry
from vardy_worker.stages.generate import GenerateInput

if TYPE_CHECKING:
    from vardy_worker.pipeline.in_hand import JobInHand
    from vardy_worker.stages.execute import NotExecuted
    from vardy_worker.stages.generate import Generated


def generate_program(work: JobInHand, *, failed: NotExecuted | None = None) -> Program | None:
    """A program from the model; None when the job was settled without one.

    `failed` is how the last program ended, when it is to be repaired.
    """
    tries = [FailedTry(text=a.text, error=a.error, findings=a.findings) for a in work.job.attempts]
    left = work.limits.generation_attempts - len(tries)
    if failed is not None and work.job.program is not None:
        tries.append(_failed_run(work.job.program, failed))
        left = work.limits.generation_attempts
        work.remember_attempt(Attempt(text=work.job.program.source, error=failed.error))
    prepare_to_ask(work)
    if work.job.stage is not Stage.GENERATE:
        work.enter(Stage.GENERATE, {"attempts": work.job.attempts})
    while left > 0:
        request = work.job.submission.request or ""
        answer = ask(work, GenerateInput(**asked_fields(work), request=request, failed=tuple(tries)))
        if isinstance(answer, ErrorInfo):
            work.settle(JOB_ERRORS[answer.code], error=answer)
            return None
        found = _read(work, answer, attempt=len(tries) + 1)
        if isinstance(found, Program):
            return _accept(work, found)
        tries.append(FailedTry(text=found.text, error=found.error, findings=found.findings))
        work.remember_attempt(found)
        work.enter(Stage.GENERATE, {"attempts": work.job.attempts, "usage": work.job.usage})
        left -= 1
    last = tries[-1].error
    work.settle(JOB_ERRORS[last.code], error=last)
    return None


def _read(work: JobInHand, generated: Generated, *, attempt: int) -> Program | Attempt:
    """The program in the model's text, or what was wrong with the text."""
    reply = generated.reply
    started = work.parts.clock.monotonic()
    extracted = extract(
        reply.text,
        finish_reason=reply.finish_reason,
        program_bytes_max=work.limits.program_bytes_max,
        functions=[spec.name for spec in work.catalogue.functions],
    )
    work.note_time("validate", (work.parts.clock.monotonic() - started) * 1000)
    said = reply.text[: work.limits.program_bytes_max]
    if isinstance(extracted, NoProgram):
        error = ErrorInfo(code=extracted.code, message=extracted.message, details=extracted.details)
        return Attempt(text=said, error=error)
    program, problem = checked(work, extracted, attempts=attempt, prompt=generated.prompt_version)
    return program if problem is None else Attempt(text=said, error=problem, findings=program.warnings)


def _accept(work: JobInHand, program: Program) -> Program:
    work.enter(
        Stage.EXECUTE,
        {"program": program, "attempts": work.job.attempts, "usage": work.job.usage, "timings": work.job.timings},
    )
    return program


def _failed_run(program: Program, failed: NotExecuted) -> FailedTry:
    return FailedTry(
        source=program.source,
        line_map=program.line_map,
        error=failed.error,
        calls=failed.trace.calls,
        shapes=failed.trace.shapes,
    )
