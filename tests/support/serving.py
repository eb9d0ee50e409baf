"""An application served as it is deployed: by uvicorn, on a port of its own, in this process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from vardy_api.http.server import ConnectionLimits, ServerConfig

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from vardy_api.http.application import Api


LIMITS = ConnectionLimits(connections_max=5000)


class Served(uvicorn.Server):
    """Says when it is ready. `stop` is what a signal does to it."""

    def __init__(self, api: Api, limits: ConnectionLimits) -> None:
        self.api = api
        super().__init__(ServerConfig(api, limits=limits, port=0, timeout_graceful_shutdown=5))
        self.ready = threading.Event()
        self.url = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.url = f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"
        self.ready.set()

    def stop(self) -> None:
        self.api.stop_waiting()
        self.should_exit = True


@contextmanager
def served(api: Api, limits: ConnectionLimits = LIMITS) -> Iterator[Served]:
    """The application, until the block ends."""
    server = Served(api, limits)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.ready.wait(20)
        yield server
    finally:
        server.stop()
        thread.join(20)
    assert not thread.is_alive()
