"""The prompt of a request, exactly as it would be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.operations.submit import check_functions
from vardy_worker.contracts.user import Scope
from vardy_worker.prompts import program_prompt

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
        """The messages for the first attempt at a program; nothing is sent."""
        caller.need(Scope.SUBMIT)
        user = caller.person(request.user)
        catalogue = self._catalogue.current()
        if request.functions is not None:
            check_functions(request.functions, user, catalogue)
        return program_prompt(
            catalogue=catalogue.for_user(user.roles, request.functions),
            request=request.request,
            params=request.params,
            limits=self._limits,
        )
