"""The first API key, made in the store itself: nobody could authenticate before it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.cli.exits import conflict
from vardy_api.client_arguments import as_quota, as_user
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate, NewKeyView, key_view
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.user import ApiKey, Scope
from vardy_worker.documents import KEYS
from vardy_worker.logs import configure_logs
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_api.cli.options import Person
    from vardy_worker.ports import Clock, Documents


def create_first_key(
    scopes: Sequence[str],
    *,
    name: str,
    owner: str,
    person: Person,
    expires_in_seconds: int | None,
    quota: Mapping[str, float | None],
) -> NewKeyView:
    """Makes a key in the Redis of `VARDY_REDIS_URL`.

    Raises `CommandError` (a conflict) when an administrator's key exists, `SettingsError`
    without the setting, `StoreUnavailable` when Redis cannot be reached.
    """
    request = KeyCreate(
        name=name,
        owner=owner,
        scopes=tuple(map(Scope, scopes)),
        person=as_user(person),
        expires_in_seconds=expires_in_seconds,
        quota=as_quota(quota),
    )
    settings = load_settings()
    settings.need("redis_url")
    # Standard output is for the key alone, and who made it sees it there.
    configure_logs(settings.log_format, "warning")
    redis = connect(settings.redis_url)
    try:
        return bootstrap_key(RedisDocuments(redis, settings.namespace), SystemClock(), request)
    finally:
        redis.close()


def bootstrap_key(documents: Documents, clock: Clock, request: KeyCreate) -> NewKeyView:
    """Makes the key unless some valid key has the scope admin, which can make any other."""
    now_ms = clock.now_ms()
    known = [ApiKey.model_validate(document.value) for document in documents.all(KEYS)]
    able = [key for key in known if Scope.ADMIN in key.scopes and key.is_valid(now_ms)]
    if able:
        raise conflict(
            f"There is a key that can make others already: {able[0].id} ({able[0].name or 'unnamed'}). Use it without "
            "--bootstrap: set VARDY_URL and VARDY_API_KEY.",
            code="key.exists",
            details={"key": able[0].id},
        )
    key, token = KeyOperations(documents, clock).create(request)
    return NewKeyView(**dict(key_view(key)), key=token)
