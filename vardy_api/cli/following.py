"""Following a job: each event on a line of its own, as it happens."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from vardy_api.cli.exits import ExitCode
from vardy_api.cli.report import state_text, status_text
from vardy_api.cli.text import escaped_json, one_line, short_json
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_api.cli.session import Session
    from vardy_api.shapes import EventView

E = TypeVar("E", bound=StrEnum)

TYPE_WIDTH = len("decision")


def follow(session: Session, job_id: str, *, after: str, to_the_end: bool) -> ExitCode:
    """Prints the events of a job until there are no more. What follows a lost connection follows what was printed."""
    place = after
    try:
        for event in session.client.events(job_id, after=after, follow=to_the_end):
            if session.as_json:
                sys.stdout.write(escaped_json(event.model_dump_json()) + "\n")
                sys.stdout.flush()
            else:
                session.out.stdout.print(event_line(event), soft_wrap=True)
            place = event.id
    except KeyboardInterrupt:
        session.note(f"Go on with `vardy jobs events {job_id} --after {place}`." if place else "The job goes on.")
        raise
    return ExitCode.OK


def event_line(event: EventView) -> Text:
    """When, what kind, and what happened."""
    at = event.at
    line = Text(f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03}Z  ", style="dim")
    line.append(f"{event.type:<{TYPE_WIDTH}}  ", style="not dim")
    return line.append_text(_said(event))


def _said(event: EventView) -> Text:
    """The event in few words; members that a newer service added come at the end by their names."""
    left: dict[str, Any] = dict(event.data)
    match event.type:
        case "status":
            said = _named(str(left.pop("status", "")), Status, status_text)
        case "effect":
            function = str(left.pop("function", ""))
            said = Text(f"{left.pop('seq', '')} {one_line(function)}".strip() + " ")
            said.append_text(_named(str(left.pop("state", "")), EffectState, state_text))
        case "decision":
            said = Text(f"{left.pop('decision', '')} by {one_line(str(left.pop('user', '')))}")
        case "round":
            said = Text(f"{left.pop('n', '')} {left.pop('state', '')}")
        case _:
            said = Text(one_line(str(left.pop("stage", ""))))
    for name, value in left.items():
        shown = one_line(value) if isinstance(value, str) else short_json(value)
        said.append(f"  {one_line(name)} {shown}", style="dim")
    return said


def _named(name: str, kind: type[E], draw: Callable[[E], Text]) -> Text:
    """A name of ours in its colour, any other as it is."""
    return draw(kind(name)) if name in set(kind) else Text(one_line(name))
