"""Messages to workers, through Celery, by task name: nothing here imports a task.

A message is only a hint that a job exists. It may be lost, repeated or late; the store
decides who works, and the reconciler publishes again what was lost.
"""

from __future__ import annotations

import json
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from vardy_worker.contracts.errors import QueueUnavailable
from vardy_worker.store.address import sentinel_address
from vardy_worker.store.connection import connect, readable_address, translated
from vardy_worker.store.sentinel import sentinel_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery
    from redis import Redis

    from vardy_worker.contracts.job import QueueName
    from vardy_worker.settings import Settings
    from vardy_worker.store.address import SentinelAddress

QUEUES: Final[Mapping[QueueName, str]] = MappingProxyType({"run": "vardy.run", "commit": "vardy.commit"})
"""Celery's name of each queue. Apart, so that commits never wait behind generation."""

TASKS: Final[Mapping[QueueName, str]] = MappingProxyType({"run": "vardy.run_job", "commit": "vardy.commit_job"})
"""The task that serves each queue; its one argument is the job id."""

PUBLISHED_HEADER: Final = "published_ms"
"""Message header: when it was published, in milliseconds since the epoch."""

VISIBILITY_SECONDS: Final = 300


def make_celery(settings: Settings) -> Celery:
    """The Celery application of API and worker, without any task.

    Celery is imported here (0.3 s), not with the module. Raises `SettingsError` without
    `VARDY_REDIS_URL`.
    """
    from celery import Celery  # noqa: PLC0415 - the CLI imports this module and needs no Celery

    settings.need("redis_url")
    with readable_address(settings.redis_url):
        address = sentinel_address(settings.redis_url)
        broker = broker_url(settings.redis_url) if address is None else sentinel_broker_url(address)
    celery = Celery("vardy", broker=broker, set_as_current=False)
    celery.conf.update(
        # The store is the truth; a result backend costs seven Redis commands a task.
        task_ignore_result=True,
        result_backend=None,
        task_serializer="json",
        accept_content=["json"],
        # Acknowledged when done, so that a killed worker's message is not gone at once. What
        # is lost all the same, the reconciler finds by its lease.
        task_acks_late=True,
        # A task that kills its worker would be delivered for ever; the record counts deliveries.
        task_reject_on_worker_lost=False,
        # A failed publish is no error (the reconciler publishes) and must not block a request.
        task_publish_retry=False,
        # Events halve the throughput.
        task_send_sent_event=False,
        worker_send_task_events=False,
        # Its mailbox leaks keys over restarts.
        worker_enable_remote_control=False,
        worker_prefetch_multiplier=1,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        # A lost broker connection is no reason to stop: leases are in the store.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_deduplicate_successful_tasks=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # A server that is full, read-only or without its replicas refuses to note a message that
        # was taken; by default that ends the worker.
        broker_channel_error_retry=True,
        broker_pool_limit=10,
        broker_pool_acquire_timeout=3.0,
        broker_transport_options=_transport_options(settings, address),
        task_default_queue=QUEUES["run"],
        task_create_missing_queues=True,
        task_routes={TASKS[name]: {"queue": QUEUES[name]} for name in QUEUES},
    )
    if address is not None and address.tls is not None:
        celery.conf.broker_use_ssl = _tls(address.tls)
    return celery


def _transport_options(settings: Settings, address: SentinelAddress | None) -> dict[str, Any]:
    sentinel: dict[str, Any] = {}
    if address is not None:
        once = {"retry": Retry(NoBackoff(), 0)}
        sentinel = {"master_name": address.service, "sentinel_kwargs": sentinel_options(address) | once}
    return sentinel | {
        "global_keyprefix": f"{settings.namespace}:",
        "visibility_timeout": VISIBILITY_SECONDS,
        # Left at its default, the restore of unacknowledged messages runs too rarely to help.
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        # Without a socket timeout a connection frozen half-open never resumes.
        "socket_timeout": settings.redis_timeout_seconds,
        "socket_connect_timeout": 3,
        "socket_keepalive": True,
        "health_check_interval": 5,
        # How long a publish tries to connect. (A worker's own reconnecting has no such bound.)
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.2,
        "interval_max": 0.5,
        "connect_retries_timeout": 5,
    }


def broker_url(redis_url: str) -> str:
    """The URL as Celery must have it, to mean the same as for the store.

    Celery's name for `unix://` is `redis+socket://`, and it leaves the server's certificate
    unchecked under `rediss://` unless the URL says otherwise.
    """
    parts = urlsplit(redis_url)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    match parts.scheme:
        case "unix":
            scheme = "redis+socket"
            if "db" in query:
                query["virtual_host"] = query.pop("db")
        case "rediss":
            scheme = "rediss"
            query = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true"} | query
        case _:
            return redis_url
    return f"{scheme}://{parts.netloc}{parts.path}" + (f"?{urlencode(query)}" if query else "")


def sentinel_broker_url(address: SentinelAddress) -> str:
    """The Sentinels as Celery must have them: one URL each, all with the primary's user, password and database."""
    user = quote(address.credentials.get("username", ""), safe="")
    password = address.credentials.get("password", "")
    login = f"{user}:{quote(password, safe='')}@" if address.credentials else ""
    hosts = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.sentinels)
    return ";".join(f"sentinel://{login}{host}/{address.db}" for host in hosts)


def _tls(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of TLS as Celery must have them."""
    import ssl  # noqa: PLC0415 - only addresses with TLS need it

    checks = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
    return {**options, "ssl_cert_reqs": checks[options["ssl_cert_reqs"]]}


class CeleryQueue:
    """The `Queue` port. Raises `QueueUnavailable` within seconds when Redis cannot be reached."""

    def __init__(self, celery: Celery, settings: Settings) -> None:
        self._celery = celery
        self._namespace = settings.namespace
        self._redis: Redis = connect(settings.redis_url, socket_timeout_seconds=settings.redis_timeout_seconds)

    def publish(self, queue: QueueName, job_id: str) -> None:
        """See `Queue.publish`."""
        from kombu.exceptions import KombuError  # noqa: PLC0415 - loaded with Celery by now

        try:
            self._celery.send_task(
                TASKS[queue],
                args=[job_id],
                queue=QUEUES[queue],
                headers={PUBLISHED_HEADER: time.time_ns() // 1_000_000},
                ignore_result=True,
            )
        except (KombuError, RedisError, OSError) as error:
            msg = "The message could not be published; the reconciler publishes it when Redis can be reached."
            raise QueueUnavailable(msg, details={"queue": queue, "job_id": job_id}) from error

    def depth(self, queue: QueueName) -> int:
        """See `Queue.depth`. Messages that a worker holds unacknowledged do not count."""
        with translated():
            return int(self._redis.llen(self.list_key(queue)))

    def oldest_published_ms(self, queue: QueueName) -> int | None:
        """See `Queue.oldest_published_ms`."""
        with translated():
            # Celery pushes at the left end and takes from the right one.
            stored = self._redis.lindex(self.list_key(queue), -1)
        if stored is None:
            return None
        try:
            return int(json.loads(stored)["headers"][PUBLISHED_HEADER])
        except (ValueError, TypeError, KeyError, RecursionError):
            # Not one of ours, and the next that a worker takes: it explains no wait.
            return None

    def close(self) -> None:
        """Closes the connections of the producer and of the reader."""
        self._celery.producer_pool.force_close_all()
        self._celery.pool.force_close_all()
        self._redis.close()

    def list_key(self, queue: QueueName) -> str:
        """The Redis list that holds the waiting messages."""
        return f"{self._namespace}:{QUEUES[queue]}"
