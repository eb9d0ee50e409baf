"""API keys: one, and all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.cli.ceilings import own_ceilings
from vardy_api.cli.drawings import facts
from vardy_api.cli.grid import Grid
from vardy_api.cli.report import person_text
from vardy_api.cli.text import ago, duration, expiry, one_line
from vardy_api.shapes import NewKeyView

if TYPE_CHECKING:
    from datetime import datetime

    from vardy_api.cli.output import Output
    from vardy_api.shapes import KeyList, KeyView


def key(out: Output, view: KeyView) -> None:
    """A key; a secret that was just made on a line of its own."""
    if isinstance(view, NewKeyView):
        out.line("The key, shown this once and stored only as a hash:")
        out.stdout.print(f"\n  {view.key}\n", soft_wrap=True)
    facts(
        out,
        ("id", view.id),
        ("name", view.name),
        ("owner", view.owner),
        ("person", person_text(view.person) if view.person else "anyone: the key is trusted to name the user"),
        ("scopes", ", ".join(scope.value for scope in view.scopes)),
        ("ceilings", own_ceilings(view.quota)),
        ("validity", expiry(view.expires_at, out.now) if view.expires_at else ""),
        ("revoked", ago(view.revoked_at, out.now) if view.revoked_at else ""),
        ("rotated", ago(view.rotated_at, out.now) if view.rotated_at else ""),
        ("secret before", _former(view, out.now)),
        ("last used", "" if isinstance(view, NewKeyView) else last_used(view, out.now)),
    )


def _former(view: KeyView, now: datetime) -> str:
    """Until when the secret before the last rotation works; empty for a key that has none."""
    if view.former_secret_until is None:
        return ""
    left = (view.former_secret_until - now).total_seconds()
    return f"works for {duration(left)}" if left > 0 and view.revoked_at is None else "has ended"


def last_used(view: KeyView, now: datetime) -> str:
    """When a key was used last, to the hour."""
    if view.last_used_at is None:
        return "never"
    hours = (now - view.last_used_at).total_seconds() / 3600
    return "this hour" if hours < 1 else ago(view.last_used_at, now)


def keys(out: Output, found: KeyList) -> None:
    """API keys without their secrets."""
    if not found.items:
        out.line("No key matches.")
        return
    limited = any(own_ceilings(key.quota) for key in found.items)
    columns = ("id", "name", "owner", "person", "scopes", "state", "used", *(("ceilings",) if limited else ()))
    grid = Grid(*columns, gives_way=("scopes", "name", "owner", "person", *columns[7:]))
    for view in found.items:
        person = person_text(view.person) if view.person else "anyone"
        scopes = ", ".join(scope.value for scope in view.scopes)
        cells = (
            view.id,
            one_line(view.name),
            one_line(view.owner),
            person,
            scopes,
            _state(view, out.now),
            last_used(view, out.now),
            own_ceilings(view.quota),
        )
        grid.row(*cells[: len(columns)])
    out.grid(grid)


def _state(view: KeyView, now: datetime) -> str:
    if view.revoked_at is not None:
        return f"revoked {ago(view.revoked_at, now)}"
    state = "valid" if view.expires_at is None else expiry(view.expires_at, now)
    former = _former(view, now)
    return f"{state}, secret before {former}" if former.startswith("works") else state
