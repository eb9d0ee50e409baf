"""Connections to Redis, and the one place where its errors become Vardy's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from vardy_worker.contracts.errors import SettingsError, StoreUnavailable, VardyError

if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET_TIMEOUT_SECONDS: Final = 5.0
CONNECT_TIMEOUT_SECONDS: Final = 3.0
HEALTH_CHECK_SECONDS: Final = 5
RETRIES: Final = 1
"""Commands sent again after a connection was lost, as after a restart of the server. Timeouts
are not tried again, so that a server that swallows packets is reported within five seconds."""


def connect(url: str, *, socket_timeout_seconds: float = SOCKET_TIMEOUT_SECONDS) -> Redis:
    """A client with a pool of its own; connects at the first command.

    Without a socket timeout a connection that froze half-open would never resume. The
    client sends a command again when its reply is lost, which every script allows for.
    Raises `SettingsError` for a URL that is none.
    """
    with _readable(url):
        return Redis.from_url(
            url,
            socket_timeout=socket_timeout_seconds,
            **_tcp_options(url),
            health_check_interval=HEALTH_CHECK_SECONDS,
            retry=Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), RETRIES, (RedisConnectionError,)),
            protocol=2,
        )


def connect_async(url: str) -> AsyncRedis:
    """An asyncio client for subscriptions; it never retries by itself.

    Raises `SettingsError` for a URL that is none.
    """
    with _readable(url):
        return AsyncRedis.from_url(
            url,
            **_tcp_options(url),
            retry=AsyncRetry(NoBackoff(), 0),
            protocol=2,
        )


def _tcp_options(url: str) -> dict[str, Any]:
    """What a TCP connection needs and a unix socket refuses."""
    if urlsplit(url).scheme == "unix":
        return {}
    return {"socket_connect_timeout": CONNECT_TIMEOUT_SECONDS, "socket_keepalive": True}


@contextmanager
def _readable(url: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        msg = "VARDY_REDIS_URL is not a Redis address (`redis://`, `rediss://` or `unix://`)."
        raise SettingsError(msg, details={"setting": "VARDY_REDIS_URL", "scheme": urlsplit(url).scheme}) from error


# Replies of a server that is there but cannot serve now; redis-py has no class for some.
_REFUSALS: Final = (
    "OOM",
    "READONLY",
    "LOADING",
    "MISCONF",
    "NOREPLICAS",
    "MASTERDOWN",
    "BUSY",
    "TRYAGAIN",
    "CLUSTERDOWN",
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
    match error:
        case AuthenticationError() | NoPermissionError():
            return StoreUnavailable(
                "Redis refuses the credentials or a command; check VARDY_REDIS_URL and the server's ACL."
            )
        case BusyLoadingError():
            return StoreUnavailable("Redis is still loading its data; it will serve when that is done.")
        case OutOfMemoryError():
            return StoreUnavailable("Redis is full and refuses to write; give it more memory (`maxmemory`).")
        case ReadOnlyError():
            return StoreUnavailable("Redis is a read-only replica; VARDY_REDIS_URL must name the primary.")
        case RedisTimeoutError():
            return StoreUnavailable("Redis did not answer in time.")
        case RedisConnectionError():
            return StoreUnavailable("Redis cannot be reached; check that it runs and that VARDY_REDIS_URL is right.")
        case ResponseError() if (word := str(error).partition(" ")[0]) in _REFUSALS:
            return StoreUnavailable(f"Redis refuses the command for now ({word}).", details={"reply": word})
        case _:
            name = type(error).__name__
            return VardyError(f"Redis answered in a way that Vardy does not expect ({name}).", details={"type": name})
