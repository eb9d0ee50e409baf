"""Celery's Redis transport for workers, made to outlive what is no message.

As Celery has it, anything in the queue's list that is not one of its own messages, such as
a line that somebody pushed by hand, ends the worker that takes it, and leaves the message
to be taken again. Here it is logged (never shown: it may be anything) and thrown away. If
it was to be a job's message, the reconciler publishes that job again.
"""

from __future__ import annotations

from queue import Empty
from typing import Any, Final

from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import RedisError

from vardy_worker.logs import get_logger

log = get_logger(__name__)

_TRANSPORTS: Final = {
    "redis": f"{__name__}:RedisTransport",
    "rediss": f"{__name__}:RedisTransport",
    "sentinel": f"{__name__}:SentinelTransport",
}

_CONNECTION: Final = (RedisError, OperationalError, OSError)
"""What is about the connection, never about a message. (Kombu's own list has `KeyError` in it.)"""


def use_patient_transports() -> None:
    """Makes this process's Celery use the transports of this module.

    By the schemes of its addresses, which is how kombu finds a transport anew for each
    address that it falls back to.
    """
    TRANSPORT_ALIASES.update(_TRANSPORTS)


class _Patient:
    """A channel that drops what it cannot even read."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc] # kombu's channel, of which this is a part
        except (*_CONNECTION, Empty):
            raise
        except Exception as error:  # noqa: BLE001 - whatever somebody put there, it must not end the worker
            _dropped(error)
            raise Empty from None


class _PatientDelivery:
    """A transport that takes a message out of the unacknowledged ones where it cannot be handled."""

    channels: list[Any]

    def _deliver(self, message: Any, queue: str) -> None:
        try:
            super()._deliver(message, queue)  # type: ignore[misc] # kombu's transport, of which this is a part
        except _CONNECTION:
            raise
        except Exception as error:  # noqa: BLE001 - the same
            _dropped(error)
            self._forget(message)

    def _forget(self, message: Any) -> None:
        properties = message.get("properties") if isinstance(message, dict) else None
        tag = properties.get("delivery_tag") if isinstance(properties, dict) else None
        for channel in self.channels:
            if isinstance(tag, str) and tag in channel.qos._delivered:  # noqa: SLF001 - kombu offers no question for it
                channel.basic_reject(tag, requeue=False)


def _dropped(error: Exception) -> None:
    log.error("worker.message_unreadable", error=type(error).__name__)


class RedisChannel(_Patient, redis.Channel):  # type: ignore[misc] # kombu ships no types
    """See `_Patient`."""


class SentinelChannel(_Patient, redis.SentinelChannel):  # type: ignore[misc] # kombu ships no types
    """See `_Patient`."""


class RedisTransport(_PatientDelivery, redis.Transport):  # type: ignore[misc] # kombu ships no types
    """See `_PatientDelivery`."""

    Channel = RedisChannel


class SentinelTransport(_PatientDelivery, redis.SentinelTransport):  # type: ignore[misc] # kombu ships no types
    """See `_PatientDelivery`."""

    Channel = SentinelChannel
