"""A language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vardy_worker.contracts.model import ModelReply, ModelRequest


class Model(Protocol):
    """A language model."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises `ModelUnavailable` (after retries and fallbacks) or `ModelRejected`."""
