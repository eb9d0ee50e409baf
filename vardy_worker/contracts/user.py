"""People and the API keys that act for them."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.quota import KeyQuota

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that nobody sees: controls, joiners, marks of direction."""
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
"""Those of other categories that show nothing by themselves: fillers, and selectors of a variation."""


def composed(text: str) -> str:
    """The form in which ids are kept: one that was typed in another form finds the same person."""
    return unicodedata.normalize("NFC", text)


def _person_id(text: str) -> str:
    """The id in its composed form. Raises `ValueError` where two ids could look like one.

    People are compared by id, so that the requester never approves and a quorum counts
    distinct people: `ana` with a space after it must not be somebody else.
    """
    # Other spaces look like the usual one, and several of them like one.
    spaced = text != " ".join(text.split())
    if spaced or _BLANK.search(text) or any(unicodedata.category(character) in _UNSEEN for character in text):
        msg = "an id has single spaces, none at its ends, and no characters that cannot be seen"
        raise ValueError(msg)
    return composed(text)


PersonId = Annotated[str, AfterValidator(_person_id)]
"""The id of a person, as it is compared with others."""
AskedId = Annotated[str, AfterValidator(composed)]
"""An id that something is looked for by."""


class User(Contract):
    """The person a job is for, or who decides. Compared by `id` alone, in Unicode's composed form."""

    id: PersonId = Field(min_length=1, max_length=200)
    roles: tuple[str, ...] = Field((), max_length=100)
    attributes: JsonObject = Field(default_factory=dict, description="facts that rules may look at")


class Scope(StrEnum):
    """What an API key may do."""

    SUBMIT = "submit"
    READ = "read"
    JUDGE = "judge"
    DECIDE = "decide"
    OPERATE = "operate"
    ADMIN = "admin"


class FormerSecret(Contract):
    """The secret that a rotation replaced, which still works for a while."""

    sha256: str = Field(repr=False)
    until_ms: int


class ApiKey(Contract):
    """One API key as stored: its secrets only as their SHA-256.

    A key with a `person` acts only as that person. Without one it is trusted to name
    the user of each request. Jobs belong to the `owner`, who may have several keys.
    """

    id: str
    owner: str
    secret_sha256: str = Field(repr=False)
    scopes: tuple[Scope, ...]
    person: User | None = None
    created_at_ms: int
    expires_at_ms: int | None = None
    revoked_at_ms: int | None = None
    rotated_at_ms: int | None = None
    former: FormerSecret | None = None
    name: str = ""
    quota: KeyQuota = KeyQuota()

    def is_valid(self, now_ms: int) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at_ms is None and (self.expires_at_ms is None or now_ms < self.expires_at_ms)
