"""When children are replaced, ended and limited, whatever programs they ran."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.execution import LimitHit, SandboxRun
from vardy_worker.contracts.limits import MIB, Limits
from vardy_worker.sandbox.pool import Child, ChildPool, Image, PoolSize

DATA_BYTES_MAX = 192 * MIB
PROGRAMS_BETWEEN_LOOKS = 16

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def acquired(pool: ChildPool) -> Child:
    child = pool.acquire(60)
    assert child is not None
    return child


@linux_only
@pytest.mark.parametrize(("rss_bytes_max", "children"), [(MIB, 2), (1024 * MIB, 1)])
def test_a_child_that_holds_too_much_memory_between_programs_is_replaced(
    image: Image, rss_bytes_max: int, children: int
) -> None:
    pool = ChildPool(PoolSize(warm=1, most=1, rss_bytes_max=rss_bytes_max), DATA_BYTES_MAX, image)
    pids = set()
    for _ in range(PROGRAMS_BETWEEN_LOOKS + 1):
        child = acquired(pool)
        pids.add(child.pid)
        pool.release(child)
    pool.close()
    assert len(pids) == children


def test_a_child_that_ended_while_it_was_idle_is_given_to_nobody(image: Image) -> None:
    pool = ChildPool(PoolSize(warm=1, most=1), DATA_BYTES_MAX, image)
    first = acquired(pool)
    pool.release(first)
    os.kill(first.pid, signal.SIGKILL)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    second = acquired(pool)
    alive = not second.ended()
    pool.release(second)
    pool.close()
    assert alive
    assert second.pid != first.pid


def test_children_beyond_the_warm_ones_end_when_nothing_is_left_to_do(image: Image) -> None:
    pool = ChildPool(PoolSize(warm=1, most=3, idle_seconds_max=0.1), DATA_BYTES_MAX, image)
    held = [acquired(pool) for _ in range(3)]
    assert len(pool.pids()) == 3
    for child in held:
        pool.release(child)
    pause = threading.Event()
    for _ in range(500):
        if len(pool.pids()) == 1:
            break
        pause.wait(0.01)
    kept = pool.pids()
    pool.close()
    assert len(kept) == 1


@linux_only
def test_nobody_can_change_the_engine_that_children_load(image: Image) -> None:
    with pytest.raises(PermissionError):
        os.pwrite(image.descriptor, b"\0", 0)
    with pytest.raises(PermissionError):
        os.ftruncate(image.descriptor, 0)


@linux_only
def test_what_a_child_may_write_to_is_capped_by_the_kernel(image: Image) -> None:
    pool = ChildPool(PoolSize(warm=1, most=1), DATA_BYTES_MAX, image)
    child = acquired(pool)
    limits = Path(f"/proc/{child.pid}/limits").read_text(encoding="ascii")
    pool.discard(child)
    pool.close()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max data size")]
    assert line.removeprefix("Max data size").split()[:2] == [str(DATA_BYTES_MAX)] * 2


def test_no_run_gets_more_memory_than_its_sandbox_was_made_for(image: Image) -> None:
    sandbox = ChildSandbox(warm=1, children_max=1, guest_memory_mib_max=8, image=image)
    source = "async function run() { return new Uint8Array(2 ** 24).length; }"
    run = SandboxRun(source=source, functions=(), now_ms=0, seed="", limits=Limits(guest_memory_mib_max=64))
    outcome = sandbox.run(run, lambda _: [])
    sandbox.close()
    assert isinstance(outcome, LimitHit)
    assert (outcome.code, outcome.limit_value) == ("execution.memory", 8)
