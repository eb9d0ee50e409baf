"""What `vardy doctor` found."""

from __future__ import annotations

from enum import StrEnum

from vardy_worker.contracts.base import Contract


class Level(StrEnum):
    """How a check came out. Only a failure makes the checkup fail."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


class Check(Contract):
    """One thing that was looked at; `action` says what to do about it."""

    name: str
    level: Level
    message: str
    action: str = ""


class Checkup(Contract):
    """All checks, in the order in which they matter."""

    ok: bool
    checks: tuple[Check, ...]


def passed(name: str, message: str) -> Check:
    """Nothing to do."""
    return Check(name=name, level=Level.OK, message=message)


def warned(name: str, message: str, action: str) -> Check:
    """Works, but somebody should know."""
    return Check(name=name, level=Level.WARNING, message=message, action=action)


def failed(name: str, message: str, action: str) -> Check:
    """Does not work, or would lose data."""
    return Check(name=name, level=Level.FAILURE, message=message, action=action)
