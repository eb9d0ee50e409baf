"""The threads that run functions which are not async."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[], bool]
    """Runs one call; False when its caller had given it up meanwhile."""


class CallThreads:
    """A bounded pool whose stuck threads are replaced.

    A thread cannot be killed. When a caller gives up on running work it says so
    (`give_up`), and another thread may take the stuck one's place, up to `stuck_max`
    replacements; the stuck one ends when its work does. All are daemons, so that a
    function that never returns cannot keep the process alive.
    """

    def __init__(self, size: int, stuck_max: int) -> None:
        self._size = size
        self._stuck_max = stuck_max
        self._changed = threading.Condition()
        self._work: deque[Work] = deque()
        self._threads = 0
        self._waiting = 0
        self._stuck = 0
        self._closed = False

    @property
    def stuck(self) -> int:
        """Threads that still run work nobody waits for."""
        with self._changed:
            return self._stuck

    def submit(self, work: Work) -> Callable[[], None]:
        """Runs the work as soon as a thread is free; the answer gives it up once it has begun."""
        with self._changed:
            self._work.append(work)
            self._serve()
        return self._give_up

    def close(self) -> None:
        """Ends the idle threads now and the others after their work; waits for none."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _give_up(self) -> None:
        with self._changed:
            self._stuck += 1
            self._serve()

    def _capacity(self) -> int:
        return self._size + min(self._stuck, self._stuck_max)

    def _serve(self) -> None:
        """Wakes or starts a thread for waiting work; the lock is held."""
        if len(self._work) > self._waiting and self._threads < self._capacity():
            threading.Thread(target=self._loop, name="vardy-function", daemon=True).start()
            self._threads += 1
        elif self._work:
            self._changed.notify()

    def _loop(self) -> None:
        while (work := self._next()) is not None:
            in_time = work()
            with self._changed:
                self._stuck -= not in_time
                if self._threads > self._capacity():
                    self._threads -= 1
                    return

    def _next(self) -> Work | None:
        with self._changed:
            self._waiting += 1
            while not self._work and not self._closed:
                self._changed.wait()
            self._waiting -= 1
            if self._work:
                return self._work.popleft()
            self._threads -= 1
            return None
