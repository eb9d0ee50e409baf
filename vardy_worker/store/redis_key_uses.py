"""When API keys were used last, in Redis: one hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.store.connection import translated
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redis import Redis


class RedisKeyUses:
    """The `KeyUses` port. Raises `StoreUnavailable`."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client = client
        self._keys = Keys(namespace)

    def note(self, key_id: str, hour_ms: int) -> None:
        """See `KeyUses.note`."""
        with translated():
            self._client.hset(self._keys.key_uses, key_id, str(hour_ms))

    def last(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """See `KeyUses.last`."""
        if not key_ids:
            return {}
        with translated():
            stored: list[bytes | None] = self._client.hmget(self._keys.key_uses, key_ids)  # type: ignore[assignment] # the blocking client
        return {key_id: int(hour_ms) for key_id, hour_ms in zip(key_ids, stored, strict=True) if hour_ms is not None}
