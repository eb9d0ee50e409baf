import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from vardy_worker.tasks import drain_if_exhausted


@dataclass
class Worker:
    """As much of a worker process as the question needs."""

    exhausted: bool
    name: str = "w1"


@pytest.fixture
def stopped() -> Iterator[threading.Event]:
    """Set when this process is asked to end."""
    event = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: event.set())
    yield event
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("exhausted", [True, False])
def test_a_worker_ends_by_itself_only_when_its_functions_hang(stopped: threading.Event, exhausted: bool) -> None:
    drain_if_exhausted(Worker(exhausted))  # type: ignore[arg-type] # as much of one as is asked
    assert stopped.wait(2 if exhausted else 0.05) is exhausted
