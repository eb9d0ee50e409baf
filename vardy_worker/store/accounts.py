"""Ceilings of keys and people against what they use, for every store: pure, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import INT_SAFE_MAX
from vardy_worker.contracts.quota import (
    DAY_SECONDS,
    JOBS_RETRY_SECONDS,
    MICRO_USD,
    Quota,
    QuotaExceeded,
    QuotaOf,
    Spent,
    Used,
)

if TYPE_CHECKING:
    from vardy_worker.contracts.job import Usage

SPENT_KEPT_MS = 2 * DAY_SECONDS * 1000
"""How long a day's spending is kept after it grew: longer than clocks of two servers differ."""


def day_ceilings(quota: Quota) -> Spent:
    """Tokens and micro-dollars of a day, 0 for none; a ceiling below a micro-dollar is one."""
    cost = quota.cost_usd_per_day
    return Spent(tokens=quota.tokens_per_day, micro_usd=max(1, round(cost * MICRO_USD)) if cost else 0)


def spent_by(usage: Usage) -> Spent:
    """What a job spent, as scripts can count it."""
    spent = usage.spent
    return Spent(tokens=min(spent.tokens, INT_SAFE_MAX), micro_usd=min(spent.micro_usd, INT_SAFE_MAX))


def beyond(usage: Usage, added: Spent) -> Spent:
    """What a job spent beyond what was added to its accounts before; nothing is taken back."""
    spent = spent_by(usage)
    return Spent(tokens=max(spent.tokens - added.tokens, 0), micro_usd=max(spent.micro_usd - added.micro_usd, 0))


def together(one: Spent, other: Spent) -> Spent:
    """The sum of both."""
    return Spent(tokens=one.tokens + other.tokens, micro_usd=one.micro_usd + other.micro_usd)


def shown(jobs: int, spent: Spent) -> Used:
    """What is told of an account."""
    return Used(jobs=jobs, tokens=spent.tokens, cost_usd=spent.micro_usd / MICRO_USD)


def exceeded_ceiling(of: QuotaOf, quota: Quota, limit: str, used: int, *, seconds: int) -> QuotaExceeded:
    """A ceiling that is reached, `seconds` since the epoch; `used` is in micro-dollars where it is money."""
    of_day = limit != "jobs_max"
    return QuotaExceeded(
        of=of,
        limit=limit,
        maximum=getattr(quota, limit),
        used=used / MICRO_USD if limit == "cost_usd_per_day" else used,
        retry_after_seconds=DAY_SECONDS - seconds % DAY_SECONDS if of_day else JOBS_RETRY_SECONDS,
    )


def exceeded_in_jobs(of: QuotaOf, quota: Quota, jobs: int, *, seconds: int) -> QuotaExceeded | None:
    """Whether another job would be one too many at once."""
    if 0 < quota.jobs_max <= jobs:
        return exceeded_ceiling(of, quota, "jobs_max", jobs, seconds=seconds)
    return None


def exceeded_in_day(of: QuotaOf, quota: Quota, spent: Spent, *, seconds: int) -> QuotaExceeded | None:
    """Whether the day leaves nothing for another call of a model."""
    ceilings = day_ceilings(quota)
    if 0 < ceilings.tokens <= spent.tokens:
        return exceeded_ceiling(of, quota, "tokens_per_day", spent.tokens, seconds=seconds)
    if 0 < ceilings.micro_usd <= spent.micro_usd:
        return exceeded_ceiling(of, quota, "cost_usd_per_day", spent.micro_usd, seconds=seconds)
    return None
