"""The commit journal: the state of each effect, and the entries that led to it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonValue
from vardy_worker.contracts.errors import ErrorInfo


class EffectState(StrEnum):
    """`STARTED` is durable before the call goes out; under an older fence it means `UNKNOWN`."""

    PENDING = "PENDING"
    STARTED = "STARTED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"
    SKIPPED = "SKIPPED"
    RESOLVED_DONE = "RESOLVED_DONE"
    RESOLVED_NOT_DONE = "RESOLVED_NOT_DONE"


DONE = frozenset({EffectState.SUCCEEDED, EffectState.RESOLVED_DONE})
"""Never called again."""


class EffectRecord(Contract):
    """Where one effect stands. `result` is what the function returned, for later references.

    `maybe_applied`: an earlier attempt ended with an unknown outcome. No later attempt's
    failure proves that it was not applied; only its success or an operator settles it.
    """

    seq: int
    state: EffectState = EffectState.PENDING
    attempts: int = 0
    tries: int = Field(0, description="attempts since the commit was started or requeued")
    fence: int = 0
    idempotency_key: str = ""
    maybe_applied: bool = False
    first_started_at_ms: int | None = None
    started_at_ms: int | None = None
    ended_at_ms: int | None = None
    result: JsonValue = None
    error: ErrorInfo | None = None


class JournalEntry(Contract):
    """One line of the append-only journal of a commit. No results: those are in the record.

    `due_at_ms` is when the effect is tried again by itself; null where it is not. `by` and
    `reason` are of the operator who settled an unknown outcome, or gave up the rest.
    """

    at_ms: int
    seq: int
    state: EffectState
    attempt: int
    fence: int
    worker: str
    idempotency_key: str
    args_sha256: str
    code: str = ""
    due_at_ms: int | None = None
    by: str = ""
    reason: str = ""


class EffectCounts(Contract):
    """Counts that add up: succeeded + failed + unknown + pending + skipped + resolved = total.

    `STARTED` counts as pending: nothing is known of it yet.
    """

    total: int = 0
    pending: int = 0
    succeeded: int = 0
    failed: int = 0
    unknown: int = 0
    skipped: int = 0
    resolved: int = 0


_COUNTED_AS = {
    EffectState.PENDING: "pending",
    EffectState.STARTED: "pending",
    EffectState.SUCCEEDED: "succeeded",
    EffectState.FAILED: "failed",
    EffectState.UNKNOWN: "unknown",
    EffectState.SKIPPED: "skipped",
    EffectState.RESOLVED_DONE: "resolved",
    EffectState.RESOLVED_NOT_DONE: "resolved",
}


def count_effects(records: list[EffectRecord]) -> EffectCounts:
    """The one source of counts for API, CLI and panel."""
    counts = dict.fromkeys(set(_COUNTED_AS.values()), 0)
    for record in records:
        counts[_COUNTED_AS[record.state]] += 1
    return EffectCounts(total=len(records), **counts)
