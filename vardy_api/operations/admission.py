"""Lets requests in: who calls, and one request more of the key, in one round trip where the process knows the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vardy_api.operations.authentication import Authentication
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.quotas import QuotaOperations


class Admission:
    """The door of every request with a key.

    A key that this process has read before is judged by what it read, and the store takes the
    request only while that is still the key's newest version. In any other case the key is read
    first, so that nothing is counted before the token was found valid, and all that changed of a
    key holds from the next request.
    """

    def __init__(self, authentication: Authentication, quotas: QuotaOperations) -> None:
        self._authentication = authentication
        self._quotas = quotas

    def admit(self, token: str) -> Caller:
        """The caller behind a token. Raises `RequestError` `auth.missing`, `auth.invalid` or `rate.limited`."""
        recalled = self._authentication.recall(token)
        if recalled is not None and self._quotas.admit_recalled(recalled):
            self._authentication.note_use(recalled.caller.key.id)
            return recalled.caller
        caller = self._authentication.authenticate(token)
        self._quotas.admit(caller)
        return caller
