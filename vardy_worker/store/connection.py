"""Connections to Redis, and the one place where its errors become Vardy's."""

from __future__ import annotations

from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.connection import ConnectionPool
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from vardy_worker.contracts.errors import SettingsError, StoreUnavailable, VardyError
from vardy_worker.store.address import SCHEMES as SENTINEL_SCHEMES
from vardy_worker.store.address import sentinel_address
from vardy_worker.store.pool import HastyPool, WaryPool
from vardy_worker.store.sentinel import NoPrimaryError, async_primary_client, primary_client

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SOCKET_TIMEOUT_SECONDS: Final = 5.0
CONNECT_TIMEOUT_SECONDS: Final = 3.0
HEALTH_CHECK_SECONDS: Final = 5
CONNECTIONS_MAX: Final = 2000
"""Of one client: more than threads use at once, whatever VARDY_WORKER_CONCURRENCY is. By default it would be
100, and the next thread that needs one would be told that the server cannot be reached."""
RETRIES: Final = 1
"""Commands sent again after a connection was lost, as after a restart of the server. Timeouts
are not tried again, so that a server that swallows packets is reported within five seconds."""


def connect(url: str, *, socket_timeout_seconds: float = SOCKET_TIMEOUT_SECONDS, hasty: bool = False) -> Redis:
    """A client with a pool of its own; connects at the first command.

    Without a socket timeout a connection that froze half-open would never resume. The
    client sends a command again when its reply is lost, which every script allows for.
    With `hasty`, a lost server is waited for by one caller alone; see `HastyPool`.
    Raises `SettingsError` for a URL that is none.
    """
    options = {
        "socket_timeout": socket_timeout_seconds,
        **_tcp_options(url),
        "health_check_interval": HEALTH_CHECK_SECONDS,
        "retry": Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), RETRIES, (RedisConnectionError,)),
        "protocol": 2,
        "max_connections": CONNECTIONS_MAX,
    }
    with readable_address(url):
        address = sentinel_address(url)
        if address is not None:
            return primary_client(address, options, hasty=hasty)
        return Redis.from_pool((HastyPool if hasty else WaryPool).from_url(url, **options))


def connect_async(url: str) -> AsyncRedis:
    """An asyncio client for subscriptions; it never retries by itself.

    Raises `SettingsError` for a URL that is none.
    """
    options = {**_tcp_options(url), "retry": AsyncRetry(NoBackoff(), 0), "protocol": 2}
    with readable_address(url):
        address = sentinel_address(url)
        return AsyncRedis.from_url(url, **options) if address is None else async_primary_client(address, options)


def _tcp_options(url: str) -> dict[str, Any]:
    """What a TCP connection needs and a unix socket refuses."""
    if url.startswith("unix:"):
        return {}
    return {"socket_connect_timeout": CONNECT_TIMEOUT_SECONDS, "socket_keepalive": True}


@contextmanager
def readable_address(url: str) -> Iterator[None]:
    """Turns the `ValueError` of whoever reads the address into `SettingsError`."""
    try:
        _require_server(url)
        yield
    except ValueError as error:
        scheme = url.partition("://")[0] if "://" in url else ""
        details = {"setting": "VARDY_REDIS_URL", "scheme": scheme}
        if scheme in SENTINEL_SCHEMES:
            raise SettingsError(f"VARDY_REDIS_URL cannot be read: {error}.", details=details) from error
        msg = (
            "VARDY_REDIS_URL is not a Redis address, such as `redis://localhost:6379/0` "
            "(or `rediss://`, `unix://`, `redis+sentinel://`)."
        )
        raise SettingsError(msg, details=details) from error


def _require_server(url: str) -> None:
    """Raises `ValueError` where the store and Celery would not read the same server and database."""
    if url.partition("://")[0] in SENTINEL_SCHEMES:
        return
    _require_options(ConnectionPool.from_url(url))
    parts = urlsplit(url)
    database = parts.path.strip("/")
    # redis-py takes database 0 for what is no number.
    if parts.scheme != "unix" and database and not (database.isascii() and database.isdigit()):
        raise ValueError("the database is no number")


def _require_options(pool: ConnectionPool) -> None:
    """Raises `SettingsError` for an option of the address that a connection, once it is made, would not take."""
    try:
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, RedisError):
        msg = (
            "VARDY_REDIS_URL has an option after its `?` that redis-py does not know, or with a value it does not take."
        )
        # Not their own words, which may repeat a value.
        raise SettingsError(msg, details={"setting": "VARDY_REDIS_URL"}) from None


# What a server that is there, but cannot serve now, begins its refusal with.
_REFUSALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "OOM": "Redis is full and refuses to write; give it more memory (`maxmemory`).",
        "READONLY": "Redis is a read-only replica; VARDY_REDIS_URL must name the primary.",
        "LOADING": "Redis is still loading its data; it will serve when that is done.",
        "MISCONF": "Redis cannot save to its disk and therefore refuses to write; look at its log and its disk.",
        "NOREPLICAS": "Redis refuses to write, because fewer replicas follow it than `min-replicas-to-write` asks for.",
        "MASTERDOWN": "Redis is a replica that lost its primary; VARDY_REDIS_URL must name the primary.",
        "BUSY": "Redis is busy with a script that does not end; look for it with `SLOWLOG` on the server.",
        "TRYAGAIN": "Redis is moving the data; it will serve when that is done.",
        "CLUSTERDOWN": "Redis is a cluster, which Vardy cannot use; VARDY_REDIS_URL must name a single primary.",
        "WRONGPASS": "Redis refuses the credentials of VARDY_REDIS_URL, or asks for some.",
        "NOPERM": "Redis forbids a command or a key to the user of VARDY_REDIS_URL; the server's ACL must allow it.",
    }
)

# redis-py has classes for some, and takes the word away from their text.
_REFUSAL_CLASSES: Final[tuple[tuple[type[RedisError], str], ...]] = (
    (OutOfMemoryError, "OOM"),
    (ReadOnlyError, "READONLY"),
    (BusyLoadingError, "LOADING"),
    (MasterDownError, "MASTERDOWN"),
    (ClusterDownError, "CLUSTERDOWN"),
    (TryAgainError, "TRYAGAIN"),
    (AuthenticationError, "WRONGPASS"),
    (NoPermissionError, "NOPERM"),
)


@contextmanager
def translated() -> Iterator[None]:
    """Turns Redis errors into `StoreUnavailable`, or `VardyError` for what should not happen.

    No message repeats the address or a value: an address may hold a password.
    """
    try:
        yield
    except RedisError as error:
        raise _translation(error) from error


def _translation(error: RedisError) -> VardyError:
    word = _refusal(error)
    if word:
        return StoreUnavailable(_REFUSALS[word], details={"reply": word})
    match error:
        case NoPrimaryError():
            return StoreUnavailable(str(error))
        case RedisTimeoutError():
            return StoreUnavailable("Redis did not answer in time.")
        case RedisConnectionError():
            return StoreUnavailable("Redis cannot be reached; check that it runs and that VARDY_REDIS_URL is right.")
        case _:
            name = type(error).__name__
            return VardyError(f"Redis answered in a way that Vardy does not expect ({name}).", details={"type": name})


def _refusal(error: RedisError) -> str:
    """The first word of a refusal; empty for another error."""
    for kind, word in _REFUSAL_CLASSES:
        if isinstance(error, kind):
            return word
    if not isinstance(error, ResponseError):
        return ""
    if str(error).startswith("ACL failure in script"):
        return "NOPERM"
    word = str(error).partition(" ")[0]
    return word if word in _REFUSALS else ""
