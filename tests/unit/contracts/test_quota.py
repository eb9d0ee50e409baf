"""Ceilings in words and numbers."""

from __future__ import annotations

import pytest

from vardy_worker.contracts.job import JudgeUsage, Usage
from vardy_worker.contracts.quota import Quota, QuotaExceeded, QuotaOf, Quotas, Spent


@pytest.mark.parametrize(
    ("exceeded", "said"),
    [
        (
            QuotaExceeded(of=QuotaOf.KEY, limit="jobs_max", maximum=1200, used=1200, retry_after_seconds=5),
            ("The key may have 1,200 jobs at once,", "and has 1,200 under way."),
        ),
        (
            QuotaExceeded(of=QuotaOf.USER, limit="tokens_per_day", maximum=1000, used=1204, retry_after_seconds=3601),
            (
                "The person may spend 1,000 tokens",
                "and 1,204 are spent; the next day begins at 00:00 UTC, in 1 h 1 min.",
            ),
        ),
        (
            QuotaExceeded(
                of=QuotaOf.USER, limit="cost_usd_per_day", maximum=2.5, used=1234.567, retry_after_seconds=59
            ),
            (
                "The person may spend 2.5 US dollars",
                "and 1,234.567 are spent; the next day begins at 00:00 UTC, in 1 min.",
            ),
        ),
    ],
)
def test_a_ceiling_says_whose_it_is_how_high_and_when_it_ends(exceeded: QuotaExceeded, said: tuple[str, str]) -> None:
    assert exceeded.sentence.startswith(said[0])
    assert exceeded.sentence.endswith(said[1])


def test_a_job_spent_what_its_model_and_its_judge_took_together() -> None:
    judge = JudgeUsage(prompt_tokens=5, completion_tokens=1, cost_usd=0.000_000_4, calls=1)
    usage = Usage(prompt_tokens=10, completion_tokens=2, cost_usd=0.1, judge=judge)
    assert usage.spent == Spent(tokens=18, micro_usd=100_000)


def test_a_job_keeps_ceilings_and_no_rates() -> None:
    quota = Quota(requests_per_minute=60, jobs_max=2)
    kept = Quotas(key=quota, user=quota).without_rates()
    assert kept.of(QuotaOf.KEY) == kept.of(QuotaOf.USER) == Quota(jobs_max=2)
    assert Quotas(key=Quota(requests_per_minute=60)).without_rates() == Quotas()


@pytest.mark.parametrize(
    ("quota", "limited"),
    [
        (Quota(jobs_max=1, requests_per_minute=1), False),
        (Quota(tokens_per_day=1), True),
        (Quota(cost_usd_per_day=0.1), True),
    ],
)
def test_only_tokens_and_money_are_of_a_day(quota: Quota, limited: bool) -> None:
    assert Quotas(key=quota).limit_days is Quotas(user=quota).limit_days is limited
