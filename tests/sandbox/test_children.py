"""Child processes: what they hold, how they end, and who takes their place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.execution import CallReply, CallValue, GuestCall, LimitHit, Returned, SandboxRun
from vardy_worker.contracts.limits import Limits
from vardy_worker.sandbox import pool, protocol

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def own_sandbox(image: pool.Image) -> Iterator[ChildSandbox]:
    sandbox = ChildSandbox(warm=1, children_max=2, image=image)
    assert sandbox.wait_warm(60)
    yield sandbox
    sandbox.close()


def job(body: str, **limits: float) -> SandboxRun:
    return SandboxRun(
        source=f"async function run(params) {{ {body} }}",
        functions=("f",),
        now_ms=0,
        seed="",
        limits=Limits.model_validate(limits),
    )


def run(sandbox: ChildSandbox, body: str, **limits: float) -> object:
    outcome = sandbox.run(job(body, **limits), lambda _: [])
    return outcome.output if isinstance(outcome, Returned) else outcome


def wait_until(holds: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline
        pause.wait(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@linux_only
def test_a_child_has_an_empty_environment_and_no_descriptor_but_its_socket_and_image(own_sandbox: ChildSandbox) -> None:
    with Path(__file__).open(encoding="utf-8"):
        (pid,) = own_sandbox.child_pids()
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        targets = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    others = [target for target in targets if target != "/dev/null"]
    assert sorted(target.split(":")[0] for target in others) == ["/memfd", "socket"]


@linux_only
def test_a_child_is_confined_before_it_meets_a_program(own_sandbox: ChildSandbox) -> None:
    (pid,) = own_sandbox.child_pids()
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
    for name in ("Max open files", "Max core file size", "Max file size", "Max processes"):
        line = next(line for line in limits.splitlines() if line.startswith(name))
        assert line.removeprefix(name).split()[:2] == ["0", "0"]
    assert own_sandbox.confined() is True


@pytest.mark.parametrize(("ready", "confined"), [("CONFINED", True), ("b''", False)])
def test_a_sandbox_says_whether_its_children_are_confined_once_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: pool.Image, ready: str, confined: bool
) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    script = tmp_path / "child.py"
    body = repr(protocol.CONFINED) if ready == "CONFINED" else ready
    script.write_text(
        "import socket, sys\n"
        "connection = socket.socket(fileno=int(sys.argv[3]))\n"
        f"open({str(go)!r}).read()\n"
        f"body = {body}\n"
        f"connection.sendall((len(body) + 1).to_bytes(4, 'big') + bytes([{protocol.READY}]) + body)\n"
        "connection.recv(1)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(pool, "_ENTRY", str(script))
    sandbox = ChildSandbox(warm=1, children_max=1, image=image)
    assert sandbox.confined() is None
    go.write_text("", encoding="utf-8")
    assert sandbox.wait_warm(20)
    assert sandbox.confined() is confined
    sandbox.close()


def test_a_child_that_was_killed_while_idle_costs_the_next_job_next_to_nothing(image: pool.Image) -> None:
    sandbox = ChildSandbox(warm=2, children_max=3, image=image)
    assert sandbox.wait_warm(60)
    assert run(sandbox, "return 1;") == 1
    victim = sandbox.child_pids()[0]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: not alive(victim))
    for n in range(3):
        began = time.monotonic()
        assert run(sandbox, f"return {n};") == n
        assert time.monotonic() - began < 0.1
    sandbox.close()


def test_a_child_that_is_killed_for_its_program_costs_the_next_job_next_to_nothing(image: pool.Image) -> None:
    sandbox = ChildSandbox(warm=2, children_max=3, image=image)
    assert sandbox.wait_warm(60)
    os.kill(sandbox.child_pids()[0], signal.SIGSTOP)
    ends = [run(sandbox, "return 5;", execute_seconds_max=0.2) for _ in range(2)]
    began = time.monotonic()
    assert run(sandbox, "return 6;") == 6
    assert time.monotonic() - began < 0.1
    sandbox.close()
    assert 5 in ends


def test_a_child_that_is_killed_while_it_runs_ends_that_run_as_lost(own_sandbox: ChildSandbox) -> None:
    (pid,) = own_sandbox.child_pids()

    def kill_then_answer(_: Sequence[GuestCall]) -> Sequence[CallReply]:
        os.kill(pid, signal.SIGKILL)
        return [CallValue(value=None)]

    outcome = own_sandbox.run(job("await f({});"), kill_then_answer)
    assert isinstance(outcome, LimitHit)
    assert outcome.code == "execution.sandbox_lost"
    assert run(own_sandbox, "return 3;") == 3


@linux_only
def test_a_stopped_child_is_killed_soon_after_the_deadline(own_sandbox: ChildSandbox) -> None:
    (pid,) = own_sandbox.child_pids()
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    outcome = run(own_sandbox, "return 1;", execute_seconds_max=0.5)
    assert time.monotonic() - began < 0.5 + 0.25
    assert isinstance(outcome, LimitHit)
    assert outcome.code == "execution.timeout"
    wait_until(lambda: not alive(pid))
    assert run(own_sandbox, "return 4;") == 4


@linux_only
def test_close_leaves_no_process_even_while_programs_run(image: pool.Image) -> None:
    sandbox = ChildSandbox(warm=2, children_max=2, image=image)
    assert sandbox.wait_warm(60)
    pids = sandbox.child_pids()
    ends: list[object] = []
    thread = threading.Thread(target=lambda: ends.append(run(sandbox, "for (;;);", execute_seconds_max=20)))
    thread.start()
    wait_until(lambda: len(sandbox.child_pids()) == 2)
    sandbox.close()
    thread.join(10)
    assert len(ends) == 1
    assert isinstance(ends[0], LimitHit)
    assert ends[0].code == "execution.sandbox_lost"
    assert not [pid for pid in pids if alive(pid)]
    assert sandbox.child_pids() == []


WORKER = """
import sys, threading
from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.execution import SandboxRun
from vardy_worker.contracts.limits import Limits
sandbox = ChildSandbox(warm=2, children_max=2)
assert sandbox.wait_warm(60)
source = 'async function run() { console.log(1); for (;;); }'
busy = SandboxRun(source=source, functions=(), now_ms=0, seed='', limits=Limits(guest_cpu_seconds_max=30))
threading.Thread(target=sandbox.run, args=(busy, lambda calls: [])).start()
print(*sandbox.child_pids(), flush=True)
threading.Event().wait()
"""


def kill(worker: int, _: list[int]) -> None:
    os.kill(worker, signal.SIGKILL)


def kill_its_group(worker: int, _: list[int]) -> None:
    os.killpg(worker, signal.SIGKILL)


def kill_it_while_it_is_stopped(worker: int, _: list[int]) -> None:
    os.kill(worker, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)


def kill_it_while_its_children_are_stopped(worker: int, children: list[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)


@linux_only
@pytest.mark.parametrize(
    "end", [kill, kill_its_group, kill_it_while_it_is_stopped, kill_it_while_its_children_are_stopped]
)
def test_a_killed_worker_leaves_no_child(end: Callable[[int, list[int]], None]) -> None:
    command = [sys.executable, "-c", WORKER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as worker:
        assert worker.stdout is not None
        pids = [int(pid) for pid in worker.stdout.readline().split()]
        assert len(pids) == 2
        assert all(alive(pid) for pid in pids)
        end(worker.pid, pids)
        worker.wait(10)
    # Long before the deadline of the program that one of them runs.
    wait_until(lambda: not any(alive(pid) for pid in pids), seconds=5)


@linux_only
def test_an_idle_child_never_wakes(own_sandbox: ChildSandbox) -> None:
    (pid,) = own_sandbox.child_pids()

    def wakes() -> list[str]:
        lines = [
            line
            for task in sorted(Path(f"/proc/{pid}/task").iterdir())
            for line in (task / "status").read_text(encoding="ascii").splitlines()
        ]
        return [line for line in lines if "ctxt_switches" in line]

    pause = threading.Event()
    pause.wait(0.2)
    before = wakes()
    pause.wait(0.5)
    assert wakes() == before


def test_children_beyond_the_warm_ones_end_when_nobody_needs_them(image: pool.Image) -> None:
    children = pool.ChildPool(
        pool.PoolSize(warm=1, most=3, idle_seconds_max=0.2), data_bytes_max=256 * 1024 * 1024, image=image
    )
    held = [children.acquire(60) for _ in range(3)]
    for child in held:
        assert child is not None
        children.release(child)
    assert len(children.pids()) == 3
    wait_until(lambda: len(children.pids()) == 1)
    children.close()


@linux_only
def test_a_child_that_keeps_too_much_memory_is_replaced(image: pool.Image) -> None:
    children = pool.ChildPool(
        pool.PoolSize(warm=1, most=1, rss_bytes_max=1), data_bytes_max=256 * 1024 * 1024, image=image
    )
    served: list[int] = []
    for _ in range(20):
        child = children.acquire(60)
        assert child is not None
        served.append(child.pid)
        children.release(child)
    children.close()
    assert len(set(served)) == 2


def test_many_threads_share_the_children_and_none_sees_anothers_answer(image: pool.Image) -> None:
    sandbox = ChildSandbox(warm=2, children_max=4, image=image)
    found: dict[int, list[object]] = {}

    def work(n: int) -> None:
        found[n] = [run(sandbox, f"let x = {n}; for (let i = 0; i < 1e4; i++) x += 1; return x;") for _ in range(10)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    most = len(sandbox.child_pids())
    sandbox.close()
    assert found == {n: [n + 10_000] * 10 for n in range(12)}
    assert most <= 4


def test_a_large_reply_that_comes_when_time_is_up_leaves_the_child_in_step(image: pool.Image) -> None:
    children = pool.ChildPool(pool.PoolSize(warm=1, most=1), 256 * 1024 * 1024, image)
    child = children.acquire(60)
    assert child is not None

    def start(seconds: float) -> None:
        header = protocol.START_HEADER.pack(seconds, 5, 64 * 1024 * 1024, 0)
        given = {"source": "async function run() { await f({}); }", "functions": ["f"], "params": {}, "bigs": []}
        limits = {"seed": "", "judge": [], "calls": 9, "args": 1000, "output": 1000, "console": 0}
        child.send(protocol.START, header + json.dumps({**given, **limits}).encode(), time.monotonic() + 5)
        assert child.receive(time.monotonic() + 5, 1000)[0] == protocol.CALLS

    reply = json.dumps({"bigs": [], "replies": [[0, "x" * 200_000]]}).encode()
    start(0.05)
    threading.Event().wait(0.2)
    child.send(protocol.REPLIES, reply, time.monotonic() + 5)
    kind, body = child.receive(time.monotonic() + 5, 1000)
    assert (kind, body[-len(protocol.TIMEOUT) :]) == (protocol.LIMIT, protocol.TIMEOUT)
    start(5)
    child.send(protocol.REPLIES, reply, time.monotonic() + 5)
    assert child.receive(time.monotonic() + 5, 1000)[0] == protocol.END
    children.release(child)
    children.close()


def test_a_worn_child_is_replaced(image: pool.Image) -> None:
    sandbox = ChildSandbox(warm=1, children_max=1, programs_per_child_max=3, image=image)
    assert sandbox.wait_warm(60)
    first = sandbox.child_pids()
    assert [run(sandbox, "return 1;") for _ in range(7)] == [1] * 7
    assert sandbox.child_pids() != first
    sandbox.close()


def test_a_run_that_gets_no_child_in_time_says_so(image: pool.Image) -> None:
    sandbox = ChildSandbox(warm=1, children_max=1, wait_seconds_max=0.05, image=image)
    assert sandbox.wait_warm(60)
    entered, leave = threading.Event(), threading.Event()

    def hold(_: Sequence[GuestCall]) -> Sequence[CallReply]:
        entered.set()
        leave.wait(20)
        return [CallValue(value=None)]

    thread = threading.Thread(target=sandbox.run, args=(job("await f({});"), hold))
    thread.start()
    assert entered.wait(20)
    outcome = run(sandbox, "return 1;")
    leave.set()
    thread.join(20)
    sandbox.close()
    assert isinstance(outcome, LimitHit)
    assert outcome.code == "execution.sandbox_lost"


@pytest.fixture
def starved() -> Iterator[None]:
    """Every core is kept busy by other processes, two for each."""
    spin = "import sys\nprint('on', flush=True)\nwhile True: pass"
    hogs = [
        subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        for hog in hogs:
            assert hog.stdout is not None
            assert hog.stdout.readline() == b"on\n"
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.communicate()


@pytest.mark.usefixtures("starved")
def test_the_first_job_of_a_fresh_pool_has_its_whole_deadline_on_a_starved_machine() -> None:
    sandbox = ChildSandbox(warm=1, children_max=1, wait_seconds_max=120)
    # Compiling the engine and starting the child take longer than this deadline, and do not count against it.
    assert run(sandbox, "return 1;", execute_seconds_max=0.5) == 1
    sandbox.close()


@pytest.mark.usefixtures("starved")
def test_an_endless_first_job_ends_by_its_deadline_on_a_starved_machine(image: pool.Image) -> None:
    sandbox = ChildSandbox(warm=1, children_max=1, image=image)
    assert sandbox.wait_warm(60)
    began = time.monotonic()
    outcome = run(sandbox, "for (;;);", execute_seconds_max=1)
    seconds = time.monotonic() - began
    sandbox.close()
    assert isinstance(outcome, LimitHit)
    assert outcome.code == "execution.timeout"
    # The margin is measured against an idle machine; here the scheduler may take its share.
    assert 0.9 < seconds < 1 + 0.25 + 0.5


def test_the_first_run_meets_its_deadline_though_nothing_is_warm_yet() -> None:
    sandbox = ChildSandbox(warm=1, children_max=1)
    assert run(sandbox, "return 1;", execute_seconds_max=0.5) == 1
    sandbox.close()


def test_a_machine_without_the_engine_is_a_setting_to_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_packages() -> list[str]:
        raise pool.PoolFailed("The package wasmtime is not installed.")

    monkeypatch.setattr(pool, "_site_packages", no_packages)
    sandbox = ChildSandbox(warm=1, children_max=1)
    with pytest.raises(SettingsError, match="wasmtime is not installed"):
        sandbox.run(job("return 1;"), lambda _: [])
    sandbox.close()


@linux_only
def test_an_idle_child_is_small_and_a_thousand_programs_do_not_make_it_grow(own_sandbox: ChildSandbox) -> None:
    def rss() -> int:
        return max(
            int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for pid in own_sandbox.child_pids()
        )

    for _ in range(50):
        run(own_sandbox, "return 'x'.repeat(1000).split('').length;")
    early = rss()
    for _ in range(400):
        run(own_sandbox, "return 'x'.repeat(1000).split('').length;")
    assert early < 48 * 1024 * 1024
    assert rss() < early * 1.1
