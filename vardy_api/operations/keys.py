"""API keys: made, checked, listed, revoked. Secrets are stored only as hashes.

A token is `vk_<key id>_<secret>`; the secret has 256 random bits, so a plain SHA-256 of
the token is enough, and a lookup by id costs one read. Keys are read at every request:
a revocation holds at once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING

from vardy_api.operations.caller import BOOTSTRAP, Caller, require_somebody
from vardy_worker.contracts.audit import Action, AuditNote, Origin
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.ids import new_id, new_token
from vardy_worker.contracts.user import ApiKey, Scope
from vardy_worker.documents import KEYS
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.shapes import KeyCreate
    from vardy_worker.ports import Clock, Documents

log = get_logger(__name__)

_TOKEN = re.compile(r"^vk_([0-9A-HJKMNP-TV-Z]{26})_[A-Za-z0-9_-]{20,200}$")
_NO_HASH = "0" * 64
TOKEN_CHARACTERS_MIN = 16


def _key_id(token: str) -> str:
    """The id a token names; for a token of another form (a fixed development key), one made from it."""
    match = _TOKEN.match(token)
    if match:
        return f"key_{match[1]}"
    return "key_x" + hashlib.sha256(b"id:" + token.encode()).hexdigest()[:25]


class KeyOperations:
    """The use cases around keys."""

    def __init__(self, documents: Documents, clock: Clock) -> None:
        self._documents = documents
        self._clock = clock

    def authenticate(self, token: str) -> Caller:
        """The caller behind a token. Raises `RequestError` `auth.missing` or `auth.invalid`."""
        if not token:
            raise RequestError("Send an API key as a bearer token in the header Authorization.", code="auth.missing")
        document = self._documents.get(KEYS, _key_id(token))
        key = None if document is None else ApiKey.model_validate(document.value)
        known = _NO_HASH if key is None else key.secret_sha256
        if not hmac.compare_digest(known, sha256_text(token)) or key is None:
            raise RequestError("The API key is not known.", code="auth.invalid")
        if key.revoked_at_ms is not None:
            raise RequestError("The API key was revoked.", code="auth.invalid")
        if key.expires_at_ms is not None and self._clock.now_ms() >= key.expires_at_ms:
            raise RequestError("The API key has expired.", code="auth.invalid")
        return Caller(key)

    def create(self, request: KeyCreate, caller: Caller | None = None) -> tuple[ApiKey, str]:
        """A new key and its token, which is shown once and cannot be read again.

        Without a caller it is made in the store itself, as the first key is.
        """
        ulid = new_id("key").removeprefix("key_")
        token = f"vk_{ulid}_{new_token()}"
        return self._store(token, request, caller), token

    def install(self, token: str, request: KeyCreate) -> ApiKey:
        """Makes a key with a token chosen by the caller, for development; the same again is a no-op.

        Raises `RequestError` for a token that is too short.
        """
        if len(token) < TOKEN_CHARACTERS_MIN:
            raise RequestError(f"An API key needs at least {TOKEN_CHARACTERS_MIN} characters.")
        existing = self._documents.get(KEYS, _key_id(token))
        if existing is not None:
            key = ApiKey.model_validate(existing.value)
            if key.revoked_at_ms is None and (key.scopes, key.person) == (request.scopes, request.person):
                return key
        return self._store(token, request, None)

    def _store(self, token: str, request: KeyCreate, caller: Caller | None) -> ApiKey:
        now_ms = self._clock.now_ms()
        key_id = _key_id(token)
        if request.person is not None:
            require_somebody(request.person.id, "/person/id")
        owner = request.owner or (request.person.id if request.person else request.name) or key_id
        require_somebody(owner, "/owner" if request.owner else "/name")
        key = ApiKey(
            id=key_id,
            owner=owner,
            secret_sha256=sha256_text(token),
            scopes=tuple(dict.fromkeys(request.scopes)),
            person=request.person,
            created_at_ms=now_ms,
            expires_at_ms=None if request.expires_in_seconds is None else now_ms + request.expires_in_seconds * 1000,
            name=request.name,
        )
        noted = self._note(Action.KEY_CREATED, key, caller)
        self._documents.put(KEYS, key.id, key.model_dump(mode="json"), audit=[noted])
        log.info("key.created", key_id=key.id, owner=key.owner, scopes=[scope.value for scope in key.scopes])
        return key

    def _note(self, action: Action, key: ApiKey, caller: Caller | None) -> AuditNote:
        return AuditNote(
            action=action,
            at_ms=self._clock.now_ms(),
            by=caller.actor() if caller else BOOTSTRAP,
            origin=caller.origin if caller else Origin(via="cli"),
            subject=key.id,
            details={
                "owner": key.owner,
                "scopes": [scope.value for scope in key.scopes],
                "person": key.person.id if key.person else None,
                "roles": list(key.person.roles) if key.person else [],
            },
        )

    def list(self, caller: Caller) -> Sequence[ApiKey]:
        """All keys, the revoked ones too."""
        caller.need(Scope.ADMIN)
        return [ApiKey.model_validate(document.value) for document in self._documents.all(KEYS)]

    def revoke(self, caller: Caller, key_id: str) -> ApiKey:
        """Ends a key at once; revoking twice is the same. Raises `key.not_found`."""
        caller.need(Scope.ADMIN)
        while True:
            document = self._documents.get(KEYS, key_id)
            if document is None:
                raise RequestError(f"There is no key {key_id}.", code="key.not_found", details={"key": key_id})
            key = ApiKey.model_validate(document.value)
            if key.revoked_at_ms is not None:
                return key
            key = key.model_copy(update={"revoked_at_ms": self._clock.now_ms()})
            stored = self._documents.put(
                KEYS,
                key_id,
                key.model_dump(mode="json"),
                expect_version=document.version,
                audit=[self._note(Action.KEY_REVOKED, key, caller)],
            )
            if stored is not None:
                log.info("key.revoked", key_id=key_id, by_key_id=caller.key.id)
                return key
