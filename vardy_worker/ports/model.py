"""A language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.model import ModelFailed, ModelReply, ModelRequest


class Model(Protocol):
    """A language model."""

    def prepare(self) -> None:
        """Loads what the first call would wait for: seconds, once in a process. Calls do so by themselves."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises `ModelUnavailable` (after retries and fallbacks) or `ModelRejected`."""

    def complete_many(self, requests: Sequence[ModelRequest], *, seconds: float) -> Sequence[ModelReply | ModelFailed]:
        """Asks several at once, and answers in their order, at the latest after so many seconds.

        What is still under way then is cancelled. Each request that got no reply has its
        `ModelFailed`; nothing is raised.
        """
