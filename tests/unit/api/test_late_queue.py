"""The queue that is built after the API serves."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from tests.support.factories import StillClock
from vardy_api.late_queue import LateQueue
from vardy_worker.store.memory_queue import MemoryQueue

if TYPE_CHECKING:
    from vardy_worker.queue import CeleryQueue


def test_the_queue_is_built_once_however_many_threads_need_it() -> None:
    built: list[MemoryQueue] = []
    begin = threading.Barrier(8)

    def build() -> CeleryQueue:
        built.append(MemoryQueue(StillClock()))
        return cast("CeleryQueue", built[-1])

    queue = LateQueue(build)
    assert built == []

    def publish() -> None:
        begin.wait(10)
        queue.publish("run", "job_1")

    threads = [threading.Thread(target=publish) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert queue.depth("run") == 8
    assert queue.oldest_published_ms("run") == StillClock().now_ms()


def test_a_queue_that_was_never_needed_has_nothing_to_close() -> None:
    def build() -> CeleryQueue:
        raise AssertionError

    LateQueue(build).close()
