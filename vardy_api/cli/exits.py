"""Exit codes, and the errors that commands themselves raise."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """What a script can rely on."""

    OK = 0
    ERROR = 1
    """Also: the job that was run or waited for did not end as it should."""
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    BULK_FAILED = 5
    """Of several changes, at least one failed."""
    CONFIRMATION_NEEDED = 6
    UNREACHABLE = 7
    WAIT_TIMED_OUT = 8
    INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot do what was asked. `message` is one sentence that says what to fix."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        title: str,
        exit_code: ExitCode = ExitCode.ERROR,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.title = title
        self.exit_code = exit_code
        self.details = details or {}


def usage_error(message: str) -> CommandError:
    """The arguments do not go together."""
    return CommandError(message, code="cli.usage", title="The command was not understood", exit_code=ExitCode.USAGE)


def not_found(message: str, *, code: str) -> CommandError:
    """What was named does not exist, as seen without asking the service again."""
    return CommandError(message, code=code, title="There is no such thing", exit_code=ExitCode.NOT_FOUND)


def conflict(message: str, *, code: str, details: dict[str, Any] | None = None) -> CommandError:
    """The present state does not allow it, as seen without asking the service again."""
    return CommandError(
        message, code=code, title="The present state does not allow this", exit_code=ExitCode.CONFLICT, details=details
    )


def confirmation_needed(message: str) -> CommandError:
    """Somebody must confirm, and there is no terminal to ask at."""
    return CommandError(
        message,
        code="cli.confirmation_needed",
        title="A confirmation is needed",
        exit_code=ExitCode.CONFIRMATION_NEEDED,
    )


def declined() -> CommandError:
    """The person at the terminal said no."""
    return CommandError("Nothing was changed, as you wished.", code="cli.declined", title="Declined")
