"""Celery's consumer, made to wait for a server that refuses to serve it."""

from __future__ import annotations

import time
from typing import Final

from celery.worker.consumer import Consumer
from redis.exceptions import RedisError

from vardy_worker.contracts.errors import VardyError
from vardy_worker.logs import get_logger
from vardy_worker.store.connection import translated

REFUSED_SECONDS: Final = 1.0
"""Pause before the next try. Celery has one for a server that is away, and none for one that refuses."""

log = get_logger(__name__)


class PatientConsumer(Consumer):  # type: ignore[misc] # celery ships no types
    """Tries again once a second, saying why, where a full or read-only server keeps it from its queues."""

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        """Called when the connection stands but the queues cannot be declared."""
        log.warning("worker.broker_refuses", reason=_reason(exc), seconds=REFUSED_SECONDS)
        time.sleep(REFUSED_SECONDS)


def _reason(error: Exception) -> str:
    if not isinstance(error, RedisError):
        return type(error).__name__
    try:
        with translated():
            raise error
    except VardyError as known:
        return known.message
