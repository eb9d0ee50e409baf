"""Who sends a token: checked at every request, and again while a request is held back.

A token names its key by id, so that a check costs one read; a revocation or a rotation
holds at once, in every process. Hashes are compared in constant time.

What was read of a key is remembered, for whoever can ask the store whether it still holds
(`admission`); by itself it lets nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vardy_api.operations.caller import Caller
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import RequestError, StoreUnavailable
from vardy_worker.contracts.ids import new_token
from vardy_worker.contracts.user import ApiKey
from vardy_worker.documents import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_worker.ports import Clock, Document, Documents, KeyUses

_TOKEN: Final = re.compile(r"^vk_([0-9A-HJKMNP-TV-Z]{26})_[A-Za-z0-9_-]{20,200}$")
_FIXED: Final = "key_x"
"""Before ids of keys whose token somebody chose: no other token can name them."""
_NO_HASH: Final = "0" * 64
UNKNOWN: Final = "The API key is not known."
HOUR_MS: Final = 3_600_000
REMEMBERED: Final = 1024
"""Keys that a process remembers, those used last; of about 3 KiB each."""


def key_id_of(token: str) -> str:
    """The id a token names; for a token of another form (a fixed development key), one made from it."""
    match = _TOKEN.match(token)
    if match:
        return f"key_{match[1]}"
    return _FIXED + hashlib.sha256(b"id:" + token.encode()).hexdigest()[:25]


def has_fixed_token(key_id: str) -> bool:
    """Whether the key has a token that somebody chose, so that it cannot get another."""
    return key_id.startswith(_FIXED)


def fresh_token(key_id: str) -> str:
    """A new token that names this key, which must not have a fixed one."""
    return f"vk_{key_id.removeprefix('key_')}_{new_token()}"


@dataclass(frozen=True, slots=True)
class Recalled:
    """A caller that may come in if `document` is still the newest of the key."""

    caller: Caller
    document: Document


class Authentication:
    """Checks of tokens and of the callers they made."""

    def __init__(self, documents: Documents, uses: KeyUses, clock: Clock, *, remembered: int = REMEMBERED) -> None:
        """`remembered`: how many keys are remembered."""
        self._documents = documents
        self._uses = uses
        self._clock = clock
        self._noted: dict[str, int] = {}
        self._remembered_max = remembered
        self._remembered: OrderedDict[str, tuple[Document, ApiKey]] = OrderedDict()
        self._lock = threading.Lock()

    def authenticate(self, token: str) -> Caller:
        """The caller behind a token. Raises `RequestError` `auth.missing` or `auth.invalid`."""
        if not token:
            raise RequestError("Send an API key as a bearer token in the header Authorization.", code="auth.missing")
        token_sha256 = sha256_text(token)
        key = self._admit(key_id_of(token), token_sha256)
        self.note_use(key.id)
        return Caller(key, token_sha256=token_sha256)

    def recall(self, token: str) -> Recalled | None:
        """The caller behind a token, by what is remembered; None where that does not let it in. No round trip."""
        key_id, token_sha256 = key_id_of(token), sha256_text(token)
        with self._lock:
            known = self._remembered.get(key_id)
            if known is not None:
                self._remembered.move_to_end(key_id)
        if known is None:
            return None
        document, key = known
        return None if self._refusal(key, token_sha256) else Recalled(Caller(key, token_sha256=token_sha256), document)

    def recheck(self, caller: Caller) -> Caller:
        """The same caller with the key as it is now, for whoever holds a request back.

        Raises `auth.invalid` once the key was revoked or has expired, or the secret that was
        sent has ended. One read, as at the start.
        """
        return replace(caller, key=self._admit(caller.key.id, caller.token_sha256))

    def _admit(self, key_id: str, token_sha256: str) -> ApiKey:
        document = self._documents.get(KEYS, key_id)
        key = None if document is None else ApiKey.model_validate(document.value)
        refusal = self._refusal(key, token_sha256)
        if document is None or key is None or refusal is not None:
            raise RequestError(refusal or UNKNOWN, code="auth.invalid")
        self._remember(document, key)
        return key

    def _refusal(self, key: ApiKey | None, token_sha256: str) -> str | None:
        """Why a key with this token is refused."""
        former = None if key is None else key.former
        # Both are compared whatever the first says, and also for a key that does not exist.
        is_present = hmac.compare_digest(_NO_HASH if key is None else key.secret_sha256, token_sha256)
        is_former = hmac.compare_digest(_NO_HASH if former is None else former.sha256, token_sha256)
        if key is None or not (is_present or is_former):
            return UNKNOWN
        now_ms = self._clock.now_ms()
        if key.revoked_at_ms is not None:
            return "The API key was revoked."
        if key.expires_at_ms is not None and now_ms >= key.expires_at_ms:
            return "The API key has expired."
        if not is_present and (former is None or now_ms >= former.until_ms):
            return "The API key was rotated, and this secret of it has ended."
        return None

    def _remember(self, document: Document, key: ApiKey) -> None:
        with self._lock:
            self._remembered[document.name] = (document, key)
            self._remembered.move_to_end(document.name)
            while len(self._remembered) > self._remembered_max:
                self._remembered.popitem(last=False)

    def note_use(self, key_id: str) -> None:
        """Notes the hour, once an hour in each process: other requests pay nothing for it."""
        hour_ms = self._clock.now_ms() // HOUR_MS * HOUR_MS
        if self._noted.get(key_id) == hour_ms:
            return
        self._noted[key_id] = hour_ms
        # It tells operators which keys are dead; no request fails for it.
        with suppress(StoreUnavailable):
            self._uses.note(key_id, hour_ms)

    def last_used(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """Key id → the hour (ms) in which the key was used last; nothing of keys that never were."""
        return self._uses.last(key_ids)
