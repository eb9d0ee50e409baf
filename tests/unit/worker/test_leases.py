import threading

import pytest

from tests.support.factories import StillClock, queued_job
from tests.support.waiting import eventually
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.errors import StoreUnavailable, VardyError
from vardy_worker.contracts.status import Status
from vardy_worker.leases import LeaseKeeper
from vardy_worker.ports import Claimed, NotClaimed
from vardy_worker.store.memory_jobs import MemoryJobStore


class Silent(MemoryJobStore):
    """A store whose server does not answer heartbeats while `silent`."""

    silent = False

    def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
        if self.silent:
            raise StoreUnavailable("Redis did not answer in time.")
        return super().heartbeat(job_id, fence=fence, lease_ms=lease_ms)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def store(clock: StillClock) -> Silent:
    return Silent(clock)


def claim(store: MemoryJobStore, job_id: str) -> Claimed | NotClaimed:
    expect = frozenset({Status.QUEUED, Status.RUNNING})
    return store.claim(job_id, expect=expect, to=Status.RUNNING, worker="w", lease_ms=5000)


def held(store: MemoryJobStore) -> tuple[str, int]:
    job = queued_job()
    store.submit(job, None, due_at_ms=0)
    claimed = claim(store, job.id)
    assert isinstance(claimed, Claimed)
    return job.id, claimed.fence


def test_a_lease_is_renewed_every_third_of_its_length(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        for _ in range(20):
            clock.forward(2)
            keeper.beat()
            assert isinstance(claim(store, job_id), NotClaimed)
        assert not hold.lost.is_set()
    keeper.stop()


def test_a_job_that_another_worker_took_is_lost(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        clock.forward(6)
        assert isinstance(claim(store, job_id), Claimed)
        keeper.beat()
        assert hold.lost.is_set()
    keeper.stop()


def test_a_server_that_does_not_answer_for_a_while_loses_nothing(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        store.silent = True
        clock.forward(2)
        keeper.beat()
        store.silent = False
        clock.forward(1)
        keeper.beat()
        assert not hold.lost.is_set()
        assert isinstance(claim(store, job_id), NotClaimed)
    keeper.stop()


def test_a_lease_that_ran_out_unrenewed_counts_as_lost(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        store.silent = True
        for _ in range(4):
            clock.forward(2)
            keeper.beat()
        assert hold.lost.is_set()
    keeper.stop()


def test_a_lease_that_ran_out_is_taken_back_while_nobody_else_has_the_job(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        store.silent = True
        clock.forward(6)
        keeper.beat()
        assert not keeper.holds(hold)
        store.silent = False
        assert keeper.holds(hold)
        assert not hold.lost.is_set()
        assert isinstance(claim(store, job_id), NotClaimed)
    keeper.stop()


def test_a_lease_that_ran_out_is_not_taken_back_from_another_worker(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        clock.forward(6)
        assert isinstance(claim(store, job_id), Claimed)
        assert not keeper.holds(hold)
        assert hold.lost.is_set()
    keeper.stop()


def test_a_job_is_in_hand_for_its_queue_whatever_became_of_its_lease(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000):
        clock.forward(60)
        assert keeper.has(job_id, "run")
        assert not keeper.has(job_id, "commit")
        assert not keeper.has("job_other", "run")
    assert not keeper.has(job_id, "run")
    keeper.stop()


def test_the_thread_renews_by_itself() -> None:
    beats: list[int] = []

    class Counting(MemoryJobStore):
        def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
            beats.append(fence)
            return super().heartbeat(job_id, fence=fence, lease_ms=lease_ms)

    clock = SystemClock()
    store = Counting(clock)
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=60):
        assert eventually(lambda: len(beats) >= 3)
    keeper.stop()


def test_a_lease_gets_another_length_at_once(store: Silent, clock: StillClock) -> None:
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        keeper.relength(hold, lease_ms=15_000)
        clock.forward(14)
        assert isinstance(claim(store, job_id), NotClaimed)
        clock.forward(2)
        assert isinstance(claim(store, job_id), Claimed)
    keeper.stop()


def test_an_answer_that_nobody_expects_does_not_end_the_renewals() -> None:
    beats: list[int] = []

    class Odd(MemoryJobStore):
        def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
            beats.append(fence)
            if len(beats) == 1:
                raise VardyError("Redis answered in a way that Vardy does not expect.")
            return super().heartbeat(job_id, fence=fence, lease_ms=lease_ms)

    clock = SystemClock()
    store = Odd(clock)
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=60):
        assert eventually(lambda: len(beats) >= 3)
    keeper.stop()


def test_two_renewals_of_one_lease_do_not_overtake_each_other(clock: StillClock) -> None:
    began, may_go_on = threading.Event(), threading.Event()
    sent: list[int] = []

    class Slow(MemoryJobStore):
        def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
            sent.append(lease_ms)
            began.set()
            may_go_on.wait(5)
            return super().heartbeat(job_id, fence=fence, lease_ms=lease_ms)

    store = Slow(clock)
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence, lease_ms=5000) as hold:
        clock.forward(2)
        threading.Thread(target=keeper.beat).start()
        assert began.wait(5)
        lengthening = threading.Thread(target=keeper.relength, args=(hold,), kwargs={"lease_ms": 15_000})
        lengthening.start()
        lengthening.join(0.1)
        assert sent == [5000]
        may_go_on.set()
        lengthening.join()
    assert sent[-1] == 15_000
    keeper.stop()


def test_a_short_lease_is_renewed_though_the_thread_sleeps_for_a_long_one() -> None:
    clock = SystemClock()
    store = MemoryJobStore(clock)
    (slow_id, slow_fence), (fast_id, fast_fence) = held(store), held(store)
    keeper = LeaseKeeper(store, clock)
    with (
        keeper.hold(slow_id, fence=slow_fence, lease_ms=600_000),
        keeper.hold(fast_id, fence=fast_fence, lease_ms=60) as fast,
    ):
        first = fast.good_until
        assert eventually(lambda: fast.good_until > first)
    keeper.stop()


def test_a_lease_that_was_lost_and_taken_back_is_renewed_again() -> None:
    clock = SystemClock()
    store = MemoryJobStore(clock)
    job_id, fence = held(store)
    keeper = LeaseKeeper(store, clock)
    with keeper.hold(job_id, fence=fence + 1, lease_ms=60) as hold:
        assert eventually(hold.lost.is_set)
        hold.fence = fence
        assert keeper.holds(hold)
        taken_back = hold.good_until
        assert eventually(lambda: hold.good_until > taken_back)
    keeper.stop()
