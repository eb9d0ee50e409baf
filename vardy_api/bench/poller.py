"""A process of `long_polls`: many clients, each of which sends one request and notes when its answer begins.

Reads one line of JSON, `{"port": …, "token": …, "paths": […]}`; writes one, `[[nanoseconds, status], …]` by the
monotonic clock that all processes of a machine share. Plain sockets: a client library would be what is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import cast

from vardy_api.open_files import allow_open_files

CONNECTING_MAX = 100
"""Connections being made at once."""


class _Client(asyncio.Protocol):
    def __init__(self) -> None:
        self.answered: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """The first bytes hold the status line."""
        if not self.answered.done():
            self.answered.set_result((time.monotonic_ns(), int(data[9:12])))

    def connection_lost(self, exc: Exception | None) -> None:
        """Without an answer the status is 0."""
        del exc
        if not self.answered.done():
            self.answered.set_result((time.monotonic_ns(), 0))


async def poll(port: int, token: str, paths: list[str]) -> list[tuple[int, int]]:
    """When each request was answered, and with which status."""
    connecting = asyncio.Semaphore(CONNECTING_MAX)
    loop = asyncio.get_running_loop()

    async def one(path: str) -> tuple[int, int]:
        async with connecting:
            transport, client = await loop.create_connection(_Client, "127.0.0.1", port)
            head = f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\r\n"
            transport.write(head.encode())
        opened.append(transport)
        return await client.answered

    opened: list[asyncio.Transport] = []
    answers = await asyncio.gather(*map(one, paths))
    # Not before all have answers, as clients keep their connections.
    for transport in opened:
        transport.close()
    return answers


def main() -> None:
    """Serves one line of standard input."""
    allow_open_files()
    asked = json.loads(sys.stdin.readline())
    answers = asyncio.run(poll(asked["port"], asked["token"], cast("list[str]", asked["paths"])))
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
