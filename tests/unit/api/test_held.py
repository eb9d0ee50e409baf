"""Waiting for a job: what is answered is what its caller may see when the wait is over."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import StillClock, queued_job
from tests.support.life import caller
from tests.support.waiting import eventually
from vardy_api.operations.held import HeldRequests
from vardy_api.operations.jobs import JobOperations
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.ports import Change, Changed
from vardy_worker.store.feed import MemoryChangeFeed
from vardy_worker.store.memory_jobs import MemoryJobStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_api.operations.caller import Caller

SECONDS = 10.0
RETAIN_SECONDS = 60


def as_before(caller: Caller) -> Caller:
    return caller


def of_another_owner(caller: Caller) -> Caller:
    return replace(caller, key=caller.key.model_copy(update={"owner": "desk", "scopes": (Scope.SUBMIT,)}))


def test_once_the_api_stops_nobody_is_held_any_more() -> None:
    clock = StillClock()
    store, job = MemoryJobStore(clock), queued_job()
    store.submit(job, None, due_at_ms=0)

    async def scenario() -> None:
        jobs = JobOperations(store, clock, retain_seconds=RETAIN_SECONDS)
        held = HeldRequests(jobs, store, MemoryChangeFeed(store), as_before)
        held.stop()
        read = await asyncio.wait_for(held.wait(caller(), job.id, 2 * SECONDS), SECONDS)
        assert read.job.status is Status.QUEUED

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("seconds_later", "recheck", "found"),
    [
        pytest.param(0, as_before, True, id="visible"),
        pytest.param(RETAIN_SECONDS, as_before, False, id="gone"),
        pytest.param(0, of_another_owner, False, id="of another owner by now"),
    ],
)
def test_who_waited_is_answered_with_what_the_key_may_see_then(
    seconds_later: int, recheck: Callable[[Caller], Caller], found: bool
) -> None:
    clock = StillClock()
    store, job = MemoryJobStore(clock), queued_job()
    store.submit(job, None, due_at_ms=0)

    async def scenario() -> None:
        jobs = JobOperations(store, clock, retain_seconds=RETAIN_SECONDS)
        held = HeldRequests(jobs, store, MemoryChangeFeed(store), recheck)
        waiting = asyncio.create_task(held.wait(caller(), job.id, SECONDS))
        assert await asyncio.to_thread(eventually, lambda: held.polls == 1)
        ended = Change(job.id, frozenset({Status.QUEUED}), Status.CANCELLED, retain_seconds=RETAIN_SECONDS)
        assert isinstance(store.change(ended), Changed)
        clock.forward(seconds_later)
        if found:
            assert (await waiting).job.status is Status.CANCELLED
        else:
            with pytest.raises(RequestError) as refused:
                await waiting
            assert refused.value.code == "job.not_found"

    asyncio.run(scenario())
