"""Ceilings of keys and people, in words and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.cli.grid import Grid
from vardy_api.cli.text import duration, one_line

if TYPE_CHECKING:
    from vardy_api.cli.output import Output
    from vardy_api.shapes import UsageView
    from vardy_worker.contracts.quota import KeyQuota


def own_ceilings(quota: KeyQuota) -> str:
    """What a key has of its own, such as `120 requests a minute, any number of jobs`; empty for nothing."""
    cost = quota.cost_usd_per_day
    words = (
        _count(quota.requests_per_minute, "request", "a minute"),
        _count(quota.jobs_max, "job", "at once"),
        _count(quota.tokens_per_day, "token", "a day"),
        "" if cost is None else f"${cost:,g} a day" if cost else "any cost",
    )
    return ", ".join(word for word in words if word)


def _count(maximum: int | None, noun: str, per: str) -> str:
    if maximum is None:
        return ""
    if maximum == 0:
        return f"any number of {noun}s"
    return f"{maximum:,} {noun if maximum == 1 else noun + 's'} {per}"


def usage(out: Output, view: UsageView) -> None:
    """What a key and a person use, each against its ceiling."""
    grid = Grid("of", "id", "a minute", "jobs now", "tokens today", "cost today", gives_way=("id",))
    for share in view.items:
        quota, used = share.quota, share.used
        grid.row(
            share.of.value,
            one_line(share.id),
            f"{quota.requests_per_minute:,}" if quota.requests_per_minute else "any",
            _part(f"{used.jobs:,}", f"{quota.jobs_max:,}", limited=bool(quota.jobs_max)),
            _part(f"{used.tokens:,}", f"{quota.tokens_per_day:,}", limited=bool(quota.tokens_per_day)),
            _part(f"${used.cost_usd:,.4g}", f"${quota.cost_usd_per_day:,g}", limited=bool(quota.cost_usd_per_day)),
        )
    out.grid(grid)
    out.line(f"The day ends in {duration((view.resets_at - out.now).total_seconds())}.", style="dim")


def _part(used: str, maximum: str, *, limited: bool) -> str:
    return f"{used} of {maximum}" if limited else used
