"""What both stores share in listing the audit trail: filters, places and cursors. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from vardy_worker.contracts.audit import AuditEntry
from vardy_worker.contracts.errors import RequestError

if TYPE_CHECKING:
    from vardy_worker.contracts.audit import AuditFilter

_PLACE: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,15})")


def matches(entry: AuditEntry, where: AuditFilter) -> bool:
    """Whether an entry is one that was asked for."""
    return (
        where.chain in {None, entry.chain}
        and where.by in {None, entry.by}
        and where.action in {None, entry.action}
        and (where.after_ms is None or entry.at_ms > where.after_ms)
        and (where.before_ms is None or entry.at_ms < where.before_ms)
    )


def shown(line: bytes) -> AuditEntry | None:
    """An entry for people. What was changed by hand beyond reading is left out; checking the chain tells of it."""
    try:
        return AuditEntry.model_validate_json(line, extra="ignore")
    except ValidationError:
        return None


def place_after(place: str) -> str:
    """Where reading goes on after a place; "" is the beginning. Raises `RequestError` `cursor.invalid`."""
    return f"({log_place(*read_place(place))}" if place else "-"


def read_place(place: str) -> tuple[int, str]:
    """A place's time (ms) and its order within that. Raises `RequestError` `cursor.invalid`."""
    found = _PLACE.fullmatch(place)
    if found is None:
        msg = "The place is not one of the audit trail's; use `place` of the last line received, or leave it out."
        raise RequestError(msg, code="cursor.invalid")
    return int(found[1]), found[2]


def log_place(at_ms: int, order: str) -> str:
    """The place of a time and an order. Raises `RequestError` `cursor.invalid`."""
    place = f"{at_ms}-{order}"
    read_place(place)
    return place
