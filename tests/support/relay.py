"""A TCP relay in front of a server, with which tests break connections."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

CHUNK_BYTES = 1 << 16


@dataclass(eq=False)
class _Pair:
    client: socket.socket
    server: socket.socket
    frozen: threading.Event = field(default_factory=threading.Event)
    deaf: threading.Event = field(default_factory=threading.Event)
    """The client gets no reply; what it sends still arrives."""
    doomed: threading.Event = field(default_factory=threading.Event)
    maimed: threading.Event = field(default_factory=threading.Event)

    def cut(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Relay:
    """Passes bytes both ways between clients of `port` and a server on loopback."""

    def __init__(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._pairs: list[_Pair] = []
        self._threads: list[threading.Thread] = []
        self._marked: dict[bytes, str] = {}
        self._new_are = ""
        self._delay_seconds = 0.0
        self._reply_bytes_left: int | None = None
        self._closing = threading.Event()
        self.port: int = 0
        self._listen()

    @property
    def connections(self) -> int:
        """How many there have been."""
        return len(self._pairs)

    def freeze(self) -> None:
        """Swallows everything on the connections there are; new ones work."""
        for pair in self._pairs:
            pair.frozen.set()

    def swallow(self) -> None:
        """Swallows everything, on new connections too: nobody gets an answer, and nobody an end."""
        self._new_are = "frozen"
        self.freeze()

    def swallow_replies(self) -> None:
        """The same for replies alone: every request still arrives and is carried out."""
        self._new_are = "deaf"
        for pair in self._pairs:
            pair.deaf.set()

    def slow_down(self, seconds: float) -> None:
        """Every reply takes this much longer."""
        self._delay_seconds = seconds

    def refuse(self) -> None:
        """Cuts every connection and refuses new ones, as a host does where no server runs."""
        self._stop_listening()
        for pair in self._pairs:
            pair.cut()

    def restore(self) -> None:
        """New connections work again. Frozen ones stay as they are: nothing tells their ends."""
        self._new_are = ""
        self._delay_seconds = 0.0
        if self._listener.fileno() < 0:
            self._listen()

    def cut_instead_of_answering(self, marker: bytes) -> None:
        """The next request that contains the marker reaches the server; its connection breaks before the reply."""
        self._marked[marker] = "doomed"

    def cut_while_answering(self, marker: bytes) -> None:
        """The same, but the first byte of the reply still arrives."""
        self._marked[marker] = "maimed"

    def cut_after(self, count: int) -> None:
        """Passes this many bytes of replies, of all connections together; then breaks the connection, once."""
        self._reply_bytes_left = count

    def swallow_answer_to(self, marker: bytes) -> None:
        """The same, but the connection stays, and no more replies come over it."""
        self._marked[marker] = "deaf"

    def has_met(self, marker: bytes) -> bool:
        """Whether a request with the marker has come by."""
        return marker not in self._marked

    def close(self) -> None:
        """Cuts every connection and waits for the threads."""
        self._closing.set()
        self._stop_listening()
        for pair in self._pairs:
            pair.cut()
        for thread in self._threads:
            thread.join()
        for pair in self._pairs:
            pair.client.close()
            pair.server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._accepting = self._start(self._accept, self._listener)

    def _stop_listening(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            pair = _Pair(client, server)
            if self._new_are:
                getattr(pair, self._new_are).set()
            self._pairs.append(pair)
            self._start(self._requests, pair)
            self._start(self._replies, pair)

    def _requests(self, pair: _Pair) -> None:
        with contextlib.suppress(OSError):
            while data := pair.client.recv(CHUNK_BYTES):
                for marker in [marker for marker in self._marked if marker in data]:
                    getattr(pair, self._marked.pop(marker)).set()
                if not pair.frozen.is_set():
                    pair.server.sendall(data)
        pair.cut()

    def _replies(self, pair: _Pair) -> None:
        with contextlib.suppress(OSError):
            while data := pair.server.recv(CHUNK_BYTES):
                if self._delay_seconds:
                    self._closing.wait(self._delay_seconds)
                if pair.maimed.is_set():
                    pair.client.sendall(data[:1])
                    break
                if pair.doomed.is_set():
                    break
                if self._reply_bytes_left is not None and self._reply_bytes_left < len(data):
                    pair.client.sendall(data[: self._reply_bytes_left])
                    self._reply_bytes_left = None
                    break
                if self._reply_bytes_left is not None:
                    self._reply_bytes_left -= len(data)
                if not pair.frozen.is_set() and not pair.deaf.is_set():
                    pair.client.sendall(data)
        pair.cut()

    def _start(self, work: Callable[..., None], *args: _Pair | socket.socket) -> threading.Thread:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread
