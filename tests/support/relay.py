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
    doomed: threading.Event = field(default_factory=threading.Event)

    def cut(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Relay:
    """Passes bytes both ways between clients of `port` and a server on loopback."""

    def __init__(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[_Pair] = []
        self._threads: list[threading.Thread] = []
        self._marker = b""
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    @property
    def connections(self) -> int:
        """How many there have been."""
        return len(self._pairs)

    def freeze(self) -> None:
        """Swallows everything on the connections there are; new ones work."""
        for pair in self._pairs:
            pair.frozen.set()

    def cut_instead_of_answering(self, marker: bytes) -> None:
        """The next request that contains the marker reaches the server; its connection breaks before the reply."""
        self._marker = marker

    def close(self) -> None:
        """Cuts every connection and waits for the threads."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for pair in self._pairs:
            pair.cut()
        for thread in self._threads[1:]:
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

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            pair = _Pair(client, socket.create_connection(self._target))
            self._pairs.append(pair)
            self._start(self._requests, pair)
            self._start(self._replies, pair)

    def _requests(self, pair: _Pair) -> None:
        with contextlib.suppress(OSError):
            while data := pair.client.recv(CHUNK_BYTES):
                if self._marker and self._marker in data:
                    self._marker = b""
                    pair.doomed.set()
                if not pair.frozen.is_set():
                    pair.server.sendall(data)
        pair.cut()

    def _replies(self, pair: _Pair) -> None:
        with contextlib.suppress(OSError):
            while data := pair.server.recv(CHUNK_BYTES):
                if pair.doomed.is_set():
                    break
                if not pair.frozen.is_set():
                    pair.client.sendall(data)
        pair.cut()

    def _start(self, work: Callable[..., None], *args: _Pair) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()
