"""Keeps the leases of the jobs in hand alive, from one thread for the whole process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import VardyError
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_worker.contracts.job import QueueName
    from vardy_worker.ports import Clock, JobStore

log = get_logger(__name__)

BEATS_PER_LEASE = 3
"""A lease is renewed this many times in its length, so that two lost beats lose nothing."""


@dataclass(eq=False, slots=True)
class Hold:
    """One job in hand. `lost` is set when another worker may have it now."""

    job_id: str
    fence: int
    lease_ms: int
    queue: QueueName
    good_until: float
    """Monotonic seconds until which the lease is known to hold."""
    next_beat: float
    lost: threading.Event = field(default_factory=threading.Event)
    renewing: threading.RLock = field(default_factory=threading.RLock)
    """One renewal at a time: two that overtake each other would leave a shorter lease than is noted here."""

    def is_good(self, now: float) -> bool:
        """Whether the lease is known to hold at this monotonic time.

        A process that was paused asks this first: the thread that renews was paused with it.
        """
        return not self.lost.is_set() and now < self.good_until


class LeaseKeeper:
    """Renews leases every third of their length. A server that does not answer is asked again.

    A hold counts as lost when the store says that its fence is old, or when its lease ran
    out without a renewal, until one succeeds after all; the store's own check of the fence
    is what keeps a stale worker from writing, `lost` only stops it early.
    """

    def __init__(self, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._holds: set[Hold] = set()
        self._changed = threading.Condition()
        self._stopping = False
        self._wakes_at = float("inf")
        """Until when the thread sleeps, in monotonic seconds; whatever is due later need not wake it."""
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, job_id: str, *, fence: int, lease_ms: int, queue: QueueName = "run") -> Iterator[Hold]:
        """Renews the lease, taken just now, until the block ends."""
        now = self._clock.monotonic()
        hold = Hold(
            job_id=job_id,
            fence=fence,
            lease_ms=lease_ms,
            queue=queue,
            good_until=now + lease_ms / 1000,
            next_beat=now + lease_ms / 1000 / BEATS_PER_LEASE,
        )
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vardy-leases", daemon=True)
                self._thread.start()
            self._holds.add(hold)
            self._beat_at(hold, hold.next_beat)
        try:
            yield hold
        finally:
            with self._changed:
                self._holds.discard(hold)

    def has(self, job_id: str, queue: QueueName) -> bool:
        """Whether this process has the job in hand for this queue, whatever became of its lease.

        A message that comes again must not start a second copy beside the first, which
        may know an outcome that it could not write yet.
        """
        with self._changed:
            return any((hold.job_id, hold.queue) == (job_id, queue) for hold in self._holds)

    def stop(self) -> None:
        """Ends the thread; leases that are still held run out by themselves."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def relength(self, hold: Hold, *, lease_ms: int) -> None:
        """Renews the lease at once, with another length from now on.

        Asked for before work that may keep the thread of this class from running, such as
        the first import of a large library.
        """
        with hold.renewing:
            hold.lease_ms = lease_ms
            self._renew(hold)

    def holds(self, hold: Hold) -> bool:
        """Whether the lease holds now; where that is not known any more, the store is asked.

        After a pause of the process or of the server, a job that nobody else took is taken back.
        """
        if hold.is_good(self._clock.monotonic()):
            return True
        with hold.renewing:
            self._renew_alone(hold)
        return hold.is_good(self._clock.monotonic())

    def beat(self) -> None:
        """Renews the leases that are due, once."""
        now = self._clock.monotonic()
        with self._changed:
            due = [hold for hold in self._holds if hold.next_beat <= now]
        for hold in due:
            self._renew(hold)

    def _renew(self, hold: Hold) -> None:
        with hold.renewing:
            self._renew_alone(hold)

    def _renew_alone(self, hold: Hold) -> None:
        sent_at = self._clock.monotonic()
        try:
            kept = self._store.heartbeat(hold.job_id, fence=hold.fence, lease_ms=hold.lease_ms)
        except VardyError as error:
            # Whatever the server answered: the thread must go on for the other leases.
            log.warning("lease.not_renewed", job_id=hold.job_id, reason=error.message)
            self._beat_at(hold, sent_at + 1)
            if sent_at >= hold.good_until:
                hold.lost.set()
            return
        if not kept:
            hold.lost.set()
            hold.next_beat = float("inf")
            return
        hold.lost.clear()
        hold.good_until = sent_at + hold.lease_ms / 1000
        self._beat_at(hold, sent_at + hold.lease_ms / 1000 / BEATS_PER_LEASE)

    def _beat_at(self, hold: Hold, at: float) -> None:
        """Wakes the thread only where it would sleep too long, which is hardly ever: most jobs end before a beat."""
        with self._changed:
            hold.next_beat = at
            if at < self._wakes_at:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopping:
                    return
                upcoming = min((hold.next_beat for hold in self._holds), default=float("inf"))
                pause = upcoming - self._clock.monotonic()
                if pause > 0:
                    self._wakes_at = upcoming
                    self._changed.wait(min(pause, threading.TIMEOUT_MAX) if pause != float("inf") else None)
                    continue
            self.beat()
