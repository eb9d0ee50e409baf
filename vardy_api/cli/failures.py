"""Errors as people and scripts see them: an exit code, one sentence, a problem document."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import typer
from pydantic import ValidationError
from rich.text import Text

from vardy_api.cli.exits import CommandError, ExitCode
from vardy_api.cli.output import Output
from vardy_api.cli.text import visible
from vardy_api.client_errors import (
    ClientError,
    Conflict,
    InvalidArguments,
    NotFound,
    Unreachable,
    VardyProblem,
    WaitTimeout,
)
from vardy_worker.contracts.base import pointer_parts
from vardy_worker.contracts.errors import PROBLEMS, RequestError, SettingsError, TransientError, VardyError

_HINTS = {
    "auth.missing": "Set VARDY_API_KEY, or give --api-key.",
    "auth.invalid": "Set VARDY_API_KEY to a valid key, or give --api-key.",
    "auth.scope": "Use a key that has it; one with the scope admin makes it: `vardy keys create --scope …`.",
    "quota.exceeded": "See what is used of which ceiling with `vardy keys usage`.",
    "service.unavailable": "Where VARDY_REDIS_URL is set, `vardy doctor` says what is wrong with it.",
    "effect.result": "Give what the function returned, with --result JSON.",
    "client.unreachable": "Start it with `vardy api` or `vardy dev`, or set VARDY_URL to where it runs.",
    "client.bad_url": "Set VARDY_URL, or give --url, for example http://127.0.0.1:8000.",
}
"""What the service cannot know: how this command line is told."""

_SAID = {
    "Field required": "is missing",
    "Extra inputs are not permitted": "is not known here",
    "String should have at least 1 character": "is too short",
}
"""Sentences of validation whose words are those of a library."""

EXPECTED = (CommandError, VardyError, typer.TyperException, typer.Abort, ValidationError)
"""Errors that have something to say to whoever called; any other is a fault of the command."""

_GATEWAY_CODES = frozenset({"service.unavailable", "service.busy", "http.502", "http.503", "http.504"})


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, ready to print. `findings` are its single parts, one line each."""

    exit_code: ExitCode
    message: str
    code: str
    title: str
    status: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    instance: str | None = None

    def problem(self) -> dict[str, Any]:
        """The problem document (RFC 9457). Without `status` where no HTTP answer was the cause."""
        from_service = self.status is not None
        document: dict[str, Any] = {
            "type": f"/problems/{self.code}" if from_service else "about:blank",
            "title": self.title,
            "detail": self.message,
            "code": self.code,
            "details": self.details,
            "exit_code": int(self.exit_code),
        }
        if from_service:
            document |= {"status": self.status, "instance": self.instance}
        return document


def report_failure(error: Exception, *, as_json: bool) -> ExitCode:
    """Prints the error to standard error; returns its exit code."""
    failure = describe(error)
    if as_json:
        sys.stderr.write(json.dumps(failure.problem(), indent=2, default=str) + "\n")
        sys.stderr.flush()
        return failure.exit_code
    err = Output().stderr
    # Left to the terminal to wrap, so that commands in a sentence can be copied whole.
    message = Text("Error: ", style="bold red").append(visible(failure.message), style="not bold default")
    err.print(message, soft_wrap=True)
    for finding in failure.findings:
        err.print(f"  {visible(finding)}", soft_wrap=True)
    if (hint := _hint(failure)) is not None:
        err.print(hint, soft_wrap=True)
    return failure.exit_code


def _hint(failure: Failure) -> str | None:
    if any(problem.get("at") == "/user" for problem in failure.details.get("problems", ())):
        return "Name the person with --user ID, and roles with --role ROLE."
    return _HINTS.get(failure.code)


def describe(error: Exception) -> Failure:
    """What an error means for whoever called the command."""
    match error:
        case CommandError():
            return Failure(error.exit_code, error.message, error.code, error.title, details=error.details)
        case InvalidArguments() if error.problems:
            places = [".".join(pointer_parts(problem["at"])) for problem in error.problems]
            return _of_arguments([(at, problem["message"]) for at, problem in zip(places, error.problems, strict=True)])
        case VardyProblem():
            return _of_problem(error)
        case VardyError():
            return _of_vardy(error)
        case typer.TyperException():
            return Failure(ExitCode(error.exit_code), _sentence(error), "cli.usage", "The command was not understood")
        case ValidationError():
            return _of_validation(error)
        case typer.Abort():
            message, title = "Interrupted: nothing was changed.", "The command was interrupted"
            return Failure(ExitCode.INTERRUPTED, message, "cli.interrupted", title)
        case _:
            # No text of the error: it could hold what nobody meant to print.
            message = (
                f"The command stopped at an error that Vardy does not expect ({type(error).__name__}); "
                "run it again with PYTHONDEVMODE=1 to see where."
            )
            return Failure(ExitCode.ERROR, message, "internal", "The command failed")


def _of_problem(error: VardyProblem) -> Failure:
    match error:
        case NotFound():
            exit_code = ExitCode.NOT_FOUND
        case Conflict():
            exit_code = ExitCode.CONFLICT
        case _ if error.code in _GATEWAY_CODES:
            exit_code = ExitCode.UNREACHABLE
        case _:
            exit_code = ExitCode.ERROR
    problems = error.problems
    findings = (
        [str(problems[0].get("hint", ""))] if _says_it_all(error) else [_finding(problem) for problem in problems]
    )
    return Failure(
        exit_code,
        error.message,
        error.code,
        error.title,
        status=error.status,
        details=error.details,
        findings=tuple(filter(None, findings)),
        instance=error.instance,
    )


def _says_it_all(error: VardyProblem) -> bool:
    """Whether the sentence of the error is its only finding, apart from what to do about it."""
    return len(error.problems) == 1 and str(error.problems[0].get("message", "")).rstrip(".") in error.message


def _of_vardy(error: VardyError) -> Failure:
    match error:
        case Unreachable():
            exit_code, title = ExitCode.UNREACHABLE, "The API cannot be reached"
        case WaitTimeout():
            exit_code, title = ExitCode.WAIT_TIMED_OUT, "The job did not settle in time"
        case TransientError():
            exit_code, title = ExitCode.UNREACHABLE, "A service cannot be reached"
        case RequestError():
            exit_code, title = ExitCode.USAGE, PROBLEMS[error.code][1]
        case SettingsError():
            exit_code, title = ExitCode.ERROR, "A setting is missing or wrong"
        case ClientError() if error.code == "client.bad_url":
            exit_code, title = ExitCode.USAGE, "The address is not usable"
        case _:
            exit_code, title = ExitCode.ERROR, "The command failed"
    problems = error.details.get("problems", ())
    findings = tuple(map(_finding, problems)) if len(problems) > 1 else ()
    return Failure(exit_code, error.message, error.code, title, details=error.details, findings=findings)


def _of_validation(error: ValidationError) -> Failure:
    """What a contract refuses that a command reads by itself."""
    return _of_arguments([(".".join(map(str, part["loc"])), part["msg"]) for part in error.errors()])


def _of_arguments(misfits: list[tuple[str, str]]) -> Failure:
    """Arguments that no request can have; nothing was sent."""
    parts = [
        _finding({"at": at, "message": _SAID.get(message) or message.removeprefix("Value error, ")})
        for at, message in misfits
    ]
    message = "The arguments do not fit: " + "; ".join(parts) + "."
    return Failure(ExitCode.USAGE, message, "cli.usage", "The command was not understood")


def _finding(problem: dict[str, Any]) -> str:
    """One part of an error: where, what, and what to do."""
    place = str(problem.get("at") or problem.get("path") or "")
    if problem.get("line"):
        place = f"line {problem['line']}" + (f", column {problem['column']}" if problem.get("column") else "")
    sentence = str(problem.get("message", ""))
    hint = str(problem.get("hint") or "")
    return ": ".join(part for part in (place, sentence) if part) + (f" ({hint})" if hint else "")


def _sentence(error: typer.TyperException) -> str:
    sentence = error.format_message().replace("Value error, ", "", 1)
    return sentence if sentence.endswith((".", "!", "?", ")")) else f"{sentence}."
