"""Answers with a stream of server-sent events."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from fastapi.sse import format_sse_event
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from vardy_api.http.leaving import while_connected
from vardy_api.shapes import EventView
from vardy_worker.contracts.view import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send

    from vardy_api.operations.event_stream import EventStream
    from vardy_worker.contracts.events import Event

MEDIA_TYPE: Final = "text/event-stream"
RECONNECT_MS: Final = 1000
"""After this time a browser connects again when the stream broke."""


class EventStreamResponse(Response):
    """Sends what a stream tells as it comes. Nothing is buffered here, and nothing is left when the client leaves.

    A client that takes nothing holds its stream up until the server ends the connection.
    """

    media_type = MEDIA_TYPE

    def __init__(self, stream: EventStream) -> None:
        # Without a body: there is nothing to measure or to tag before it was sent.
        self.status_code = HTTPStatus.OK
        self.background = None
        # nginx holds answers back unless it is told not to.
        self.init_headers({"X-Accel-Buffering": "no"})
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        del scope

        async def tell(events: Sequence[Event]) -> None:
            text = b"".join(map(_message, events)) or format_sse_event(comment="")
            await _send(send, text)

        async def stream() -> None:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _send(send, format_sse_event(retry=RECONNECT_MS))
            await self._stream.run(tell)
            await _send(send, b"", more=False)

        with suppress(ClientDisconnect):
            await while_connected(receive, stream())


async def _send(send: Send, text: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": text, "more_body": more})


def _message(event: Event) -> bytes:
    view = EventView(id=event.id, type=event.type, at=instant(event.at_ms), data=event.data)
    return format_sse_event(event=view.type, data_str=view.model_dump_json(), id=view.id)
