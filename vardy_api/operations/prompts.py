"""The prompt of a request or a question, exactly as it would be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.operations.submit import check_functions
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.user import Scope
from vardy_worker.prompts.first import first_prompt

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.shapes import PromptRequest
    from vardy_worker.contracts.limits import Limits
    from vardy_worker.contracts.model import Message


class PromptOperations:
    """The use case of looking at a prompt."""

    def __init__(self, catalogue: CatalogueReader, limits: Limits) -> None:
        self._catalogue = catalogue
        self._limits = limits

    def preview(self, caller: Caller, request: PromptRequest) -> tuple[Message, ...]:
        """The messages for the first attempt at a program, or the first round; nothing is sent."""
        caller.need(Scope.SUBMIT)
        user = caller.person(request.user)
        catalogue = self._catalogue.current()
        if request.functions is not None:
            reads_only = request.kind is JobKind.EXPLORE
            check_functions(request.functions, user, catalogue, reads_only=reads_only)
        return first_prompt(
            request.kind,
            catalogue=catalogue,
            user=user,
            functions=request.functions,
            request=request.request,
            params=request.params,
            limits=self._limits,
            judge=request.judge,
        )
