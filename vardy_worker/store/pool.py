"""Connection pools for a network that may die silently.

Over a path that died, every idle connection looks alive, and costs its user a whole
socket timeout. So a lost connection takes the idle ones along. In a process that many
callers wait for, only one of them then waits for the server; see `HastyPool`.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

from redis import ConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.sentinel import SentinelConnectionPool, SentinelManagedConnection, SentinelManagedSSLConnection

if TYPE_CHECKING:
    from redis.connection import Connection

PATIENCE_SECONDS: Final = 0.2
"""How long a caller waits for what another one, who tries a lost server, finds out."""


class WaryPool(ConnectionPool):
    """Trusts no idle connection after one was lost."""

    def release(self, connection: Any) -> None:
        """Takes a connection back; one that was lost takes the idle ones along."""
        super().release(connection)
        if not connection.is_connected:
            self.disconnect(inuse_connections=False)


class HastyPool(WaryPool):
    """While the server does not answer, one caller at a time finds out whether it is back.

    The others get a timeout at once, instead of each holding a thread for a socket timeout
    of its own: a hundred callers would wait for minutes. For processes whose callers ask
    again by themselves; a worker had better wait.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._known = threading.Condition()
        self._lost = False
        self._trying: int | None = None
        """The thread that tries the lost server."""
        super().__init__(*args, **kwargs)

    def get_connection(self, *_: Any, **__: Any) -> Connection:
        """A connection. Raises redis-py's `TimeoutError` while another caller tries a lost server."""
        self._take_turn()
        try:
            return super().get_connection()
        except BaseException:
            self._learn(lost=True)
            raise

    def release(self, connection: Any) -> None:
        """Takes a connection back, and learns from it whether the server answers."""
        super().release(connection)
        self._learn(lost=not connection.is_connected)

    def _take_turn(self) -> None:
        me, deadline = threading.get_ident(), time.monotonic() + PATIENCE_SECONDS
        with self._known:
            while self._lost and self._trying not in {None, me}:
                if not self._known.wait(deadline - time.monotonic()):
                    msg = "the server does not answer"
                    raise RedisTimeoutError(msg)
            if self._lost:
                self._trying = me

    def _learn(self, *, lost: bool) -> None:
        with self._known:
            self._lost = lost
            if self._trying == threading.get_ident():
                self._trying = None
            self._known.notify_all()


class PrimaryConnection(SentinelManagedConnection):
    """A connection that makes sure to lead to a primary: what Sentinels say may be old by a moment.

    A replica would answer reads, with what was true once, until the first write is refused.
    """

    def on_connect_check_health(self, check_health: bool = True) -> None:
        """Greets the server. Raises redis-py's `ConnectionError` where it is no primary."""
        super().on_connect_check_health(check_health=check_health)
        # Every user may say HELLO; ROLE is for administrators.
        self.send_command("HELLO", "2", check_health=False)  # type: ignore[no-untyped-call] # redis-py has no types here
        if b"master" not in self.read_response():
            msg = "the server is no primary any more"
            raise RedisConnectionError(msg)


class PrimaryTlsConnection(PrimaryConnection, SentinelManagedSSLConnection):
    """The same over TLS."""


class WarySentinelPool(WaryPool, SentinelConnectionPool):
    """Connections to the primary of the moment."""


class HastySentinelPool(HastyPool, SentinelConnectionPool):
    """The same in a hurry."""
