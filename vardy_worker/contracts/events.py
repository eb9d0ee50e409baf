"""What is told of a job while it moves."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject


class Event(Contract):
    """One event of a job's stream. `id` is given by the store and grows; no rows in `data`."""

    type: Literal["status", "stage", "effect", "decision", "round"]
    data: JsonObject = Field(default_factory=dict)
    at_ms: int
    id: str = ""
