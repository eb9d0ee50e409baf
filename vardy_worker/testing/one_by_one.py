"""Many requests put to a model that answers one at a time and at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from vardy_worker.contracts.errors import ErrorInfo, ModelRejected, ModelUnavailable
from vardy_worker.contracts.model import ModelFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.model import ModelReply, ModelRequest


class OneByOne(Protocol):
    """The half of the `Model` port that follows from the other, for models that answer by script."""

    def prepare(self) -> None:
        """See `Model.prepare`; there is nothing to load."""
        return

    def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model.complete`."""

    def complete_many(self, requests: Sequence[ModelRequest], *, seconds: float) -> Sequence[ModelReply | ModelFailed]:
        """See `Model.complete_many`; what is answered at once is late only when no time is left."""
        if seconds <= 0:
            late = ErrorInfo(code=ModelUnavailable.code, message="There was no time left.")
            return [ModelFailed(error=late, about="time") for _ in requests]
        return [self._answer(request) for request in requests]

    def _answer(self, request: ModelRequest) -> ModelReply | ModelFailed:
        try:
            return self.complete(request)
        except (ModelUnavailable, ModelRejected) as error:
            return ModelFailed(error=error.info(), about="model")
