"""An explore job: rounds of programs that read, until the model answers.

    ask ─▶ a program ─▶ round stored ─▶ execute ─▶ summary or error stored ─┐
     ▲  └▶ the answer → SUCCESS                                            │
     └──────────────────── `explore_rounds_max` programs ──────────────────┘

After the last program the model is asked for the answer alone, if any round worked; if
none did, the job ends as its last round. A round is stored before its program runs and
when it ended: a job picked up after a crash goes on at the round where it was, with the
same program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import JOB_ERRORS, ErrorInfo
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.explore import Answer, Round
from vardy_worker.contracts.job import Attempt
from vardy_worker.contracts.program import NoProgram
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.pipeline.asking import ask, asked_fields, checked, nameable, prepare_to_ask
from vardy_worker.programs import read_turn
from vardy_worker.prompts import FailedTry, summarise
from vardy_worker.stages.execute import Executed
from vardy_worker.stages.generate import ExploreInput

if TYPE_CHECKING:
    from vardy_worker.contracts.program import Extracted
    from vardy_worker.pipeline.in_hand import JobInHand
    from vardy_worker.stages.generate import Generated

NO_MORE_PROGRAMS = ErrorInfo(
    code="generation.no_answer",
    message="The model wrote another program where it had to answer, because no further one may run.",
)


def explore_job(work: JobInHand) -> None:
    """Takes a claimed `explore` job to its end."""
    work.note_queued()
    problem = work.missing_functions()
    if problem is not None:
        work.settle(Status.VALIDATION_BLOCKED, error=problem)
        return
    while True:
        rounds = work.job.rounds
        if rounds and rounds[-1].ended_at_ms is None:
            _run(work, rounds[-1])
        elif len(rounds) >= work.limits.explore_rounds_max:
            _conclude(work)
            return
        elif not _next_round(work):
            return


def _next_round(work: JobInHand) -> bool:
    """Asks for a program, and stores it as the next round; False when the job was settled."""
    if (next_turn := _turn(work)) is None:
        return False
    said, turn = next_turn
    n = len(work.job.rounds) + 1
    if isinstance(turn, NoProgram):
        _store(work, Round(n=n, error=_error_of(turn), ended_at_ms=work.parts.clock.now_ms()))
        return True
    # People and the model are shown a round's program and not the text around it: places are the program's own.
    alone = turn.model_copy(update={"line_map": ()})
    program, problem = checked(work, alone, attempts=1, prompt=said.prompt_version)
    ended_at_ms = None if problem is None else work.parts.clock.now_ms()
    _store(work, Round(n=n, program=program, error=problem, ended_at_ms=ended_at_ms))
    return True


def _run(work: JobInHand, each: Round) -> None:
    """Runs the program of a round that is under way, and stores what came of it."""
    assert each.program is not None  # noqa: S101 - narrows the type; a round without one has ended
    before = work.job.warnings
    outcome = work.execute(each.program)
    warnings = tuple(f"Round {each.n}: {warning}" for warning in outcome.trace.warnings)
    # The calls are those of the round.
    work.job = work.job.model_copy(update={"calls": (), "warnings": (*before, *warnings)})
    ended = {"calls": outcome.trace.calls, "ended_at_ms": work.parts.clock.now_ms()}
    if isinstance(outcome, Executed):
        summary = summarise(outcome.output, work.limits.summary_bytes_max)
        ended |= {"summary": summary.value, "truncated": summary.truncated}
    else:
        ended |= {"error": outcome.error, "shapes": outcome.trace.shapes}
    _store(work, each.model_copy(update=ended))


def _store(work: JobInHand, each: Round) -> None:
    """Writes a round, new or changed, with what its model call or its program took."""
    under_way = each.ended_at_ms is None
    state = "running" if under_way else "failed" if each.error else "succeeded"
    told: dict[str, object] = {"n": each.n, "state": state}
    if each.error is not None:
        told["code"] = each.error.code
    rounds = (*work.job.rounds[: each.n - 1], each)
    work.enter(
        Stage.EXECUTE if under_way else Stage.GENERATE,
        {"rounds": rounds, "warnings": work.job.warnings, "usage": work.job.usage, "timings": work.job.timings},
        also=(Event(type="round", data=told, at_ms=work.parts.clock.now_ms()),),
    )


def _conclude(work: JobInHand) -> None:
    """Ends a job that has no programs left: with the model's answer, or as its last round ended."""
    last = work.job.rounds[-1].error
    if last is not None and not any(each.worked for each in work.job.rounds):
        work.settle(JOB_ERRORS[last.code], error=last)
        return
    error = work.job.attempts[-1].error if work.job.attempts else NO_MORE_PROGRAMS
    while len(work.job.attempts) < work.limits.generation_attempts:
        if (next_turn := _turn(work)) is None:
            return
        said, turn = next_turn
        error = _error_of(turn) if isinstance(turn, NoProgram) else NO_MORE_PROGRAMS
        work.remember_attempt(Attempt(text=said.reply.text[: work.limits.program_bytes_max], error=error))
        work.enter(Stage.GENERATE, {"attempts": work.job.attempts, "usage": work.job.usage})
    work.settle(JOB_ERRORS[error.code], error=error)


def _turn(work: JobInHand) -> tuple[Generated, Extracted | NoProgram] | None:
    """The model's next turn; None where it ended the job: by the answer, or since no model gave one."""
    said = _ask(work)
    if isinstance(said, ErrorInfo):
        work.settle(JOB_ERRORS[said.code], error=said)
        return None
    turn = _read(work, said)
    if isinstance(turn, Answer):
        work.settle(Status.SUCCESS, fields={"answer": turn.text})
        return None
    return said, turn


def _ask(work: JobInHand) -> Generated | ErrorInfo:
    """What the model says next, from all that is known by now."""
    prepare_to_ask(work)
    if work.job.stage is not Stage.GENERATE:
        work.enter(Stage.GENERATE)
    refused = tuple(FailedTry(text=attempt.text, error=attempt.error) for attempt in work.job.attempts)
    question = work.job.submission.request or ""
    return ask(work, ExploreInput(**asked_fields(work), question=question, rounds=work.job.rounds, refused=refused))


def _read(work: JobInHand, said: Generated) -> Extracted | Answer | NoProgram:
    started = work.parts.clock.monotonic()
    turn = read_turn(
        said.reply.text,
        finish_reason=said.reply.finish_reason,
        program_bytes_max=work.limits.program_bytes_max,
        answer_bytes_max=work.limits.output_bytes_max,
        functions=[spec.name for spec in nameable(work).functions],
    )
    work.note_time("validate", (work.parts.clock.monotonic() - started) * 1000)
    return turn


def _error_of(turn: NoProgram) -> ErrorInfo:
    return ErrorInfo(code=turn.code, message=turn.message, details=turn.details)
