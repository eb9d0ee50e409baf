"""Rounds: how an explore comes to its answer."""

from __future__ import annotations

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonValue
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import CallSummary, ValueShape
from vardy_worker.contracts.program import Program


class Answer(Contract):
    """The end of an explore, in the model's words."""

    text: str


class Round(Contract):
    """One program of an explore, and the summary it returned or the error it ended with.

    Written when the program was accepted, before it runs, and again when it ended
    (`ended_at_ms`): a job picked up after a crash runs the same program again. One whose
    program does not pass the checks has never run; one without a program had none that
    could be taken from what the model wrote.
    """

    n: int = Field(ge=1, description="1 for the first")
    program: Program | None = Field(None, description="null when the model's text held no usable one")
    summary: JsonValue = Field(None, description="what the program returned, cut to `summary_bytes_max`")
    truncated: bool = Field(False, description="whether the summary was cut")  # noqa: FBT003 - pydantic takes the default first
    error: ErrorInfo | None = None
    calls: tuple[CallSummary, ...] = ()
    shapes: tuple[ValueShape, ...] = Field((), description="of a program that failed, what its reads returned")
    ended_at_ms: int | None = None

    @property
    def worked(self) -> bool:
        """Whether its program ran to its end and returned something to see."""
        return self.ended_at_ms is not None and self.error is None
