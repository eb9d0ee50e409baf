"""What is told of a job while it moves."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject

EventType: TypeAlias = Literal["status", "stage", "effect", "decision", "round"]
"""What an event tells of. Types may be added: readers pass by those that they do not know."""


class Event(Contract):
    """One event of a job's stream. `id` is given by the store and grows; no rows in `data`."""

    type: EventType
    data: JsonObject = Field(default_factory=dict)
    at_ms: int
    id: str = ""
