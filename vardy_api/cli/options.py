"""The options that commands share, and how their texts are read. Wrong ones are usage errors."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from vardy_api.cli.exits import usage_error

Person: TypeAlias = str | dict[str, Any] | None

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def parse_duration(text: str) -> float:
    """Seconds from `90`, `30s`, `5m`, `2h` or `7d`."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        msg = f"{text!r} is not a length of time; write seconds, or for example 30s, 5m, 2h or 7d."
        raise typer.BadParameter(msg)
    return float(match[1]) * _SECONDS[match[2]]


DEPLOYMENT = "deployment"
"""In place of a ceiling of a key: it has none of its own."""


def parse_ceiling(text: str) -> float | str:
    """A number from 0 on, or `deployment`."""
    if text == DEPLOYMENT:
        return text
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number < math.inf:
        msg = f"{text!r} is no ceiling; write a number, 0 for none, or `{DEPLOYMENT}` for that of the deployment."
        raise typer.BadParameter(msg)
    return int(number) if number.is_integer() else number


def ceilings(**given: float | str | None) -> dict[str, float | None]:
    """The ceilings that were given, by their names; None for those of the deployment."""
    return {name: None if isinstance(value, str) else value for name, value in given.items() if value is not None}


def parse_moment(text: str) -> datetime:
    """A time from ISO 8601 (local time without an offset), or from how long ago it is (`2h`)."""
    if _DURATION.fullmatch(text.strip().lower()):
        return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except ValueError as error:
        msg = f"{text!r} is no time; write ISO 8601, for example 2025-03-01T09:00, or how long ago, for example 2h."
        raise typer.BadParameter(msg) from error


def read_text(source: str) -> str:
    """The text of a file, or of standard input for `-`."""
    try:
        if source == "-":
            return sys.stdin.read()
        return Path(source).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise usage_error(f"{source} is not a text in UTF-8.") from error
    except OSError as error:
        raise usage_error(f"{source} cannot be read: {error.strerror}.") from error


def read_words(text: str) -> str:
    """What is asked, in plain words; `-` stands for standard input."""
    return read_text("-").strip() if text == "-" else text


def parse_json(text: str, option: str) -> Any:
    """A JSON value, given as text, or as `@FILE` (`@-` for standard input)."""
    source = read_text(text[1:]) if text.startswith("@") else text
    try:
        return json.loads(source, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        msg = f"{option} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        raise usage_error(msg) from error
    except ValueError as error:
        raise usage_error(f"{option} is not JSON: {error}.") from error
    except RecursionError as error:
        raise usage_error(f"{option} is nested too deeply.") from error


def _no_constant(name: str) -> Any:
    msg = f"{name} does not exist in JSON"
    raise ValueError(msg)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "an object has the same key twice"
        raise ValueError(msg)
    return found


def parse_object(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object, or None when the option was not given."""
    if text is None:
        return None
    value = parse_json(text, option)
    if not isinstance(value, dict):
        raise usage_error(f'{option} must be a JSON object, for example {{"days": 30}}.')
    return value


def parse_person(user: str | None, roles: list[str] | None, *, option: str = "--user") -> Person:
    """A person from an id or a JSON object; `--role` adds roles."""
    if user is None:
        if roles:
            raise usage_error(f"--role needs {option}: say whose role it is.")
        return None
    if not user.lstrip().startswith("{"):
        return {"id": user, "roles": roles} if roles else user
    person = parse_object(user, option) or {}
    if roles:
        person = {**person, "roles": [*person.get("roles", ()), *roles]}
    return person


def parse_pairs(pairs: list[str] | None, option: str) -> dict[str, str]:
    """A mapping from repeated `NAME=VALUE`."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise usage_error(f"{option} takes NAME=VALUE, not {pair!r}.")
        found[name] = value
    return found


def parse_numbers(pairs: list[str] | None, option: str) -> dict[str, float]:
    """A mapping from repeated `NAME=NUMBER`."""
    try:
        return {name: float(value) for name, value in parse_pairs(pairs, option).items()}
    except ValueError as error:
        raise usage_error(f"{option} takes NAME=NUMBER.") from error


def _statuses() -> list[str]:
    from vardy_worker.contracts.status import Status  # noqa: PLC0415 - completion and listings alone need it

    return [status.value for status in Status]


def parse_status(text: str) -> str:
    """A status, in any case."""
    status = text.upper().replace("-", "_")
    if status not in _statuses():
        msg = f"{text!r} is not a status; they are {', '.join(_statuses())}."
        raise typer.BadParameter(msg)
    return status


def _completes(values: Callable[[], list[str]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values() if value.startswith(incomplete.upper())]

    return complete


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON: what the API answered; errors as JSON too.")]
Url = Annotated[
    str | None,
    typer.Option("--url", envvar="VARDY_URL", metavar="URL", help="Address of the API.", show_default=False),
]
ApiKey = Annotated[
    str | None,
    typer.Option("--api-key", envvar="VARDY_API_KEY", metavar="KEY", help="The API key.", show_default=False),
]

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job.", show_default=False)]
JobIds = Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids of jobs.", show_default=False)]
User = Annotated[
    str | None,
    typer.Option(metavar="ID|JSON", help="Who this is done for or by; a key that is bound to a person needs none."),
]
Roles = Annotated[list[str] | None, typer.Option("--role", metavar="ROLE", help="A role of the user; repeatable.")]
Params = Annotated[
    str | None, typer.Option(metavar="JSON|@FILE", help="The program's params, a JSON object.", show_default=False)
]
FunctionNames = Annotated[
    list[str] | None,
    typer.Option("--function", metavar="NAME", help="Only this function may be called; repeatable."),
]
Judge = Annotated[
    bool, typer.Option("--judge", help="Programs may use `classify` and `ai`; the key needs the scope judge.")
]
Metadata = Annotated[
    list[str] | None, typer.Option("--metadata", metavar="NAME=VALUE", help="Kept with the job; repeatable.")
]
Limits = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=NUMBER", help="A lower limit for this job; repeatable."),
]
IdempotencyKey = Annotated[
    str | None, typer.Option(metavar="KEY", help="The same key and request give the same job, for 24 hours.")
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the job settles.")]
Timeout = Annotated[
    float | None,
    typer.Option(parser=parse_duration, metavar="TIME", help="Wait no longer than this (30s, 5m); exit code 8."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Digest = Annotated[
    str | None,
    typer.Option(metavar="DIGEST", help="Digest of the plan you looked at, or its first 12 characters or more."),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; people see it with the job.", show_default=False)]
Statuses = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        parser=parse_status,
        metavar="STATUS",
        help="Only jobs in this status; repeatable.",
        autocompletion=_completes(_statuses),
    ),
]
OfUser = Annotated[str | None, typer.Option("--user", "--of-user", metavar="ID", help="Only jobs for this person.")]
OfRecipe = Annotated[str | None, typer.Option("--recipe", metavar="NAME", help="Only jobs of this recipe.")]
CreatedAfter = Annotated[
    datetime | None,
    typer.Option(
        parser=parse_moment, metavar="TIME", help="Only jobs made after this time (ISO 8601, or 2h for two hours ago)."
    ),
]
Limit = Annotated[int, typer.Option(min=1, max=200, metavar="N", help="How many at the most.")]
