"""Ids of events: an event's place in its job's stream, counted from 1, in decimal."""

from __future__ import annotations

from vardy_worker.contracts.errors import RequestError


def event_place(after: str) -> int:
    """How many events come up to and including the one with this id; 0 for "".

    Raises `RequestError` `cursor.invalid` for anything but an event's id.
    """
    if after == "":
        return 0
    if not (after.isascii() and after.isdigit()) or len(after) > 15:  # noqa: PLR2004 - below 2^53
        msg = "The event id is not one of this job's; use the id of the last event received."
        raise RequestError(msg, code="cursor.invalid")
    return int(after)
