"""What one look at a job reads: little enough to look at a thousand jobs at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.errors import DISCARDED
from vardy_worker.contracts.status import Status, is_over
from vardy_worker.ports import Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOK_FIELDS: Final = ("version", "status", "_error_code", "_effects_total", "erased_at_ms")


def decode_seen(values: Sequence[bytes | None], events: int) -> Seen | None:
    """What the values of `LOOK_FIELDS` and the number of events tell; None where there is no job."""
    if values[0] is None:
        return None
    known = {name: json.loads(value) for name, value in zip(LOOK_FIELDS, values, strict=True) if value is not None}
    status = Status(known["status"])
    given_up = "erased_at_ms" in known or known.get("_error_code") == DISCARDED
    return Seen(
        version=known["version"],
        status=status,
        events=events,
        is_over=given_up or is_over(status, has_plan=bool(known.get("_effects_total"))),
    )
