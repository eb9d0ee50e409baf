"""What a company's function gets from Vardy, and how it says that it failed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.user import User
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class FunctionError(Exception):
    """Raised by a function: it failed, and **nothing was applied**.

    Args:
        message: shown to people who may read the job, never to a model.
        retryable: whether trying again later may succeed. A commit then tries again by
            itself, as often as the function's `retries` allow.
        retry_after_seconds: the least time to wait before that.
    """

    def __init__(self, message: str, *, retryable: bool = False, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.message = str(message)
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


def _bound_logger() -> FilteringBoundLogger:
    return get_logger("vardy.function")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a function may know of the call it serves; programs never see it.

    `idempotency_key` is empty for reads. For a write it is the same in every attempt at
    one effect and differs between any two effects: hand it to the system that is written
    to. `attempt` counts from 1. `deadline` is in seconds of `time.monotonic()`.
    """

    job_id: str
    user: User
    approved_by: tuple[User, ...] = ()
    idempotency_key: str = ""
    attempt: int = 1
    deadline: float = float("inf")
    logger: FilteringBoundLogger = field(default_factory=_bound_logger, repr=False, compare=False)

    def seconds_left(self) -> float:
        """How long Vardy still waits for this call; never below 0."""
        return max(0.0, self.deadline - time.monotonic())
