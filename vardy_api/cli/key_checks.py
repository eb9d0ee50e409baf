"""What can be said of keys before they are changed: whether one is dead, or the last of its kind."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from vardy_api.cli.bulk import DryRunItem, would
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from vardy_api.cli.shown import Shown
    from vardy_api.client import Vardy
    from vardy_api.shapes import KeyView


def is_valid(key: KeyView, now: datetime) -> bool:
    """Whether it is neither revoked nor expired."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def unused_for(keys: Iterable[KeyView], seconds: float, now: datetime) -> tuple[KeyView, ...]:
    """The valid keys that were neither used nor made in the time before `now`."""
    since = now - timedelta(seconds=seconds)

    def is_unused(key: KeyView) -> bool:
        latest = max((moment for moment in (key.last_used_at, key.created_at) if moment is not None), default=None)
        return latest is None or latest < since

    return tuple(key for key in keys if is_valid(key, now) and is_unused(key))


def is_last_admin(key: KeyView, client: Vardy, now: datetime) -> bool:
    """Whether no valid key could make others once this one is gone."""
    if Scope.ADMIN not in key.scopes or not is_valid(key, now):
        return False
    others: tuple[KeyView, ...] = client.keys()
    return not any(other.id != key.id and Scope.ADMIN in other.scopes and is_valid(other, now) for other in others)


def would_change(action: str, key: KeyView, now: datetime) -> Shown:
    """What a command would do to the key; a conflict for a rotation of one that has ended."""
    named = f"{key.name or 'unnamed'}, of {key.owner}"
    if key.revoked_at is not None:
        named = "revoked already"
    elif not is_valid(key, now):
        named = "expired already"
    allowed = action == "revoke" or is_valid(key, now)
    return would(action, [DryRunItem(target=key.id, allowed=allowed, note=named)])
