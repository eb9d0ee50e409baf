"""Finds the primary through Sentinels, each time that a connection is made.

redis-py's own `Sentinel` keeps a client for each node, which nothing closes, and reorders their list
from every thread at once; so this asks over a connection that lives for one question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import SentinelConnectionPool as AsyncSentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.retry import Retry

from vardy_worker.store.pool import HastySentinelPool, PrimaryConnection, PrimaryTlsConnection, WarySentinelPool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.store.address import SentinelAddress

ASK_SECONDS: Final = 1.0
"""Connecting to a Sentinel, and its answer. A Sentinel that is down costs this much, once."""


class NoPrimaryError(RedisError):
    """No Sentinel named a primary; the message is a sentence to act on.

    No `ConnectionError`, which clients try again by themselves: every Sentinel was asked.
    """


def sentinel_options(address: SentinelAddress) -> dict[str, Any]:
    """How a client connects to a Sentinel, apart from host, port and retries."""
    options: dict[str, Any] = {
        "socket_timeout": ASK_SECONDS,
        "socket_connect_timeout": ASK_SECONDS,
        "protocol": 2,
        **address.sentinel_credentials,
    }
    return options if address.tls is None else options | {"ssl": True, **address.tls}


class _Question:
    """One round of asking: what the Sentinels said that is of no use."""

    def __init__(self, address: SentinelAddress) -> None:
        self._service = address.service
        self._refused = self._answered = self._known = False

    def failed(self, error: RedisError) -> None:
        self._refused |= isinstance(error, AuthenticationError) or "NOPERM" in str(error)

    def primary(self, states: Any) -> tuple[str, int] | None:
        """Where the primary is, if this Sentinel takes it for alive. `states`: by name, as redis-py gives them."""
        self._answered = True
        state = states.get(self._service)
        if state is None:
            return None
        self._known = True
        if not state["is_master"] or state["is_sdown"] or state["is_odown"]:
            return None
        return state["ip"], state["port"]

    def no_primary(self) -> NoPrimaryError:
        if self._known:
            return NoPrimaryError(f"The Sentinels have no primary for {self._service!r} now; they will choose one.")
        if self._answered:
            return NoPrimaryError(f"The Sentinels know no primary named {self._service!r}; check VARDY_REDIS_URL.")
        if self._refused:
            return NoPrimaryError("The Sentinels refuse the credentials; check `sentinel_password` in VARDY_REDIS_URL.")
        return NoPrimaryError("None of the Sentinels in VARDY_REDIS_URL can be reached; check that they run.")


class PrimaryFinder:
    """What redis-py's Sentinel connection pools ask. Safe for threads: it keeps only who answered last."""

    def __init__(self, address: SentinelAddress) -> None:
        self._address = address
        self._options = sentinel_options(address)
        self._nodes = address.sentinels

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """The primary's host and port. Raises `NoPrimaryError`."""
        del service_name
        question = _Question(self._address)
        for node in self._nodes:
            host, port = node
            with Redis(host, port, retry=Retry(NoBackoff(), 0), **self._options) as client:
                try:
                    found = question.primary(client.sentinel_masters())
                except RedisError as error:
                    question.failed(error)
                    continue
            if found is not None:
                self._nodes = (node, *(other for other in self._address.sentinels if other != node))
                return found
        raise question.no_primary()


class AsyncPrimaryFinder:
    """The same for asyncio."""

    def __init__(self, address: SentinelAddress) -> None:
        self._address = address
        self._options = sentinel_options(address)

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """The primary's host and port. Raises `NoPrimaryError`."""
        del service_name
        question = _Question(self._address)
        for host, port in self._address.sentinels:
            async with AsyncRedis(host=host, port=port, retry=AsyncRetry(NoBackoff(), 0), **self._options) as client:
                try:
                    found = question.primary(await client.sentinel_masters())
                except RedisError as error:
                    question.failed(error)
                    continue
            if found is not None:
                return found
        raise question.no_primary()


def primary_client(address: SentinelAddress, options: Mapping[str, Any], *, hasty: bool) -> Redis:
    """A client whose every new connection goes to the primary of that moment. `hasty`: see `HastyPool`."""
    kind = PrimaryConnection if address.tls is None else PrimaryTlsConnection
    pool = (HastySentinelPool if hasty else WarySentinelPool)(
        address.service, PrimaryFinder(address), connection_class=kind, **_pool_options(address, options)
    )
    return Redis.from_pool(pool)


def async_primary_client(address: SentinelAddress, options: Mapping[str, Any]) -> AsyncRedis:
    """The same for asyncio."""
    pool = AsyncSentinelConnectionPool(  # type: ignore[no-untyped-call] # redis-py has no types here
        address.service, AsyncPrimaryFinder(address), **_pool_options(address, options)
    )
    return AsyncRedis.from_pool(pool)


def _pool_options(address: SentinelAddress, options: Mapping[str, Any]) -> dict[str, Any]:
    tls = {} if address.tls is None else {"ssl": True, **address.tls}
    return {"db": address.db, **address.credentials, **tls, **options}
