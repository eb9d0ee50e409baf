"""Work for a client ends with the client, and only then."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from starlette.requests import ClientDisconnect

from vardy_api.http.leaving import while_connected

if TYPE_CHECKING:
    from starlette.types import Message


class Client:
    """Leaves when the test says so."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_work_that_ends_is_answered_and_nothing_is_left_behind() -> None:
    async def scenario() -> None:
        async def work() -> int:
            await turns()
            return 7

        client = Client()
        assert await while_connected(client.receive, work()) == 7
        client.left.set()
        await turns()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())


def test_a_client_that_leaves_ends_the_work() -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        client = Client()
        serving = asyncio.create_task(while_connected(client.receive, work()))
        await turns()
        client.left.set()
        with pytest.raises(ClientDisconnect):
            await serving
        assert ended.is_set()
        assert serving.cancelling() == 0

    asyncio.run(scenario())


def test_an_error_of_the_work_is_passed_on() -> None:
    async def scenario() -> None:
        async def work() -> None:
            raise LookupError

        with pytest.raises(LookupError):
            await while_connected(Client().receive, work())

    asyncio.run(scenario())


@pytest.mark.parametrize("leaves", [False, True])
def test_whoever_cancels_the_request_sees_it_cancelled_even_while_the_client_leaves(leaves: bool) -> None:
    async def scenario() -> None:
        client = Client()
        serving = asyncio.create_task(while_connected(client.receive, asyncio.Event().wait()))
        await turns()
        if leaves:
            client.left.set()
            await asyncio.sleep(0)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(scenario())
