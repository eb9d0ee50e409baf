"""Everything that a server holds of one namespace, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from redis import Redis


def everything_stored(client: Redis, namespace: str) -> dict[str, str]:
    """Each key and its value as Python shows it."""
    return {key.decode(): repr(_stored(client, key)) for key in client.scan_iter(f"{namespace}:*")}


def _stored(client: Redis, key: bytes) -> object:
    kind = cast("bytes", client.type(key)).decode()
    readers: dict[str, Any] = {
        "string": client.get,
        "hash": client.hgetall,
        "list": lambda name: client.lrange(name, 0, -1),
        "set": client.smembers,
        "zset": lambda name: client.zrange(name, 0, -1, withscores=True),
        "stream": client.xrange,
    }
    return readers[kind](key)
