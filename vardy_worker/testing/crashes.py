"""Runs one write function through everything that can happen to a commit, and judges how it came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import JobView, job_view
from vardy_worker.testing.crash_host import CallMade, CrashHost, Moment, lines_of
from vardy_worker.testing.crash_trial import CrashTrial

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.user import User
    from vardy_worker.functions.registry import Functions

_SENTENCES: Final = {
    Moment.LOST_BEFORE_CALL: "the worker was lost before the call",
    Moment.LOST_IN_CALL: "the worker was lost in the call",
    Moment.LOST_AFTER_CALL: "the worker was lost after the call, before its outcome was written",
    Moment.DELIVERED_AGAIN: "the message was delivered again, during the call and after the commit",
    Moment.REFUSED_ONCE: "the first try failed before the call, and was repeated",
    Moment.ANSWER_LOST: "the function did its work, and its answer was lost",
    Moment.TIMED_OUT: "the call timed out, and went on in the background after the next one had ended",
}


@dataclass(frozen=True, slots=True)
class CrashReport:
    """What became of one effect.

    `happened`: the moment came; a line may not be reached with these arguments. `applied` is
    by how much the probe grew, None without one. `operator` are the steps that an operator had
    to take: `requeue`, `resolve done`, `resolve not done`.
    """

    point: CrashPoint
    happened: bool
    calls: tuple[CallMade, ...]
    applied: int | None
    operator: tuple[str, ...]
    job: JobView


@dataclass(frozen=True, slots=True, eq=False)
class CrashPoint:
    """One thing that can happen to the first call of a function; see `crash_points`."""

    functions: Functions
    function: str
    moment: Moment
    line: int | None = None

    def __str__(self) -> str:
        return self.moment.value if self.line is None else f"{self.moment.value}-line-{self.line}"

    @property
    def sentence(self) -> str:
        """What happens, in words."""
        where = "" if self.line is None else f" (before line {self.line})"
        return _SENTENCES[self.moment] + where

    def check(
        self, args: JsonObject, *, applied: Callable[[], int] | None = None, user: User | None = None
    ) -> CrashReport:
        """Commits one effect through this point, with what an operator would do to settle it.

        Args:
            args: arguments that the function takes and does not refuse.
            applied: counts how often the function's work was done, at the system it writes to.
                With it an operator settles outcomes that nobody knows; without it, the effect
                of a function that is not idempotent may stay `UNKNOWN`.
            user: who asks; without one, somebody with the function's roles.

        Raises `AssertionError` when the effect was applied twice or was lost, or when an
        idempotent function did not answer a repeated call as the first one; `ValueError` for arguments that do
        not fit.
        """
        __tracebackhide__ = True  # pytest then shows the line of the test, and the message below it
        host = CrashHost(self.functions, self.function, self.moment, line=self.line)
        with CrashTrial(host, self.function, applied) as trial:
            trial.run(args, user)
            report = CrashReport(
                point=self,
                happened=host.happened.is_set(),
                calls=tuple(host.calls),
                applied=trial.applied,
                operator=tuple(trial.operator),
                job=job_view(trial.job),
            )
            problem = _problem(report, is_idempotent=trial.spec.idempotent, in_vain=trial.repeated_in_vain)
        if problem:
            raise AssertionError(f"{self.function}: {problem}\n{_story(report)}")
        return report


def crash_points(functions: Functions, function: str) -> tuple[CrashPoint, ...]:
    """Every point of one write function: around its call, and before each line of its own code.

    Raises `ValueError` unless it is a registered write function.
    """
    registered = functions.get(function)
    if registered is None:
        raise ValueError(f"There is no function {function!r}; there are: {', '.join(each.name for each in functions)}.")
    if registered.kind is not FunctionKind.WRITE:
        raise ValueError(f"{function} is a read; only writes are committed.")
    lines = lines_of(registered.call)
    at_lines = {
        Moment.LOST_IN_CALL: lines,
        # An async function shares its thread with the next call, so it is held back at its start alone.
        Moment.TIMED_OUT: (None,) if registered.is_async else (None, *lines),
    }
    return tuple(
        CrashPoint(functions, function, moment, line) for moment in Moment for line in at_lines.get(moment, (None,))
    )


def _problem(report: CrashReport, *, is_idempotent: bool, in_vain: bool) -> str:
    """What is wrong with how it came out; "" when nothing is."""
    applied, status = report.applied, report.job.status
    reason = report.job.error.message if report.job.error else ""
    if applied is not None and applied > 1:
        advice = (
            "It is registered as idempotent, so it is called again with the same key: give "
            "context.idempotency_key to the system it writes to, or keep keys in the same transaction as the change."
            if is_idempotent
            else "Vardy settled what it could not know by the count; one call must not do the work twice."
        )
        return f"its effect was applied {applied} times. {advice}"
    if status is Status.SUCCESS and applied is not None and applied < 1:
        return (
            "it returned, but its effect was lost: the probe did not grow. Do not remember a key before the "
            "change is made, or remember both in one transaction."
        )
    if status is Status.FUNCTION_ERROR and applied:
        return f"it raised FunctionError, which says that nothing was applied, but its effect was: {reason}"
    if is_idempotent and (in_vain or (len(report.calls) > 1 and status is not Status.SUCCESS)):
        return (
            "a repeated call was not answered, so that an operator has to look it up. It is registered as idempotent: "
            f"answer a known key as the first time. {reason}".strip()
        )
    answers = [call.answer for call in report.calls if call.ended == "returned"]
    if is_idempotent and any(answer != answers[0] for answer in answers):
        return (
            "a repeated call was answered otherwise than the first time. A later effect or the output may refer to the "
            "answer, and what the first call answered may be in use already: keep the answer with the key."
        )
    if status is Status.FUNCTION_ERROR:
        return f"it refuses these arguments, so nothing can be shown with them: {reason}"
    if status is not Status.SUCCESS and (applied is not None or is_idempotent):
        return f"its commit could not be brought to an end: {reason}"
    return ""


def _story(report: CrashReport) -> str:
    lines = [f"What happened: {report.point.sentence}."]
    lines += [f"  attempt {call.attempt} with key {call.idempotency_key}: {call.ended}" for call in report.calls]
    lines += [f"  the operator: {step}" for step in report.operator]
    return "\n".join([*lines, f"  end: {report.job.status}"])
