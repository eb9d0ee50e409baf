"""Who calls: an API key, what it may do, and for which person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import VARDY, Origin
from vardy_worker.contracts.erasure import ERASED
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.user import ApiKey, User

SEES_EVERY_JOB = frozenset({Scope.READ, Scope.DECIDE, Scope.OPERATE})

BOOTSTRAP = "bootstrap"
"""Who makes keys in the store itself."""
RULES_SETTING = "VARDY_RULES"
"""Who applies the rules of the setting."""
NOBODY = frozenset({VARDY, BOOTSTRAP, RULES_SETTING, ERASED})
"""What stands in the audit trail and in jobs where no person is meant. Nobody may call themselves so."""


def require_somebody(name: str, at: str) -> None:
    """Raises `request.invalid` for a name under which Vardy itself acts; `at` points to it in the body."""
    if name in NOBODY:
        message = f"{name!r} stands for Vardy itself in the audit trail; no person or owner can have this id."
        raise RequestError(message, details={"problems": [{"at": at, "message": message}]})


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated API key, and from where it is used: the surface and the client's address."""

    key: ApiKey
    via: str = "api"
    address: str = ""
    token_sha256: str = field(default="", repr=False)
    """Which secret of the key was sent, so that what is held back ends with that secret."""

    @property
    def origin(self) -> Origin:
        """The same for the audit trail."""
        return Origin(via=self.via, key_id=self.key.id, address=self.address)

    def has(self, *scopes: Scope) -> bool:
        """Whether the key has one of the scopes."""
        return not set(scopes).isdisjoint(self.key.scopes)

    def need(self, *scopes: Scope) -> None:
        """Raises `RequestError` `auth.scope` unless the key has one of the scopes."""
        if not self.has(*scopes):
            wanted = [scope.value for scope in scopes]
            raise RequestError(
                f"The API key lacks the scope {' or '.join(wanted)}.",
                code="auth.scope",
                details={"scopes": wanted},
            )

    def person(self, named: User | None) -> User:
        """The person a request is for.

        A key that is bound to a person acts only as that person, with the roles it was
        given; any other key must name the user. Raises `auth.person` or `request.invalid`.
        """
        bound = self.key.person
        if bound is not None:
            if named is not None and named.id != bound.id:
                raise RequestError(
                    f"The API key acts only as {bound.id}.", code="auth.person", details={"person": bound.id}
                )
            return bound
        if named is None:
            message = "The API key is not bound to a person, so the request must name the user."
            raise RequestError(message, details={"problems": [{"at": "/user", "message": message}]})
        require_somebody(named.id, "/user/id")
        return named

    def actor(self, named: User | None = None) -> str:
        """Who is recorded for a deed that needs no person: the person, else the key's owner."""
        if named is not None or self.key.person is not None:
            return self.person(named).id
        return self.key.owner

    def sees(self, job: JobRecord) -> bool:
        """Whether the job is visible: submitted by this owner, or the key may see every job."""
        return job.owner == self.key.owner or self.has(*SEES_EVERY_JOB)

    @property
    def sees_all(self) -> bool:
        """Whether listings are not narrowed to the key's owner."""
        return self.has(*SEES_EVERY_JOB)
