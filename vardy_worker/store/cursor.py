"""Cursors of listings: a number and a name of what was seen last, opaque to callers.

Of jobs these are time and id, of documents nothing and name, of one's versions version and name.
"""

from __future__ import annotations

import base64
import binascii
import json
from heapq import nsmallest
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def make_cursor(number: int, name: str) -> str:
    """The cursor of the page after this item."""
    return base64.urlsafe_b64encode(json.dumps([number, name]).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[int, str]:
    """Number and name of the last item seen. Raises `RequestError` `cursor.invalid`."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        parsed = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise invalid_cursor() from error
    match parsed:
        case [int(number), str(name)] if not isinstance(number, bool) and 0 <= number < 2**53 and name.isascii():
            return number, name
        case _:
            raise invalid_cursor()


def read_name_cursor(cursor: str | None) -> str:
    """The name, in listings by name; "" at their begin. Raises `RequestError` `cursor.invalid`."""
    if cursor is None:
        return ""
    number, name = read_cursor(cursor)
    if number:
        raise invalid_cursor()
    return name


def names_of_page(names: Iterable[str], *, after: str, limit: int) -> tuple[Sequence[str], str | None]:
    """The first `limit` names after `after`, and the last of them where more follow."""
    found = nsmallest(limit + 1, (name for name in names if name > after))
    return found[:limit], found[limit - 1] if len(found) > limit else None


def invalid_cursor() -> RequestError:
    """What is answered to a cursor that no page gave."""
    msg = "The cursor is not valid; use `next` of the page before, unchanged, or leave it out."
    return RequestError(msg, code="cursor.invalid")
