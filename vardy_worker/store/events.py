"""Events as the stores keep them: ids, and that no change of status is left untold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import RequestError

if TYPE_CHECKING:
    from vardy_worker.ports import Change


def event_place(after: str) -> int:
    """How many events come up to and including the one with this id; 0 for "".

    An id is the event's place in its job's stream, counted from 1, in decimal.
    Raises `RequestError` `cursor.invalid` for anything but an event's id.
    """
    if after == "":
        return 0
    if not (after.isascii() and after.isdigit()) or len(after) > 15:  # noqa: PLR2004 - below 2^53
        raise no_such_event()
    return int(after)


def no_such_event() -> RequestError:
    """What is answered to an id that no event of the job has."""
    msg = "The event id is not one of this job's; use the id of the last event received."
    return RequestError(msg, code="cursor.invalid")


def tells_status(change: Change) -> bool:
    """Whether the change's own events tell of the status that it moves to; else the store does."""
    return any(event.type == "status" and event.data.get("status") == change.to for event in change.events)
