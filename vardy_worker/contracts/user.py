"""People and the API keys that act for them."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject


class User(Contract):
    """The person a job is for, or who decides. Compared by `id` alone."""

    id: str = Field(min_length=1, max_length=200)
    roles: tuple[str, ...] = Field((), max_length=100)
    attributes: JsonObject = Field(default_factory=dict, description="facts that rules may look at")


class Scope(StrEnum):
    """What an API key may do."""

    SUBMIT = "submit"
    READ = "read"
    DECIDE = "decide"
    OPERATE = "operate"
    ADMIN = "admin"


class ApiKey(Contract):
    """One API key as stored: the secret only as its SHA-256.

    A key with a `person` acts only as that person. Without one it is trusted to name
    the user of each request. `owner` survives rotation: jobs belong to the owner.
    """

    id: str
    owner: str
    secret_sha256: str
    scopes: tuple[Scope, ...]
    person: User | None = None
    created_at_ms: int
    expires_at_ms: int | None = None
    revoked_at_ms: int | None = None
    name: str = ""

    def is_valid(self, now_ms: int) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at_ms is None and (self.expires_at_ms is None or now_ms < self.expires_at_ms)
