"""Celery's consumer, made to wait for a server that is away or refuses to serve it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown
from redis.exceptions import RedisError

from vardy_worker.contracts.errors import VardyError
from vardy_worker.logs import get_logger
from vardy_worker.store.connection import translated

if TYPE_CHECKING:
    from kombu import Connection

PAUSE_SECONDS: Final = 1.0
"""Pause before the next try. Celery's own grows to half a minute while a server is away, and is none
where a server refuses."""

log = get_logger(__name__)


class PatientConsumer(Consumer):  # type: ignore[misc] # celery ships no types
    """Tries again once a second, saying why, as long as it takes."""

    def ensure_connected(self, conn: Connection) -> Connection:
        """The connection, once the server is there."""

        def on_error(error: Exception, seconds: float) -> None:
            log.warning("worker.broker_away", reason=_reason(error), seconds=seconds)

        connected = conn.ensure_connection(
            on_error,
            interval_start=PAUSE_SECONDS,
            interval_step=0,
            interval_max=PAUSE_SECONDS,
            callback=maybe_shutdown,
        )
        self.first_connection_attempt = False
        return connected

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        """Called when the connection stands but the queues cannot be declared."""
        log.warning("worker.broker_refuses", reason=_reason(exc), seconds=PAUSE_SECONDS)
        time.sleep(PAUSE_SECONDS)


def _reason(error: Exception) -> str:
    if not isinstance(error, RedisError):
        return type(error).__name__
    try:
        with translated():
            raise error
    except VardyError as known:
        return known.message
