"""Rounds: how an explore comes to its answer."""

from __future__ import annotations

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonValue
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import CallSummary
from vardy_worker.contracts.program import Program


class Round(Contract):
    """One program of an explore, and the summary it returned or the error it ended with.

    Written when the program was accepted, before it runs, and again when it ended
    (`ended_at_ms`): a job picked up after a crash runs the same program again.
    """

    n: int = Field(ge=1, description="1 for the first")
    program: Program | None = Field(None, description="null when the model's answer held no usable one")
    summary: JsonValue = Field(None, description="what the program returned, cut to `summary_bytes_max`")
    truncated: bool = Field(False, description="whether the summary was cut")  # noqa: FBT003 - pydantic takes the default first
    error: ErrorInfo | None = None
    calls: tuple[CallSummary, ...] = ()
    ended_at_ms: int | None = None
