"""The child process: runs one program at a time, for a parent at the other end of its socket.

It starts with an empty environment and two descriptors, the socket and the image, and
ends when the socket closes. It parses nothing that a guest wrote.
"""

from __future__ import annotations

import gc
import os
import socket
import threading
from typing import TYPE_CHECKING, Final

from vardy_worker.sandbox import lockdown, protocol, seccomp
from vardy_worker.sandbox.engine import Guest, GuestFailure, GuestTrap, Image, Layout
from vardy_worker.sandbox.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Callable

_LOST_REJECTIONS_MAX: Final = 5
_WARM_UP_BYTES: Final = 64 * 1024 * 1024
_THREAD_STACK_BYTES: Final = 16 * 1024 * 1024


class Closed(Exception):  # noqa: N818 - the parent closed the socket, as it may
    """The parent is gone."""


class Channel:
    """Frames over the socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._header = bytearray(protocol.FRAME.size)

    def send(self, kind: int, *parts: bytes) -> None:
        """Sends a frame whose body is the parts."""
        body = b"".join(parts)
        self._connection.sendall(protocol.FRAME.pack(len(body) + 1, kind) + body)

    def header(self) -> tuple[int, int]:
        """The kind of the next frame, and the bytes of its body."""
        self.read_into(memoryview(self._header))
        length, kind = protocol.FRAME.unpack(self._header)
        return kind, length - 1

    def read_into(self, view: memoryview) -> None:
        """Fills the view."""
        while view:
            got = self._connection.recv_into(view)
            if got == 0:
                raise Closed
            view = view[got:]

    def read(self, count: int) -> bytes:
        """The next bytes."""
        data = bytearray(count)
        self.read_into(memoryview(data))
        return bytes(data)

    def skip(self, count: int) -> None:
        """Drops bytes."""
        while count > 0:
            step = min(count, 65_536)
            self.read(step)
            count -= step


class Runner:
    """Runs programs, one after the other."""

    def __init__(self, channel: Channel, image: Image) -> None:
        self._channel = channel
        self._image = image
        self._watchdog = Watchdog(image.engine.increment_epoch)

    def serve(self, lock_down: Callable[[], bytes]) -> None:
        """Answers the parent until it closes the socket. Locks down when all threads run."""
        threading.Thread(target=self._watchdog.run, name="watchdog", daemon=True).start()
        self._image.guest(_WARM_UP_BYTES)
        gc.collect()
        gc.freeze()
        self._channel.send(protocol.READY, lock_down())
        try:
            while True:
                kind, length = self._channel.header()
                if kind == protocol.START:
                    self._run(length)
                else:
                    self._channel.skip(length)
        except (Closed, ConnectionError):
            return

    def _run(self, length: int) -> None:
        header = self._channel.read(protocol.START_HEADER.size)
        wall, cpu, memory, self._image.now_ms = protocol.START_HEADER.unpack(header)
        guest = self._image.guest(memory)
        self._watchdog.begin(wall, cpu)
        try:
            fits = self._hand_over(guest, length - protocol.START_HEADER.size, guest.start)
            while fits:
                guest.report_lost_rejections(_LOST_REJECTIONS_MAX)
                said = guest.collect()
                if said[:1] != b"C":
                    self._finish(guest, said)
                    return
                self._channel.send(protocol.CALLS, said[1:])
                kind, length = self._channel.header()
                if kind != protocol.REPLIES:
                    self._channel.skip(length)
                    self._limit(guest, protocol.ABANDONED)
                    return
                fits = self._hand_over(guest, length, guest.resume)
            self._limit(guest, protocol.MEMORY)
        except GuestTrap as trap:
            self._limit(guest, self._watchdog.reason() or _trap_reason(guest, trap))
        except GuestFailure as failure:
            self._limit(guest, _failure_reason(guest, failure))

    def _hand_over(self, guest: Guest, length: int, go: Callable[[int, int], None]) -> bool:
        """Reads a message straight into the guest's memory; False when it does not fit."""
        try:
            at = guest.place(length)
            view = None if at is None else memoryview(guest.view(at, length)).cast("B")
        except GuestTrap:
            # Its time was up before the message came. The next frame begins behind it all the same.
            self._channel.skip(length)
            raise
        if at is None or view is None:
            self._channel.skip(length)
            return False
        self._channel.read_into(view)
        go(at, length)
        return True

    def _finish(self, guest: Guest, said: bytes) -> None:
        if said[:1] == b"N" and guest.memory_is_full():
            self._limit(guest, protocol.MEMORY)
            return
        console, cut = guest.console()
        header = protocol.END_HEADER.pack(self._watchdog.end(), cut, len(console))
        self._channel.send(protocol.END, header, console, said[1:])

    def _limit(self, guest: Guest, reason: bytes) -> None:
        console, cut = guest.console()
        header = protocol.END_HEADER.pack(self._watchdog.end(), cut, len(console))
        self._channel.send(protocol.LIMIT, header, console, reason)


def _trap_reason(guest: Guest, trap: GuestTrap) -> bytes:
    if guest.stack_overflowed(trap):
        return protocol.STACK
    return protocol.MEMORY if guest.memory_is_full() else protocol.BROKEN


def _failure_reason(guest: Guest, failure: GuestFailure) -> bytes:
    if "stack" in failure.message:
        return protocol.STACK
    if "out of memory" in failure.message or guest.memory_is_full():
        return protocol.MEMORY
    return protocol.BROKEN


def main(socket_fd: int, image_fd: int, parent: int, data_bytes_max: int, layout: str) -> None:
    """Runs the child. Exits the process."""
    channel = Channel(socket.socket(fileno=socket_fd))
    try:
        lockdown.die_with_parent(parent)
        lockdown.give_up_privileges()
        image = Image(f"/dev/fd/{image_fd}", Layout.from_json(layout))
        os.close(image_fd)
        runner = Runner(channel, image)
        # The guest's stack is a thread's of known size, whatever the system gives the main thread.
        threading.stack_size(_THREAD_STACK_BYTES)
        thread = threading.Thread(target=_serve_and_exit, args=(runner, data_bytes_max), name="runner", daemon=True)
        thread.start()
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent must hear of it
        channel.send(protocol.FAILED, f"{type(error).__name__}: {error}".encode())
        return
    thread.join()


def _serve_and_exit(runner: Runner, data_bytes_max: int) -> None:
    status = 1
    try:
        runner.serve(lambda: _lock_down(data_bytes_max))
        status = 0
    finally:
        # Nothing is worth tearing down, and the watchdog would hold the interpreter.
        os._exit(status)


def _lock_down(data_bytes_max: int) -> bytes:
    lockdown.limit_resources(data_bytes_max)
    return protocol.CONFINED if seccomp.confine() else b""
