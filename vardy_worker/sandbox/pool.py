"""The pool of child processes, as the worker sees it.

Children are started by one thread that lives as long as the pool: ahead of need, so that
a job finds one ready, and again when one was killed or has served long enough. (The kernel
ties a child's life to the thread that started it.) Nothing of wasmtime is loaded here.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from socket import socket, socketpair
from typing import Final

from vardy_worker.sandbox import protocol

_ENTRY: Final = str(Path(__file__).with_name("entry.py"))
_START_SECONDS_MAX: Final = 30.0
_BUILD_SECONDS_MAX: Final = 120.0
_RETRY_SECONDS: Final = 1.0
_RECEIVE_BYTES: Final = 65_536
_RSS_CHECK_PROGRAMS: Final = 16


class ChildLost(Exception):  # noqa: N818 - a loss, not an error of this module
    """The child's socket closed, or it said what no child says."""


class ChildSilent(Exception):  # noqa: N818 - the same
    """The child did not answer, or not read, in time."""


class PoolFailed(Exception):  # noqa: N818 - the same
    """No child can be started; the message says why."""


class PoolClosed(Exception):  # noqa: N818 - the same
    """The pool was closed."""


@dataclass(frozen=True, slots=True)
class Image:
    """The compiled engine in a nameless file, for every child to map."""

    descriptor: int
    layout: str


def _python(role: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", _ENTRY, role, "\n".join(_site_packages()), *arguments]


def _site_packages() -> list[str]:
    spec = find_spec("wasmtime")
    if spec is None or spec.origin is None:
        raise PoolFailed("The package wasmtime is not installed.")
    try:
        wasm = str(distribution("qjs-wasi-reactor.wasm").locate_file(""))
    except PackageNotFoundError as error:
        raise PoolFailed("The package qjs-wasi-reactor.wasm is not installed.") from error
    return list(dict.fromkeys([str(Path(spec.origin).parent.parent), wasm]))


def build_image() -> Image:
    """Compiles the engine in a process of its own. Raises `PoolFailed`."""
    descriptor = _nameless_file()
    try:
        done = subprocess.run(  # noqa: S603 - our own script, by our own interpreter
            _python("build", str(descriptor)),
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=[descriptor],
            timeout=_BUILD_SECONDS_MAX,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        os.close(descriptor)
        raise PoolFailed(error.stderr.decode(errors="replace")[-500:].strip()) from error
    except subprocess.TimeoutExpired as error:
        os.close(descriptor)
        raise PoolFailed(f"Compiling the engine took longer than {_BUILD_SECONDS_MAX:.0f} s.") from error
    except OSError as error:
        os.close(descriptor)
        raise PoolFailed(str(error)) from error
    _seal(descriptor)
    return Image(descriptor, done.stdout.decode().strip())


def _nameless_file() -> int:
    """A file that nobody else can reach, since no path leads to it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("vardy-sandbox", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _seal(descriptor: int) -> None:
    """Makes the file immutable (Linux): it is native code that children will run."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - absent on Windows

        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)


class Child:
    """One child process and our end of its socket. Used by one thread at a time."""

    def __init__(self, image: Image, data_bytes_max: int) -> None:
        ours, theirs = socketpair()
        with theirs:
            arguments = (theirs.fileno(), image.descriptor, os.getpid(), data_bytes_max)
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own script, by our own interpreter
                    _python("child", *map(str, arguments), image.layout),
                    env={},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    pass_fds=[theirs.fileno(), image.descriptor],
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise PoolFailed(f"A sandbox process cannot be started: {error}.") from error
        self._socket: socket = ours
        self._received = bytearray()
        self.programs = 0
        self.confined = False
        self.idle_since = 0.0

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait_ready(self, deadline: float) -> None:
        """Waits until the child can take a program. Raises `PoolFailed`."""
        try:
            kind, body = self.receive(deadline, protocol.FRAME_SLACK_BYTES)
        except (ChildLost, ChildSilent) as error:
            raise PoolFailed("A sandbox process ended, or hung, while it started.") from error
        if kind != protocol.READY:
            raise PoolFailed(f"A sandbox process cannot start: {body.decode(errors='replace')[:500]}")
        self.confined = body == protocol.CONFINED

    def send(self, kind: int, body: bytes, deadline: float) -> None:
        """Sends a frame. Raises `ChildSilent` and `ChildLost`."""
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            self._socket.sendall(protocol.FRAME.pack(len(body) + 1, kind) + body)
        except TimeoutError as error:
            raise ChildSilent from error
        except OSError as error:
            raise ChildLost from error

    def receive(self, deadline: float, bytes_max: int) -> tuple[int, bytes]:
        """The next frame: kind and body. Raises `ChildSilent` and `ChildLost`."""
        header = self._take(protocol.FRAME.size, deadline)
        length, kind = protocol.FRAME.unpack(header)
        if not 1 <= length <= bytes_max:
            raise ChildLost
        return kind, self._take(length - 1, deadline)

    def _take(self, count: int, deadline: float) -> bytes:
        while len(self._received) < count:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self._socket.recv(max(_RECEIVE_BYTES, count - len(self._received)))
            except TimeoutError as error:
                raise ChildSilent from error
            except OSError as error:
                raise ChildLost from error
            if not data:
                raise ChildLost
            self._received += data
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def rss_bytes(self) -> int:
        """Resident memory; 0 where the system does not tell."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        except (OSError, IndexError, ValueError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Ends the process at once, without waiting for it. Whoever waits for a frame gets `ChildLost`."""
        self._process.kill()

    def close(self) -> None:
        """Closes our end of the socket. Only for the thread that uses the child, or when none does."""
        self._socket.close()

    def reap(self) -> None:
        """Waits for the killed process, so that no zombie stays."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)


@dataclass(frozen=True, slots=True)
class PoolSize:
    """How many children, and for how long."""

    warm: int
    """Kept ready, idle."""
    most: int
    """At the same time, at the most."""
    programs_max: int = 500
    """A child is replaced after so many programs,"""
    rss_bytes_max: int = 96 * 1024 * 1024
    """or when its resident memory between programs is larger."""
    idle_seconds_max: float = 30
    """Children beyond `warm` end after so long without a program."""


class ChildPool:
    """Children, ready ahead of need. Safe for any number of threads."""

    def __init__(self, size: PoolSize, data_bytes_max: int, image: Image | None = None) -> None:
        self._size = size
        self._data_bytes_max = data_bytes_max
        lock = threading.Lock()
        self._free = threading.Condition(lock)
        """For those who wait for a child."""
        self._work = threading.Condition(lock)
        """For the keeper."""
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._dead: list[Child] = []
        self._waiting = 0
        self._failure = ""
        self._confined: bool | None = None
        self._closed = False
        self._image = image
        self._keeper = threading.Thread(target=self._keep, name="sandbox-keeper", daemon=True)
        self._keeper.start()

    def acquire(self, timeout_seconds: float) -> Child | None:
        """A ready child for the caller alone; None when none came free in time.

        Raises `PoolFailed` when children cannot be started, and `PoolClosed`.
        """
        deadline = time.monotonic() + timeout_seconds
        with self._work:
            self._waiting += 1
            try:
                while not self._idle:
                    if self._closed:
                        raise PoolClosed
                    if self._failure and not self._all:
                        raise PoolFailed(self._failure)
                    self._work.notify()
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return None
                    self._free.wait(left)
                child = self._idle.pop()
                if len(self._idle) < self._size.warm:
                    self._work.notify()
            finally:
                self._waiting -= 1
        if child.ended():
            # The system killed it while it was idle.
            self.discard(child)
            return self.acquire(deadline - time.monotonic())
        return child

    def release(self, child: Child) -> None:
        """Gives back a child that ended its program well."""
        child.programs += 1
        worn = child.programs >= self._size.programs_max or (
            child.programs % _RSS_CHECK_PROGRAMS == 0 and child.rss_bytes() > self._size.rss_bytes_max
        )
        if worn:
            self.discard(child)
            return
        with self._work:
            if not self._closed:
                child.idle_since = time.monotonic()
                self._idle.append(child)
                self._free.notify()
                return
        self.discard(child)

    def discard(self, child: Child) -> None:
        """Kills a child that the caller holds; another takes its place."""
        child.kill()
        child.close()
        with self._work:
            self._all.discard(child)
            self._dead.append(child)
            self._work.notify()

    def confined(self) -> bool | None:
        """Whether every child so far had the system-call filter in place; None before the first is ready."""
        with self._work:
            return self._confined

    def pids(self) -> list[int]:
        """The processes alive now."""
        with self._work:
            return sorted(child.pid for child in self._all)

    def wait_warm(self, timeout_seconds: float) -> bool:
        """Whether the warm children are ready, waiting for them as long as said."""
        with self._work:
            return (
                self._free.wait_for(
                    lambda: len(self._idle) >= min(self._size.warm, self._size.most) or bool(self._failure),
                    timeout_seconds,
                )
                and not self._failure
            )

    def close(self) -> None:
        """Ends every child, those that run a program too."""
        with self._work:
            self._closed = True
            children, idle = list(self._all), list(self._idle)
            self._idle.clear()
            self._free.notify_all()
            self._work.notify()
        for child in children:
            child.kill()
        for child in idle:
            child.close()
        self._keeper.join(timeout=_START_SECONDS_MAX)

    def _keep(self) -> None:
        try:
            image = self._image or build_image()
        except PoolFailed as error:
            with self._work:
                self._failure = f"The sandbox cannot start. {error}"
                self._free.notify_all()
            return
        while self._keep_once(image):
            pass
        if self._image is None:
            os.close(image.descriptor)
        with self._work:
            children, late = [*self._all, *self._dead], list(self._idle)
            self._all.clear()
            self._idle.clear()
        for child in children:
            child.kill()
            child.reap()
        for child in late:
            child.close()

    def _keep_once(self, image: Image) -> bool:
        """Waits for something to do and does it; False when the pool is closed."""
        with self._work:
            while not (self._closed or self._dead or self._missing() or self._surplus()):
                self._work.wait(self._size.idle_seconds_max if len(self._all) > self._size.warm else None)
            if self._closed:
                return False
            dead, self._dead = self._dead, []
            surplus = self._surplus()
            for child in surplus:
                self._idle.remove(child)
                self._all.discard(child)
            missing = self._missing()
        self._start(image, missing)
        for child in surplus:
            child.kill()
            child.close()
        for child in (*dead, *surplus):
            child.reap()
        return True

    def _missing(self) -> int:
        wanted = max(self._size.warm, self._waiting) - len(self._idle)
        return max(0, min(wanted, self._size.most - len(self._all)))

    def _surplus(self) -> list[Child]:
        over = len(self._idle) - self._size.warm
        before = time.monotonic() - self._size.idle_seconds_max
        # The last in are the first out, so the longest idle stand in front.
        return [child for child in self._idle[: max(0, over)] if child.idle_since < before]

    def _start(self, image: Image, count: int) -> None:
        deadline = time.monotonic() + _START_SECONDS_MAX
        starting: list[Child] = []
        try:
            for _ in range(count):
                starting.append(Child(image, self._data_bytes_max))  # noqa: PERF401 - keeps those before a failure
            with self._work:
                self._all.update(starting)
            while starting:
                child = starting[0]
                child.wait_ready(deadline)
                with self._work:
                    self._failure = ""
                    self._confined = child.confined and self._confined is not False
                    child.idle_since = time.monotonic()
                    self._idle.append(starting.pop(0))
                    self._free.notify_all()
        except PoolFailed as error:
            with self._work:
                self._all.difference_update(starting)
                self._failure = str(error)
                self._free.notify_all()
                self._work.wait_for(lambda: self._closed, _RETRY_SECONDS)
            for child in starting:
                child.kill()
                child.close()
                child.reap()
