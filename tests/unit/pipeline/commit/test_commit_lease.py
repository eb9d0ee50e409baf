"""A worker whose lease ran out while it was paused starts nothing more, wherever the pause was."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.worker import WorkerParts
from vardy_worker import Functions
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view
from vardy_worker.ports import Change
from vardy_worker.store.memory_jobs import MemoryJobStore

LONG = 3600


class PausingStore(MemoryJobStore):
    """The process stands still after the start of one effect is written, or before."""

    pause: Callable[[], None] | None = None
    before = False

    def change(self, change: Change) -> Any:
        starts = any(record.state is EffectState.STARTED and record.seq == 1 for record in change.effects)
        pause = self.pause if starts else None
        if pause is not None and self.before:
            pause()
        reply = super().change(change)
        if pause is not None and not self.before:
            pause()
        return reply


@pytest.fixture
def called() -> list[int]:
    return []


@pytest.fixture
def parts(called: list[int]) -> Iterator[WorkerParts]:
    functions = Functions()

    @functions.write
    def ring(who: int) -> None:
        """Rings a bell, not safely repeated."""
        called.append(who)

    made = WorkerParts(functions)
    made.store = PausingStore(made.clock)
    made.host.start()
    yield made
    made.close()
    made.host.stop()


@pytest.mark.parametrize("before", [True, False], ids=["before the start is written", "after it is written"])
def test_a_paused_worker_calls_nothing_when_its_lease_is_over(
    parts: WorkerParts, called: list[int], *, before: bool
) -> None:
    assert isinstance(parts.store, PausingStore)
    parts.store.before = before
    parts.store.pause = lambda: parts.clock.forward(LONG)
    job = parts.committing(parts.effect(0, "ring", who=1), parts.effect(1, "ring", who=2))
    parts.committer("paused").commit(job.id)
    assert called == [1]
    assert parts.job(job.id).status is Status.COMMITTING

    parts.store.pause = None
    parts.committer("next").commit(job.id)
    ended = parts.job(job.id)
    assert called == [1], "nobody knows whether the paused worker called"
    assert ended.status is Status.PARTIAL
    assert [effect.state for effect in job_view(ended).effects] == [EffectState.SUCCEEDED, EffectState.UNKNOWN]
