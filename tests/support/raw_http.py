"""HTTP byte by byte, as no client library would send it."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import h11

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 15.0


@dataclass(frozen=True)
class RawAnswer:
    """One answer as it came."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def problem(self) -> Any:
        assert self.headers["content-type"] == "application/problem+json"
        return json.loads(self.content)

    @property
    def code(self) -> str:
        found: str = self.problem["code"]
        return found


class Wire:
    """One connection. What is read is told apart by a client's state machine."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._received = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, method: str = "GET") -> RawAnswer:
        """The next answer. Fails when the server closes before it is complete."""
        client = h11.Connection(h11.CLIENT)
        client.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
        client.send(h11.EndOfMessage())
        if self._received:
            client.receive_data(self._received)
        content = b""
        status, headers = 0, {}
        while True:
            event = client.next_event()
            if event is h11.NEED_DATA:
                client.receive_data(self.socket.recv(65_536))
            elif isinstance(event, h11.Response):
                status = event.status_code
                headers = {name.decode(): value.decode() for name, value in event.headers}
            elif isinstance(event, h11.Data):
                content += event.data
            elif isinstance(event, h11.EndOfMessage):
                self._received = client.trailing_data[0]
                return RawAnswer(status, headers, content)
            else:
                assert isinstance(event, h11.InformationalResponse), event

    def is_closed(self) -> bool:
        """Whether the server has closed, and sends nothing more; waits for it."""
        try:
            return self._received == b"" and self.socket.recv(1) == b""
        except ConnectionError:
            return True


@contextmanager
def wire(url: str) -> Iterator[Wire]:
    """A connection to the server at the address."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=SECONDS) as connection:
        yield Wire(connection)
