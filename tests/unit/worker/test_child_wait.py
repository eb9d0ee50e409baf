"""How long programs wait for a child."""

from __future__ import annotations

import pytest

from vardy_worker.bootstrap import child_wait_seconds
from vardy_worker.testing.parts import make_settings


@pytest.mark.parametrize(("jobs", "children"), [(64, 16), (64, 63), (8, 8), (3, 1), (1, 16), (1000, 1)])
@pytest.mark.parametrize("seconds", [0.5, 30, 300])
def test_the_last_job_in_hand_waits_until_all_before_it_have_used_their_time(
    jobs: int, children: int, seconds: float
) -> None:
    settings = make_settings(
        {"worker_concurrency": jobs, "sandbox_children_max": children}, {"execute_seconds_max": seconds}
    )
    turns_before_the_last = (jobs - 1) // children
    assert child_wait_seconds(settings) > turns_before_the_last * seconds


def test_by_default_a_program_waits_as_long_as_fifteen_others_may_take() -> None:
    settings = make_settings({}, {})
    assert settings.worker_concurrency == 16 * settings.sandbox_children_max
    assert child_wait_seconds(settings) > 15 * settings.limits.execute_seconds_max
