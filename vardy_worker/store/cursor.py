"""Cursors of listings: the time and id of the last job seen, opaque to callers."""

from __future__ import annotations

import base64
import binascii
import json

from vardy_worker.contracts.errors import RequestError


def make_cursor(created_at_ms: int, job_id: str) -> str:
    """The cursor of the page after this job."""
    return base64.urlsafe_b64encode(json.dumps([created_at_ms, job_id]).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[int, str]:
    """Time and id of the last job seen. Raises `RequestError` `cursor.invalid`."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        parsed = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise _invalid() from error
    match parsed:
        case [int(created_at_ms), str(job_id)] if not isinstance(created_at_ms, bool) and abs(created_at_ms) < 2**53:
            return created_at_ms, job_id
        case _:
            raise _invalid()


def _invalid() -> RequestError:
    msg = "The cursor is not valid; use `next` of the page before, unchanged, or leave it out."
    return RequestError(msg, code="cursor.invalid")
