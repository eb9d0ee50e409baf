"""`vardy doctor`: which checks are made, in which order, and from where."""

from __future__ import annotations

import difflib
import os
import time
from typing import TYPE_CHECKING

from vardy_api.cli.checkup import Check, Checkup, Level, failed, passed, warned
from vardy_api.cli.doctor_redis import read_server, server_checks
from vardy_api.cli.doctor_security import api_checks, redis_access_checks
from vardy_api.cli.doctor_sentinel import read_sentinels, sentinel_checks
from vardy_api.cli.doctor_service import read_from_api, read_from_store, service_checks
from vardy_api.client_errors import Unauthorized, Unreachable
from vardy_worker.contracts.errors import SettingsError, StoreUnavailable, VardyError
from vardy_worker.contracts.limits import Limits
from vardy_worker.settings import PREFIX, Settings, load_settings
from vardy_worker.store.address import redis_access, sentinel_address
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
    from vardy_api.cli.session import Session

REDIS_TIMEOUT_SECONDS = 3.0
_BESIDE_SETTINGS = ("URL", "API_KEY", "DEV_API_KEY", "DEMO_DIR")
"""What commands, client and demo read beside the settings of API and worker."""


def examine(session: Session) -> Checkup:
    """Makes every check that can be made from here."""
    checks: list[Check] = []
    settings = _settings(checks)
    checks += _unknown_variables()
    if settings is not None:
        checks += api_checks(settings, session.url)
    sees_redis = settings is not None and bool(settings.redis_url)
    if settings is not None and sees_redis:
        _look_at_redis(settings, checks)
    if _look_at_api(session, checks) and not sees_redis:
        _ask_api(session, checks)
    return Checkup(ok=all(check.level is not Level.FAILURE for check in checks), checks=tuple(checks))


def _settings(checks: list[Check]) -> Settings | None:
    try:
        settings = load_settings()
    except SettingsError as error:
        checks.append(failed("settings", error.message, "Mend it where the process is started."))
        return None
    if not settings.redis_url:
        checks.append(
            warned(
                "settings",
                "VARDY_REDIS_URL is not set here, so Redis itself is not looked at.",
                "Set it to the address that API and workers use, or run this where they run.",
            )
        )
        return settings
    unset = [name for name in ("functions", "model") if not getattr(settings, name)]
    if unset:
        names = " and ".join(f"VARDY_{name.upper()}" for name in unset)
        checks.append(
            warned(
                "settings",
                f"{names} not set here.",
                "Workers need VARDY_FUNCTIONS; without VARDY_MODEL only recipes run.",
            )
        )
    else:
        checks.append(passed("settings", "All settings of this environment are valid."))
    return settings


def _unknown_variables() -> list[Check]:
    """Variables with the prefix that nothing reads: what was meant has its default."""
    fields = (*Settings.model_fields, *Limits.model_fields, *_BESIDE_SETTINGS)
    known = {PREFIX + name.upper() for name in fields}
    checks = []
    for name in sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known):
        meant = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        action = f"Did you mean {meant[0]}?" if meant else "Remove it, or correct its name: see docs/settings.md."
        checks.append(warned("settings", f"{name} is no setting, so nothing reads it.", action))
    return checks


def _look_at_redis(settings: Settings, checks: list[Check]) -> None:
    """Looks at server and store."""
    try:
        redis = connect(settings.redis_url, socket_timeout_seconds=REDIS_TIMEOUT_SECONDS)
    except SettingsError as error:
        checks.append(failed("redis", error.message, "Mend VARDY_REDIS_URL."))
        return
    try:
        checks += redis_access_checks(redis_access(settings.redis_url))
        address = sentinel_address(settings.redis_url)
        if address is not None:
            checks += sentinel_checks(read_sentinels(address))
        checks += server_checks(read_server(redis, settings, sentinels=address is not None))
        checks += service_checks(read_from_store(redis, settings, time.time_ns() // 1_000_000))
    except StoreUnavailable as error:
        checks.append(
            failed("redis", error.message, "Start Redis, or mend VARDY_REDIS_URL or what its user may do there.")
        )
    except VardyError as error:
        checks.append(failed("store", error.message, "Look at the server's version and at VARDY_NAMESPACE."))
    finally:
        redis.close()


def _look_at_api(session: Session, checks: list[Check]) -> bool:
    """Whether the API answers and takes the key."""
    try:
        health = session.client.health()
    except Unreachable as error:
        # Where nobody said that there is an API, its absence is no fault.
        make = failed if session.url else warned
        checks.append(make("api", error.message, "Start it with `vardy api`, or set VARDY_URL to where it runs."))
        return False
    except VardyError as error:
        checks.append(failed("api", error.message, "Make sure that VARDY_URL names a Vardy API."))
        return False
    if not health.ok:
        problems = " ".join(health.problems)
        checks.append(failed("api", f"{session.client.url} is not ready: {problems}", "Look at its log."))
        return False
    return _try_key(session, checks)


def _try_key(session: Session, checks: list[Check]) -> bool:
    client = session.client
    if not session.api_key:
        checks.append(warned("api", f"{client.url} is ready; no key to try.", "Set VARDY_API_KEY, or give --api-key."))
        return False
    try:
        client.list_jobs(limit=1)
    except Unauthorized as error:
        checks.append(failed("api", f"{client.url} is ready but refuses the key: {error.message}", "Use a valid key."))
        return False
    except VardyError as error:
        checks.append(
            warned("api", f"{client.url} is ready; the key may not read: {error.message}", "Mind its scopes.")
        )
        return True
    checks.append(passed("api", f"{client.url} is ready and takes the key."))
    return True


def _ask_api(session: Session, checks: list[Check]) -> None:
    """Where Redis cannot be looked at, what the API tells must do."""
    try:
        checks += service_checks(read_from_api(session.client))
    except VardyError as error:
        checks.append(
            warned(
                "service",
                f"The API does not show queues and workers: {error.message}",
                "Use a key with the scope operate.",
            )
        )
