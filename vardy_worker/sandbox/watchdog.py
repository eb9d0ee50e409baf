"""Stops a guest at its deadline: a thread that ticks wasmtime's epoch when time is up.

It sleeps until the earliest moment at which a limit can be reached, and without a program
it does not wake at all.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from vardy_worker.sandbox import protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Watchdog:
    """Watches the program that one thread runs: wall clock, and that thread's CPU time."""

    def __init__(self, stop_guest: Callable[[], None]) -> None:
        self._stop_guest = stop_guest
        self._cpu_clock = time.CLOCK_MONOTONIC
        self._changed = threading.Condition()
        self._wall_end: float | None = None
        self._cpu_begin = 0.0
        self._cpu_end = 0.0
        self._wakes_at = float("inf")
        self._reason = b""

    def begin(self, wall_seconds: float, cpu_seconds: float) -> None:
        """Watches the calling thread from now on, until `end`."""
        with self._changed:
            self._cpu_clock = _thread_clock()
            self._cpu_begin = time.clock_gettime(self._cpu_clock)
            self._cpu_end = self._cpu_begin + cpu_seconds
            self._wall_end = time.monotonic() + wall_seconds
            self._reason = b""
            if min(self._wall_end, time.monotonic() + cpu_seconds) < self._wakes_at:
                self._changed.notify()

    def end(self) -> float:
        """Stops watching; returns the CPU seconds that were used."""
        with self._changed:
            self._wall_end = None
            return time.clock_gettime(self._cpu_clock) - self._cpu_begin

    def reason(self) -> bytes:
        """Which limit was reached; empty when none was."""
        return self._reason

    def run(self) -> None:
        """The body of the thread. Never returns."""
        with self._changed:
            while True:
                left = self._look()
                self._wakes_at = time.monotonic() + left if left is not None else float("inf")
                self._changed.wait(left)

    def _look(self) -> float | None:
        """Stops the guest if it is time; the seconds until the next look, None for "when told"."""
        if self._wall_end is None or self._reason:
            return None
        wall_left = self._wall_end - time.monotonic()
        cpu_left = self._cpu_end - time.clock_gettime(self._cpu_clock)
        if wall_left > 0 and cpu_left > 0:
            return min(wall_left, cpu_left)
        self._reason = protocol.TIMEOUT if wall_left <= 0 else protocol.CPU
        self._stop_guest()
        return None


def _thread_clock() -> int:
    """The clock of the calling thread's CPU time; of the process's where there is none."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.pthread_getcpuclockid(threading.get_ident())
    return time.CLOCK_PROCESS_CPUTIME_ID
