"""The composition root of the API: the only module of it that names concrete classes."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from vardy_api.http.application import Api, make_app
from vardy_api.late_queue import LateQueue
from vardy_api.operations.caller import RULES_SETTING
from vardy_api.operations.facade import Ports, make_operations
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.errors import RulesError, SettingsError, StoreUnavailable
from vardy_worker.logs import get_logger
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.rules import CelRules
from vardy_worker.store.connection import connect
from vardy_worker.store.feed import RedisChangeFeed
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore
from vardy_worker.store.redis_key_uses import RedisKeyUses
from vardy_worker.store.redis_presence import RedisPresence
from vardy_worker.store.redis_rates import RedisRates

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fastapi import FastAPI

    from vardy_api.operations.facade import Operations
    from vardy_worker.settings import Settings


log = get_logger(__name__)


def build_api(settings: Settings, *, loaded: Callable[[], None] = lambda: None) -> Api:
    """The API over Redis and Celery. Applies `VARDY_RULES` if it differs from the active rules.

    Raises `SettingsError` for a missing setting, a rules file that is not valid, or rules
    that cannot be stored because Redis cannot be reached. Without `VARDY_RULES` it starts
    whether or not Redis is there, and is not ready until it is. `loaded` is called in a
    thread, once every library that serving needs is loaded.
    """
    settings.need("redis_url")
    client = connect(settings.redis_url, socket_timeout_seconds=settings.redis_timeout_seconds, hasty=True)
    documents = RedisDocuments(client, settings.namespace, replicas=settings.journal_replicas)
    feed = RedisChangeFeed(settings.redis_url, settings.namespace)
    queue = LateQueue(lambda: CeleryQueue(make_celery(settings), settings))
    ports = Ports(
        store=RedisJobStore(client, settings.namespace, replicas=settings.journal_replicas),
        documents=documents,
        key_uses=RedisKeyUses(client, settings.namespace),
        rates=RedisRates(client, settings.namespace),
        audit=RedisAuditTrail(client, settings.namespace),
        presence=RedisPresence(client, settings.namespace),
        feed=feed,
        queue=queue,
        engine=CelRules(),
        clock=SystemClock(),
    )
    operations = make_operations(ports, settings)
    if settings.rules:
        apply_rules_file(operations, settings.rules)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if isinstance(app, Api):
            app.began(asyncio.get_running_loop())
        loading = threading.Thread(target=_begin, args=(operations, queue, loaded), name="vardy-begin")
        loading.start()
        yield
        operations.held.stop()
        await feed.aclose()
        await run_sync(loading.join)
        queue.close()
        client.close()

    return make_app(
        operations,
        request_bytes_max=settings.request_bytes_max,
        trusted_proxies=settings.trusted_proxies,
        metrics_key_needed=settings.metrics_key_needed,
        lifespan=lifespan,
    )


def _begin(operations: Operations, queue: LateQueue, loaded: Callable[[], None]) -> None:
    """What need not be waited for before serving."""
    queue.load()
    loaded()
    try:
        operations.service.ping()
    except StoreUnavailable as error:
        # It serves, and answers 503: whoever started it should see why.
        log.warning("api.not_ready", reason=error.message)


def apply_rules_file(operations: Operations, path: str) -> None:
    """Applies a rules file if it differs from the active rules. Raises `SettingsError` with one sentence."""
    details = {"setting": "VARDY_RULES"}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SettingsError(f"VARDY_RULES names {path}, which cannot be read: {reason}.", details=details) from error
    try:
        operations.rules.apply(text, by=RULES_SETTING)
        for warning in operations.rules.warnings(text):
            log.warning("rules.idle", rule=warning.rule, line=warning.line, reason=warning.message)
    except RulesError as error:
        message = f"VARDY_RULES names {path}, which is not valid: {error.message}"
        raise SettingsError(message, details={**details, **error.details}) from error
    except StoreUnavailable as error:
        message = f"VARDY_RULES cannot be applied, because the store cannot be reached: {error.message}"
        raise SettingsError(message, details=details) from error
