"""What `vardy doctor` says of what strangers could reach, and of keys that may do too much.

A check is there only where something is found: each is a question that somebody must answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vardy_api.cli.checkup import Check, warned
from vardy_api.cli.text import counted, one_line
from vardy_api.http.loopback import is_loopback
from vardy_api.operations.authentication import has_fixed_token
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.user import ApiKey
    from vardy_worker.settings import Settings
    from vardy_worker.store.address import RedisAccess

NAMED_MAX = 5
ACTS = frozenset({Scope.SUBMIT, Scope.DECIDE, Scope.OPERATE})
"""What is done in the name of a person."""


def redis_access_checks(access: RedisAccess) -> list[Check]:
    """Whoever can write to Redis can do everything, so it matters who can."""
    far = [host for host in access.hosts if not is_loopback(host)]
    if not far or (access.password and access.tls):
        return []
    lacking = " and ".join([*([] if access.password else ["a password"]), *([] if access.tls else ["TLS"])])
    return [
        warned(
            "redis access",
            f"Redis at {', '.join(far)} is reached without {lacking}.",
            "Set a password (`requirepass`, or an ACL user) and use `rediss://`, "
            "or make sure that nobody else is in its network.",
        )
    ]


def api_checks(settings: Settings, url: str | None) -> list[Check]:
    """What the API shows, as far as this environment tells, and how this command reaches it."""
    checks = []
    if not is_loopback(settings.api_host) and not settings.metrics_key_needed:
        checks.append(
            warned(
                "metrics",
                f"The API listens on {settings.api_host}, and /metrics tells anybody there how many jobs there are.",
                "Set VARDY_METRICS_KEY_NEEDED=true, or keep /metrics from others in the proxy.",
            )
        )
    if not is_loopback(settings.api_host) and not settings.trusted_proxies:
        checks.append(
            warned(
                "proxy",
                f"The API listens on {settings.api_host} and trusts no proxy.",
                "Put a proxy with TLS before it, and its address into VARDY_TRUSTED_PROXIES.",
            )
        )
    parts = urlsplit(url or "")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        checks.append(
            warned("transport", f"The key goes to {parts.hostname} without TLS.", "Use an address with https://.")
        )
    return checks


def key_checks(keys: Sequence[ApiKey], now_ms: int) -> list[Check]:
    """Keys that outlive their reason, and those that could act as anybody."""
    valid = [key for key in keys if key.is_valid(now_ms)]
    checks = []
    endless = [key for key in valid if key.expires_at_ms is None]
    if endless:
        checks.append(
            warned(
                "key expiry",
                f"{counted(len(endless), 'key')} never expire{'s' if len(endless) == 1 else ''}: {_named(endless)}.",
                "Make keys with --expires-in, and rotate what must last: `vardy keys rotate`.",
            )
        )
    chosen = [key for key in valid if has_fixed_token(key.id)]
    if chosen:
        checks.append(
            warned(
                "key secret",
                f"{counted(len(chosen), 'key')} with a secret that somebody chose, as `vardy dev` does: "
                f"{_named(chosen)}.",
                "Revoke what no `vardy dev` of yours uses: `vardy keys revoke KEY`.",
            )
        )
    mighty = [key for key in valid if key.person is None and Scope.ADMIN in key.scopes and ACTS & set(key.scopes)]
    if mighty:
        checks.append(
            warned(
                "key reach",
                f"{counted(len(mighty), 'key')} with the scope admin may also act, and in anybody's name: "
                f"{_named(mighty)}.",
                "Split it: one key that administers, others that submit, decide or operate, bound to a person.",
            )
        )
    return checks


def _named(keys: Sequence[ApiKey]) -> str:
    names = [f"{one_line(key.name)} ({key.id})" if key.name else key.id for key in keys[:NAMED_MAX]]
    return ", ".join(names) + (", …" if len(keys) > NAMED_MAX else "")
