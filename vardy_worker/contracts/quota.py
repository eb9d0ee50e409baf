"""What one API key, or one person, may use: requests, jobs at once, tokens and money of a day.

A day is one of UTC, by the store's clock. Money is counted in millionths of a dollar, so
that sums are exact.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from vardy_worker.contracts.base import INT_SAFE_MAX, Contract

MICRO_USD = 1_000_000
"""Millionths in a dollar."""
DAY_SECONDS = 86_400
JOBS_RETRY_SECONDS = 5
"""When to try again what was one job too many at once."""

REQUESTS_PER_MINUTE_MAX = 1_000_000
"""Above it a request has less than 60 µs, and no ceiling is meant."""

Rate = Annotated[int, Field(ge=0, le=REQUESTS_PER_MINUTE_MAX)]
Count = Annotated[int, Field(ge=0, le=INT_SAFE_MAX)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000_000, allow_inf_nan=False)]
"""As millionths still an integer that the store's scripts hold exactly."""


class QuotaOf(StrEnum):
    """Whose ceiling: that of the key a job was submitted with, or of the person it is for."""

    KEY = "key"
    USER = "user"


class Quota(Contract):
    """The ceilings of one key or one person; 0 is none."""

    requests_per_minute: Rate = Field(0, description="requests of a key; of a person submitted jobs")
    jobs_max: Count = Field(0, description="jobs that are queued, running or committing at once")
    tokens_per_day: Count = Field(0, description="tokens of all model calls, both ways, the judge's too")
    cost_usd_per_day: Dollars = Field(0, description="cost of all model calls in US dollars")


class KeyQuota(Contract):
    """The ceilings that a key has of its own; null leaves that of the deployment, 0 is none."""

    requests_per_minute: Rate | None = None
    jobs_max: Count | None = None
    tokens_per_day: Count | None = None
    cost_usd_per_day: Dollars | None = None

    def over(self, deployment: Quota) -> Quota:
        """What holds for the key."""
        return deployment.model_copy(update=self.model_dump(exclude_none=True))


class Quotas(Contract):
    """What a job was submitted under; kept in it, so that the worker asks nobody."""

    key: Quota = Field(default_factory=Quota)
    user: Quota = Field(default_factory=Quota)

    def of(self, of: QuotaOf) -> Quota:
        """Those of the key, or of the person."""
        return self.key if of is QuotaOf.KEY else self.user

    def without_rates(self) -> Quotas:
        """The ceilings that hold for jobs; rates hold for requests."""
        no_rate = {"requests_per_minute": 0}
        return Quotas(key=self.key.model_copy(update=no_rate), user=self.user.model_copy(update=no_rate))

    @property
    def limit_days(self) -> bool:
        """Whether a call of a model can be one too many."""
        return any(quota.tokens_per_day or quota.cost_usd_per_day for quota in (self.key, self.user))


class Used(Contract):
    """What a key or a person uses: jobs at once now, tokens and money since the day began."""

    jobs: int = 0
    tokens: int = 0
    cost_usd: float = 0


class Spent(Contract):
    """Tokens and money, in whole numbers, so that what many jobs spent adds up exactly."""

    tokens: int = 0
    micro_usd: int = 0


class QuotaExceeded(Contract):
    """One ceiling that is reached. `limit` is the name of a field of `Quota`.

    `retry_after_seconds` is the time to the end of the day; of jobs at once nobody knows
    when one ends, and it is a few seconds.
    """

    of: QuotaOf
    limit: str
    maximum: int | float
    used: int | float
    retry_after_seconds: int

    @property
    def sentence(self) -> str:
        """The same in words; of a day also when it ends."""
        whose = "The key" if self.of is QuotaOf.KEY else "The person"
        if self.limit == "jobs_max":
            jobs = "job" if self.maximum == 1 else "jobs"
            return f"{whose} may have {self.maximum:,.0f} {jobs} at once, and has {self.used:,.0f} under way."
        if self.limit == "tokens_per_day":
            what, used = f"{self.maximum:,.0f} tokens", f"{self.used:,.0f}"
        else:
            what, used = f"{_dollars(self.maximum)} US dollars", _dollars(self.used)
        hours, minutes = divmod(-(-self.retry_after_seconds // 60), 60)
        ends = f"the next day begins at 00:00 UTC, in {f'{hours} h ' if hours else ''}{minutes} min"
        return f"{whose} may spend {what} of model calls a day, and {used} are spent; {ends}."


def _dollars(amount: float) -> str:
    return f"{amount:,.6f}".rstrip("0").rstrip(".")


class RateExceeded(Contract):
    """A rate that is used up: the next request is served after `wait_ms`."""

    of: QuotaOf
    maximum: int = Field(description="requests of a minute")
    wait_ms: int = Field(ge=1)
