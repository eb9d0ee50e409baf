"""What stays of a job whose contents were erased. The one place that decides it; pure.

Gone are the texts and values that people, programs, models and functions put in: request,
params, programs, answers of the model, output, summaries of rounds, arguments and results of effects, error
texts, reasons, metadata, console, and who asked for it. Status, codes, counts, times,
digests and who decided stay, so that it can still be told what was done, when and by whose
approval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.errors import DISCARDED
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.job import JobRecord, Submission
from vardy_worker.contracts.plan import Plan
from vardy_worker.contracts.status import Status, is_final
from vardy_worker.contracts.user import User
from vardy_worker.contracts.view import effect_records

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.decision import Decision
    from vardy_worker.contracts.errors import ErrorInfo
    from vardy_worker.contracts.events import Event
    from vardy_worker.contracts.journal import JournalEntry
    from vardy_worker.contracts.program import Program

ERASED: Final = "[erased]"
"""Stands where a text must be: the request, and the id of the person who asked."""

_EVENT_DATA_KEPT: Final = frozenset({"status", "stage", "code", "seq", "n", "state", "decision", "digest"})


def may_be_erased(status: Status, error_code: str | None) -> bool:
    """Whether nothing can become of the job any more: it is final, or a `PARTIAL` that was discarded."""
    return error_code == DISCARDED if status is Status.PARTIAL else is_final(status)


def erased_record(job: JobRecord, *, at_ms: int) -> JobRecord:
    """The record of the erased job; `version` is the next one."""
    return JobRecord(
        id=job.id,
        kind=job.kind,
        owner=job.owner,
        submission=_submission(job.submission),
        status=job.status,
        version=job.version + 1,
        fence=job.fence,
        created_at_ms=job.created_at_ms,
        started_at_ms=job.started_at_ms,
        settled_at_ms=job.settled_at_ms,
        expires_at_ms=job.expires_at_ms,
        erased_at_ms=at_ms,
        program=_program(job.program),
        rounds=tuple(_round(each) for each in job.rounds),
        revision=job.revision,
        plan=job.plan and Plan(digest=job.plan.digest, text=""),
        policy=job.policy
        and job.policy.model_copy(
            update={
                "effects": (),
                "approvals": tuple(need.model_copy(update={"message": ""}) for need in job.policy.approvals),
                "avoidable": None,
                "outside": (),
            }
        ),
        decisions=tuple(_decision(decision) for decision in job.decisions),
        effects=tuple(
            record.model_copy(update={"result": None, "error": _error(record.error)}) for record in effect_records(job)
        ),
        commit_checked=job.commit_checked,
        error=_error(job.error),
        usage=job.usage,
        timings=job.timings,
    )


def _submission(submission: Submission) -> Submission:
    return Submission(
        request=None if submission.request is None else ERASED,
        recipe=submission.recipe,
        user=User(id=ERASED),
        mode=submission.mode,
        execution_repairs=submission.execution_repairs,
        judge=submission.judge,
    )


def _program(program: Program | None) -> Program | None:
    return program and program.model_copy(update={"source": "", "line_map": (), "warnings": ()})


def _round(each: Round) -> Round:
    return Round(
        n=each.n,
        program=_program(each.program),
        truncated=each.truncated,
        error=_error(each.error),
        ended_at_ms=each.ended_at_ms,
    )


def _decision(decision: Decision) -> Decision:
    return decision.model_copy(update={"reason": "", "user": User(id=decision.user.id, roles=decision.user.roles)})


def _error(error: ErrorInfo | None) -> ErrorInfo | None:
    return error and error.model_copy(update={"message": "What was said of this was erased.", "details": {}})


def erased_entry(entry: JournalEntry) -> JournalEntry:
    """A journal entry without the operator's words, and the digest that short arguments could be guessed from."""
    return entry.model_copy(update={"reason": "", "args_sha256": ""})


def erased_event(event: Event) -> Event:
    """An event at its place, with codes and numbers alone."""
    data: JsonObject = {name: value for name, value in event.data.items() if name in _EVENT_DATA_KEPT}
    return event.model_copy(update={"data": data})
