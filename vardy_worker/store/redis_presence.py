"""Worker presence in Redis: a key with a time to live for each worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from vardy_worker.ports import WorkerSeen
from vardy_worker.store.connection import translated
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis import Redis

_ADAPTER = TypeAdapter(WorkerSeen)


class RedisPresence:
    """The `Presence` port. Raises `StoreUnavailable`."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client = client
        self._keys = Keys(namespace)

    def beat(self, worker: WorkerSeen, *, ttl_seconds: int) -> None:
        """See `Presence.beat`."""
        with translated():
            pipe = self._client.pipeline(transaction=True)
            pipe.set(self._keys.worker(worker.worker), _ADAPTER.dump_json(worker), ex=ttl_seconds)
            pipe.sadd(self._keys.workers, worker.worker)
            pipe.execute()

    def gone(self, worker: str) -> None:
        """See `Presence.gone`."""
        with translated():
            pipe = self._client.pipeline(transaction=True)
            pipe.delete(self._keys.worker(worker))
            pipe.srem(self._keys.workers, worker)
            pipe.execute()

    def seen(self) -> Sequence[WorkerSeen]:
        """See `Presence.seen`. By name; forgets workers that no longer beat."""
        with translated():
            names = sorted(name.decode() for name in self._client.smembers(self._keys.workers))  # type: ignore[union-attr] # no text decoding is asked for
            if not names:
                return []
            stored = self._client.mget([self._keys.worker(name) for name in names])
            # A worker that beats at this very moment is added again by its next beat.
            silent = [name for name, text in zip(names, stored, strict=True) if text is None]
            if silent:
                self._client.srem(self._keys.workers, *silent)
        return [_ADAPTER.validate_json(text) for text in stored if text is not None]
