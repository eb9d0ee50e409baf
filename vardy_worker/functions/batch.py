"""Several calls under way at once, and the waiting for them.

One caller thread waits; the calls run elsewhere. Every decision about a call (did it
begin, did it end in time, was it given up) is made under one lock, so each call has
exactly one outcome, and one that never began is known not to have been applied.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.ports import CallOutcome, Clock

    Launch = Callable[["Flight"], Callable[[], None]]
    """Starts a call elsewhere; the answer is called, under the lock, when nobody waits for it any more."""


class State(Enum):
    """A call is waiting until it is launched, and begins when a thread or task takes it up."""

    WAITING = "waiting"
    LAUNCHED = "launched"
    BEGUN = "begun"
    ENDED = "ended"
    NEVER_BEGAN = "never began"
    GIVEN_UP = "given up"


@dataclass(eq=False, slots=True)
class Flight:
    """One call of a batch. What follows `deadline` is read and written under `changed`, which the batch shares."""

    launch: Launch
    timeout_seconds: float
    overdue: Callable[[float], CallOutcome]
    """The outcome when it began and did not end within so many seconds."""
    changed: threading.Condition
    clock: Clock
    deadline: float
    state: State = State.WAITING
    began_at: float = 0.0
    ends_at: float = float("inf")
    outcome: CallOutcome | None = None
    give_up: Callable[[], None] = field(default=lambda: None)
    """What `launch` answered; only the thread that runs the batch touches it."""

    def begin(self) -> bool:
        """Called right before the function; False when nobody waits any more, and it must not run."""
        with self.changed:
            now = self.clock.monotonic()
            if self.state is not State.LAUNCHED or now >= self.deadline:
                return False
            self.state = State.BEGUN
            self.began_at = now
            self.ends_at = min(now + self.timeout_seconds, self.deadline)
            self.changed.notify()
            return True

    def end(self, outcome: CallOutcome) -> bool:
        """Called with what became of it; False when it comes too late and is ignored."""
        with self.changed:
            if self.state is not State.BEGUN:
                return False
            self.state = State.ENDED
            self.outcome = outcome
            self.changed.notify()
            return True

    def is_awaited(self) -> bool:
        """Whether somebody still waits for it."""
        with self.changed:
            return self.state is State.BEGUN


class Batch:
    """Runs calls, at most `in_flight_max` at once, until all ended or the deadline (monotonic) passed."""

    def __init__(self, *, clock: Clock, deadline: float, in_flight_max: int) -> None:
        self._clock = clock
        self._deadline = deadline
        self._in_flight_max = max(1, in_flight_max)
        self._changed = threading.Condition()

    def flight(self, launch: Launch, timeout_seconds: float, overdue: Callable[[float], CallOutcome]) -> Flight:
        """One call for this batch."""
        return Flight(launch, timeout_seconds, overdue, self._changed, self._clock, self._deadline)

    def run(self, flights: Sequence[Flight]) -> None:
        """Returns when each flight has its outcome; None is that of one that never began."""
        waiting = deque(flights)
        running: list[Flight] = []
        while True:
            with self._changed:
                now = self._clock.monotonic()
                running = [flight for flight in running if self._is_running(flight, now)]
                if not waiting or now >= self._deadline or len(running) >= self._in_flight_max:
                    if not running:
                        return
                    self._changed.wait(self._seconds_to_wait(running, now))
                    continue
                flight = waiting.popleft()
                flight.state = State.LAUNCHED
            try:
                flight.give_up = flight.launch(flight)
            except RuntimeError:
                # No thread can be started, or the event loop is closed: it may not begin any more.
                self._withdraw(flight)
            running.append(flight)

    def _withdraw(self, flight: Flight) -> None:
        with self._changed:
            if flight.state is State.LAUNCHED:
                flight.state = State.NEVER_BEGAN

    def _is_running(self, flight: Flight, now: float) -> bool:
        """Whether to wait on for it; gives it up when its time is over."""
        if flight.state is State.LAUNCHED and now >= self._deadline:
            flight.state = State.NEVER_BEGAN
        elif flight.state is State.BEGUN and now >= flight.ends_at:
            flight.state = State.GIVEN_UP
            flight.outcome = flight.overdue(now - flight.began_at)
            flight.give_up()
        return flight.state in {State.LAUNCHED, State.BEGUN}

    def _seconds_to_wait(self, running: Sequence[Flight], now: float) -> float | None:
        seconds = min(self._deadline, *(flight.ends_at for flight in running)) - now
        return None if seconds >= threading.TIMEOUT_MAX else max(0.0, seconds)
