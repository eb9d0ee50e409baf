"""Fuzzing for a set time: rounds of generated inputs, each from a seed that a failure names.

`VARDY_FUZZ_SECONDS` is the time of all fuzz tests together, `VARDY_FUZZ_SEED` the first seed.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

TESTS: Final = 3
"""How many tests share the time."""
SECONDS: Final = float(os.environ.get("VARDY_FUZZ_SECONDS", "60"))
FIRST_SEED: Final = int(os.environ.get("VARDY_FUZZ_SEED", "0"))
TIMEOUT_SECONDS: Final = SECONDS / TESTS + 60
"""For `pytest.mark.timeout`: the last round may end late."""
ROUND: Final = settings(
    max_examples=25,
    deadline=None,
    database=None,
    # A found input is told as it was found: making a hang smaller means to wait for it again and again.
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def fuzz(act: Callable[..., None], **inputs: SearchStrategy[Any]) -> int:
    """Calls `act` with generated inputs for this test's share of the time; how often it did.

    Whatever `act` raises is raised, with the inputs and the seed of its round in its notes.
    """
    times = 0

    def counted(**drawn: Any) -> None:
        nonlocal times
        times += 1
        act(**drawn)

    until = time.monotonic() + SECONDS / TESTS
    number = FIRST_SEED
    while not times or time.monotonic() < until:
        try:
            seed(number)(ROUND(given(**inputs)(counted)))()
        except BaseException as error:
            error.add_note(f"Found by seed {number}: repeat with VARDY_FUZZ_SEED={number} VARDY_FUZZ_SECONDS=0.")
            raise
        number += 1
    return times


def within(seconds: float, act: Callable[[], T]) -> T:
    """What `act` returns, or raises. Raises `AssertionError` when it is not done in time, and leaves it behind."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(act())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        msg = f"not done after {seconds} s"
        raise AssertionError(msg)
    if errors:
        raise errors[0]
    return results[0]
