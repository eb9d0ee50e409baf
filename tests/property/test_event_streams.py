"""Whatever happens between what is told and who reads it, every event is read once and in order."""

from __future__ import annotations

import asyncio
from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.factories import StillClock
from tests.support.life import caller
from tests.support.worlds import submitted
from vardy_api.operations.held import HeldRequests
from vardy_api.operations.jobs import JobOperations
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed
from vardy_worker.store.memory_jobs import MemoryJobStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import JobStore, Seen
    from vardy_worker.ports.feed import Told

RUNNING = frozenset({Status.RUNNING})
TICKS_MAX = 3000

STEPS = st.one_of(
    st.tuples(st.just("tell"), st.integers(1, 7)),
    st.tuples(st.just("turn"), st.integers(1, 8) | st.integers(9, 60)),
    st.tuples(st.just("lose"), st.just(0)),
    st.tuples(st.just("deaf"), st.integers(0, 1)),
    st.tuples(st.just("away"), st.integers(0, 1)),
    st.tuples(st.just("look"), st.just(0)),
    st.tuples(st.just("requeue"), st.just(0)),
)


class PatchyFeed:
    """A feed that hears nothing while it is deaf, and does not even know it."""

    def __init__(self, store: MemoryJobStore) -> None:
        self.deaf = False
        self._told: Told = lambda *_: None
        store.on_change(lambda *changed: None if self.deaf else self._told(*changed))

    def follow(self, told: Told) -> None:
        self._told = told

    def look(self) -> None:
        """What a watch does by itself every few seconds."""
        self._told(None, None)

    async def aclose(self) -> None:
        return


class PatchyStore:
    """The part of a store that streams read; it may be away."""

    def __init__(self, store: MemoryJobStore) -> None:
        self._store = store
        self.away = False

    def _there(self) -> MemoryJobStore:
        if self.away:
            raise StoreUnavailable("away")
        return self._store

    def get(self, job_id: str) -> JobRecord | None:
        return self._there().get(job_id)

    def look(self, job_ids: Sequence[str]) -> Mapping[str, Seen | None]:
        return self._there().look(job_ids)

    def events(self, job_id: str, *, after: str = "", limit: int = 1000) -> Sequence[Event]:
        return self._there().events(job_id, after=after, limit=limit)


class Reader:
    """A client that connects again, behind the last event that it has, whenever its stream ended or was lost."""

    def __init__(self, held: HeldRequests, store: MemoryJobStore, job_id: str) -> None:
        self._held = held
        self._store = store
        self._job_id = job_id
        self.read: list[Event] = []
        self.told_all = False
        self._connection: asyncio.Task[None] | None = None

    def connect(self) -> None:
        if self._connection is not None and self._connection.done() and not self._connection.cancelled():
            self._connection.result()
        if self._connection is None or self._connection.done():
            self._connection = asyncio.create_task(self._follow())

    async def lose(self) -> None:
        if self._connection is not None:
            self._connection.cancel()
            await asyncio.gather(self._connection, return_exceptions=True)

    async def _follow(self) -> None:
        last = self.read[-1].id if self.read else ""
        try:
            stream = await self._held.open_stream(caller(), self._job_id, after=last, follow=True)
        except StoreUnavailable:
            return
        self.told_all = stream is None
        if stream is not None:
            await stream.run(self._take)
            now = self._store.look([self._job_id])[self._job_id]
            assert now is not None
            assert (now.is_over, now.events) == (True, len(self.read)), "nothing else ends a stream"

    async def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            # The connection may break between any two.
            await asyncio.sleep(0)
            self.read.append(event)


def inline(delays: Sequence[int]) -> Callable[..., Any]:
    """Instead of threads: of each call some turns of the loop pass before it, and some before its answer is there."""
    turns = cycle(delays)

    async def run(act: Callable[..., Any], *args: Any, limiter: object = None) -> Any:
        del limiter
        for _ in range(next(turns)):
            await asyncio.sleep(0)
        answer = act(*args)
        for _ in range(next(turns)):
            await asyncio.sleep(0)
        return answer

    return run


class World:
    """One job, its reader, and all that may go wrong between them."""

    def __init__(self) -> None:
        clock = StillClock()
        self.store = MemoryJobStore(clock)
        self.feed, self.patchy = PatchyFeed(self.store), PatchyStore(self.store)
        reading = cast("JobStore", self.patchy)
        jobs = JobOperations(reading, clock, retain_seconds=60)
        self.held = HeldRequests(jobs, reading, self.feed, lambda caller: caller)
        self.job_id = submitted(self.store, owner="shop").id
        self._change(Status.QUEUED, Status.RUNNING)
        self.reader = Reader(self.held, self.store, self.job_id)

    def _change(self, before: Status, after: Status, *events: Event) -> None:
        changed = self.store.change(Change(self.job_id, frozenset({before}), after, events=events))
        assert isinstance(changed, Changed)

    async def take(self, step: tuple[str, int]) -> None:
        match step:
            case ("tell", count):
                events = [Event(type="effect", data={"seq": seq}, at_ms=1) for seq in range(count)]
                self._change(Status.RUNNING, Status.RUNNING, *events)
            case ("turn", turns):
                for _ in range(turns):
                    await asyncio.sleep(0)
            case ("lose", _):
                await self.reader.lose()
            case ("deaf", deaf):
                self.feed.deaf = bool(deaf)
            case ("away", away):
                self.patchy.away = bool(away)
            case ("look", _):
                self.feed.look()
            case ("requeue", _):
                for before, after in ((Status.RUNNING, Status.COMMITTING), (Status.COMMITTING, Status.PARTIAL)):
                    self._change(before, after)
                await asyncio.sleep(0)
                self._change(Status.PARTIAL, Status.COMMITTING)
                self._change(Status.COMMITTING, Status.PENDING_APPROVAL)

    async def end(self) -> None:
        """Everything works again, the job ends, and the reader hears of it."""
        self.feed.deaf = self.patchy.away = False
        version = self.store.version(self.job_id)
        assert version is not None
        self._change(version[1], Status.CANCELLED)
        for _ in range(TICKS_MAX):
            if self.reader.told_all:
                break
            self.reader.connect()
            self.feed.look()
            await asyncio.sleep(0)
        assert self.reader.told_all
        await self.reader.lose()


async def live(steps: Sequence[tuple[str, int]]) -> None:
    world = World()
    for step in steps:
        world.reader.connect()
        status = world.store.version(world.job_id)
        # After a requeue the job waits for people: nothing is told until it ends.
        if (status is not None and status[1] is Status.RUNNING) or step[0] not in {"tell", "requeue"}:
            await world.take(step)
        stored = world.store.events(world.job_id)
        assert world.reader.read == list(stored[: len(world.reader.read)])
    await world.end()
    assert world.reader.read == list(world.store.events(world.job_id))
    assert not world.held.streams


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    # What is patched holds for all examples.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    steps=st.lists(STEPS, max_size=25),
    delays=st.lists(st.integers(0, 9), min_size=2, max_size=7),
    events_max=st.sampled_from([2, 100]),
)
def test_no_event_is_lost_or_told_twice(
    monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int]], delays: list[int], events_max: int
) -> None:
    run_sync = inline(delays)
    for module in ("batches", "held"):
        monkeypatch.setattr(f"vardy_api.operations.{module}.run_sync", run_sync)
    monkeypatch.setattr("vardy_api.operations.shared_reads.EVENTS_MAX", events_max)
    monkeypatch.setattr("vardy_api.operations.event_stream.OUTAGE_PAUSE_SECONDS", 0)
    asyncio.run(live(steps))


def test_a_stream_that_read_beyond_what_was_seen_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        world = World()
        world.feed.deaf = True
        events = world.patchy.events

        def events_with_one_more(*args: Any, **how: Any) -> Sequence[Event]:
            world.patchy.events = events  # type: ignore[method-assign] # once
            world._change(Status.RUNNING, Status.RUNNING, Event(type="effect", at_ms=1))
            return events(*args, **how)

        world.patchy.events = events_with_one_more  # type: ignore[method-assign] # for the first read
        world.reader.connect()
        await world.take(("turn", 100))
        world.reader.connect()
        assert [event.id for event in world.reader.read] == ["1", "2", "3"]
        assert len(world.held.streams) == 1
        await world.end()

    for module in ("batches", "held"):
        monkeypatch.setattr(f"vardy_api.operations.{module}.run_sync", inline([0, 0]))
    asyncio.run(scenario())
