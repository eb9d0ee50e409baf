"""How long a commit waits before it tries an effect again."""

import random

import pytest

from vardy_worker.stages.commit import backoff_seconds


@pytest.mark.parametrize(("tries", "longest"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (1000, 60)])
def test_pauses_double_up_to_a_minute_and_are_spread_over_their_upper_half(
    monkeypatch: pytest.MonkeyPatch, tries: int, longest: float
) -> None:
    monkeypatch.setattr(random, "uniform", random.Random(1).uniform)  # noqa: S311 - the same test every time
    pauses = [backoff_seconds(tries) for _ in range(300)]
    assert all(longest / 2 <= pause <= longest for pause in pauses)
    assert max(pauses) - min(pauses) > longest / 2 * 0.9
