"""API keys: made, listed, rotated, revoked. Secrets are stored only as hashes.

A token is `vk_<key id>_<secret>`; the secret has 256 random bits, so a plain SHA-256 of
the token is enough, and a lookup by id costs one read (`authentication`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_api.operations.authentication import fresh_token, has_fixed_token, key_id_of
from vardy_api.operations.caller import BOOTSTRAP, require_somebody
from vardy_worker.contracts.audit import Action, AuditNote, Origin
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.ids import new_id
from vardy_worker.contracts.user import ApiKey, FormerSecret, Scope
from vardy_worker.documents import KEYS
from vardy_worker.logs import get_logger
from vardy_worker.store.cursor import make_cursor, read_name_cursor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.operations.caller import Caller
    from vardy_api.shapes import KeyChange, KeyCreate
    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.ports import Clock, Documents

log = get_logger(__name__)

TOKEN_CHARACTERS_MIN = 16


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Some keys. `next` is the cursor of the following ones."""

    items: Sequence[ApiKey]
    next: str | None


class KeyOperations:
    """The use cases around keys."""

    def __init__(self, documents: Documents, clock: Clock) -> None:
        self._documents = documents
        self._clock = clock

    def create(self, request: KeyCreate, caller: Caller | None = None) -> tuple[ApiKey, str]:
        """A new key and its token, which is shown once and cannot be read again.

        Without a caller it is made in the store itself, as the first key is.
        """
        token = fresh_token(new_id("key"))
        return self._store(token, request, caller), token

    def install(self, token: str, request: KeyCreate) -> ApiKey:
        """Makes a key with a token chosen by the caller, for development; the same again is a no-op.

        Raises `RequestError` for a token that is too short.
        """
        if len(token) < TOKEN_CHARACTERS_MIN:
            raise RequestError(f"An API key needs at least {TOKEN_CHARACTERS_MIN} characters.")
        existing = self._documents.get(KEYS, key_id_of(token))
        if existing is not None:
            key = ApiKey.model_validate(existing.value)
            if key.revoked_at_ms is None and (key.scopes, key.person) == (request.scopes, request.person):
                return key
        return self._store(token, request, None)

    def _store(self, token: str, request: KeyCreate, caller: Caller | None) -> ApiKey:
        now_ms = self._clock.now_ms()
        key_id = key_id_of(token)
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
            quota=request.quota,
        )
        noted = self._note(Action.KEY_CREATED, key, caller, **_own_ceilings("quota", key))
        self._documents.put(KEYS, key.id, key.model_dump(mode="json"), audit=[noted])
        log.info("key.created", key_id=key.id, owner=key.owner, scopes=[scope.value for scope in key.scopes])
        return key

    def _note(self, action: Action, key: ApiKey, caller: Caller | None, **details: JsonValue) -> AuditNote:
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
                **details,
            },
        )

    def list(self, caller: Caller, *, cursor: str | None, limit: int) -> KeyPage:
        """A page of the keys, by id, the revoked ones too. Raises `auth.scope`, `cursor.invalid`."""
        caller.need(Scope.ADMIN)
        page = self._documents.page(KEYS, after=read_name_cursor(cursor), limit=limit)
        keys = [ApiKey.model_validate(document.value) for document in page.items]
        return KeyPage(keys, None if page.last is None else make_cursor(0, page.last))

    def read(self, caller: Caller, key_id: str) -> ApiKey:
        """One key. Raises `key.not_found`."""
        caller.need(Scope.ADMIN)
        return self._find(key_id)[0]

    def _find(self, key_id: str) -> tuple[ApiKey, int]:
        """The key, and the version of its document."""
        document = self._documents.get(KEYS, key_id)
        if document is None:
            raise RequestError(f"There is no key {key_id[:60]}.", code="key.not_found", details={"key": key_id[:60]})
        return ApiKey.model_validate(document.value), document.version

    def rotate(self, caller: Caller, key_id: str, *, keep_seconds: int = 0) -> tuple[ApiKey, str]:
        """A new secret for the key, as a token; the one before ends after `keep_seconds`, any older one at once.

        Raises `key.not_found`; `key.conflict` for a key that has ended or whose token is fixed, and
        where somebody else changed it meanwhile: of two rotations at once only one has handed out
        a secret, and the other has done nothing.
        """
        caller.need(Scope.ADMIN)
        key, version = self._find(key_id)
        now_ms = self._clock.now_ms()
        if not key.is_valid(now_ms):
            raise _conflict(key, "The key has ended, and a rotation would not revive it: make a new one for its owner.")
        if has_fixed_token(key_id):
            raise _conflict(key, "The key has a token that somebody chose, so no other can stand for it.")
        token = fresh_token(key_id)
        until_ms = now_ms + keep_seconds * 1000
        former = FormerSecret(sha256=key.secret_sha256, until_ms=min(until_ms, key.expires_at_ms or until_ms))
        secret = {"secret_sha256": sha256_text(token), "rotated_at_ms": now_ms, "former": former}
        rotated = key.model_copy(update=secret)
        if not self._replace(rotated, version, self._note(Action.KEY_ROTATED, key, caller, keep_seconds=keep_seconds)):
            raise _conflict(
                key, "The key was changed meanwhile, and nothing was done: look at it, and rotate it again."
            )
        log.info("key.rotated", key_id=key_id, by_key_id=caller.key.id, keep_seconds=keep_seconds)
        return rotated, token

    def change(self, caller: Caller, key_id: str, request: KeyChange) -> ApiKey:
        """Gives the key other ceilings of its own; they hold from the next request on.

        What the request leaves out stays. Raises `key.not_found`; `key.conflict` for a key that
        has ended.
        """
        caller.need(Scope.ADMIN)
        given = request.quota.model_dump(exclude_unset=True)
        while True:
            key, version = self._find(key_id)
            if not key.is_valid(self._clock.now_ms()):
                raise _conflict(key, "The key has ended, so its ceilings hold for nobody.")
            changed = key.model_copy(update={"quota": key.quota.model_copy(update=given)})
            if changed == key:
                return key
            ceilings = {**_own_ceilings("quota_before", key), **_own_ceilings("quota", changed)}
            if self._replace(changed, version, self._note(Action.KEY_CHANGED, changed, caller, **ceilings)):
                log.info("key.changed", key_id=key_id, by_key_id=caller.key.id)
                return changed

    def revoke(self, caller: Caller, key_id: str) -> ApiKey:
        """Ends a key with all its secrets at once; revoking twice is the same. Raises `key.not_found`."""
        caller.need(Scope.ADMIN)
        while True:
            key, version = self._find(key_id)
            if key.revoked_at_ms is not None:
                return key
            key = key.model_copy(update={"revoked_at_ms": self._clock.now_ms()})
            if self._replace(key, version, self._note(Action.KEY_REVOKED, key, caller)):
                log.info("key.revoked", key_id=key_id, by_key_id=caller.key.id)
                return key

    def _replace(self, key: ApiKey, version: int, note: AuditNote) -> bool:
        """Stores the key unless another version is the newest by now; says whether it did."""
        value = key.model_dump(mode="json")
        return self._documents.put(KEYS, key.id, value, expect_version=version, audit=[note]) is not None


def _own_ceilings(name: str, key: ApiKey) -> JsonObject:
    """The ceilings that the key has of its own, for the audit trail; nothing without any."""
    own = key.quota.model_dump(mode="json", exclude_none=True)
    return {name: own} if own else {}


def _conflict(key: ApiKey, message: str) -> RequestError:
    return RequestError(message, code="key.conflict", details={"key": key.id})
