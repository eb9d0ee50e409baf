"""The company's functions as the store has them, and what can be told from them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import Catalogue
from vardy_worker.documents import CATALOGUE, CURRENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.operations.caller import Caller
    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.ports import Document, Documents

_EMPTY = Catalogue()


class CatalogueReader:
    """The catalogue as a worker published it last; the same object as long as it is the same."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._lock = threading.Lock()
        self._document: Document | None = None
        self._catalogue = _EMPTY

    def current(self) -> Catalogue:
        """The newest catalogue; empty before any worker started."""
        document = self._documents.get(CATALOGUE, CURRENT)
        if document is None:
            return _EMPTY
        with self._lock:
            # All of it: after a failover, or from a backup, another one may have the same version.
            if document != self._document:
                self._catalogue = Catalogue.model_validate(document.value)
                self._document = document
            return self._catalogue

    def seen_by(self, caller: Caller, roles: Sequence[str] = ()) -> Catalogue:
        """The functions that the caller's person may use, with the types that they need.

        Of a key that names its users: all of them, or what somebody with these roles may use.
        """
        if caller.key.person is not None:
            roles = caller.key.person.roles
        elif not roles:
            return self.current()
        visible = self.current().for_user(tuple(roles))
        from vardy_worker.functions.declarations import needed_types  # noqa: PLC0415 - needed only here, slow to load

        return visible.model_copy(update={"types": needed_types(visible)})

    def check_result(self, function: str, result: JsonValue) -> str | None:
        """What is wrong with a value as the result of a function, in a sentence without the value; or None."""
        spec = self.current().get(function)
        if spec is None:
            return f"No worker has the function {function} now, so its result cannot be checked."
        from vardy_worker.json_schemas import result_problem  # noqa: PLC0415 - needed only here, and slow to load

        return result_problem(spec, result)
