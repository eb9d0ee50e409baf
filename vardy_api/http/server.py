"""The server's side of a connection: how long it may take, and how many there may be.

uvicorn waits for a request as long as the client likes, and answers what is no HTTP in plain
text. Here a connection that dawdles is ended, one too many is told so, and every refusal is the
same problem document that routes answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from vardy_api.http.framing import StrictConnection
from vardy_api.http.middleware import SECURITY_HEADERS
from vardy_api.http.problems import problem, problem_response

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn.server import ServerState

    from vardy_api.http.application import Api
    from vardy_api.shapes import Problem

HEAD_SECONDS_MAX: Final = 15.0
"""From the first byte of a request, or from the connection's begin, to the end of its headers."""
KEEP_ALIVE_SECONDS: Final = 75
"""Longer than the longest long poll, so that no client sends into a connection being closed."""
STALL_SECONDS_MAX: Final = 30.0
"""In this time a client must take at least `STALL_BYTES_MIN` of what waits for it, or all that is left."""
STALL_BYTES_MIN: Final = 16 * 1024
LINGER_SECONDS_MAX: Final = 1.0
"""How long what a refused client goes on sending is read and dropped, so that it can read the answer."""
REFUSALS_MAX: Final = 100
"""Connections above the limit that are still given an answer; more than those are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What holds for connections; the defaults are what is deployed."""

    connections_max: int
    head_seconds_max: float = HEAD_SECONDS_MAX
    keep_alive_seconds: int = KEEP_ALIVE_SECONDS
    stall_seconds_max: float = STALL_SECONDS_MAX


class ServerConfig(uvicorn.Config):
    """uvicorn as Vardy runs it, for one application."""

    def __init__(self, api: Api, *, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(
            api,
            http=LimitedProtocol,
            ws="none",
            # Vardy's own logging is set up already, and its metrics count requests.
            log_config=None,
            access_log=False,
            server_header=False,
            # The application itself knows which proxies are trusted.
            proxy_headers=False,
            timeout_keep_alive=limits.keep_alive_seconds,
            **options,
        )
        self.limits = limits
        self.count_refusal: Callable[[str], None] = api.state.metrics.refused


class LimitedProtocol(H11Protocol):
    """One connection. Needs a `ServerConfig`."""

    config: ServerConfig

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = config.limits
        self._strict = StrictConnection()
        self.conn = self._strict
        self._refused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._end_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Takes the connection, or says that there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections_max + REFUSALS_MAX:
            self._refused = True
            self.config.count_refusal("service.busy")
            self.transport.abort()
        elif len(self.connections) > self._limits.connections_max:
            self._refuse(problem("service.busy", "The service has as many connections as it takes; try again shortly."))
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Passes on what came; drops it after a refusal."""
        if self._refused:
            return
        if self._head_timer is None and self.conn.their_state is h11.IDLE:
            self._await_head()
        super().data_received(data)

    def handle_events(self) -> None:
        """Passes on what came as far as it is a request; refuses the rest."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._stop_head_timer()
        if self._strict.refusal is not None and not self._refused:
            self._refuse(self._strict.refusal)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection and its timers."""
        self._stop_head_timer()
        self._stop_end_timer()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Goes on with the next request; sees to it that a last answer is taken."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_taking()

    def timeout_keep_alive_handler(self) -> None:
        """Ends an idle connection, also where the client has not taken its last answer."""
        super().timeout_keep_alive_handler()
        self._watch_taking()

    def pause_writing(self) -> None:
        """The client takes answers more slowly than they come."""
        super().pause_writing()
        self._watch_taking()

    def resume_writing(self) -> None:
        """The client has taken most of what waited."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_end_timer()

    def _should_upgrade(self) -> bool:
        """No: nothing here speaks another protocol, and uvicorn would log what strangers ask for."""
        return False

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._limits.head_seconds_max, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_end_timer(self) -> None:
        if self._end_timer is not None:
            self._end_timer.cancel()
            self._end_timer = None

    def _head_is_late(self) -> None:
        if self.transport.is_closing():
            return
        if not self.conn.trailing_data[0]:
            self.transport.close()
            return
        seconds = self._limits.head_seconds_max
        detail = f"The request's headers were not complete after {seconds:g} seconds."
        self._refuse(problem("request.timeout", detail, {"limit": "head_seconds_max", "seconds_max": seconds}))

    def _watch_taking(self) -> None:
        """Ends the connection unless the client takes what waits for it, at a least speed."""
        self._stop_end_timer()
        left = self.transport.get_write_buffer_size()
        if left:
            self._end_timer = self.loop.call_later(self._limits.stall_seconds_max, self._check_taking, left)

    def _check_taking(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left and before - left < STALL_BYTES_MIN:
            self.transport.abort()
        else:
            self._watch_taking()

    def _refuse(self, document: Problem) -> None:
        """Answers instead of the application, and ends the connection."""
        self._refused = True
        self.config.count_refusal(document.code)
        self._stop_head_timer()
        self._unset_keepalive_if_required()
        answered = self.cycle is not None and not self.cycle.response_complete and self.cycle.response_started
        if self.cycle is not None and not self.cycle.response_complete:
            # The application, which waits for the rest of the body, is told that the client left.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if answered or self.transport.is_closing():
            self.transport.abort()
            return
        self.transport.write(_answer(document))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._stop_end_timer()
        self._end_timer = self.loop.call_later(LINGER_SECONDS_MAX, self.transport.abort)

    def shutdown(self) -> None:
        """Ends the connection when the server stops; at once where it was refused."""
        if self._refused:
            self.transport.abort()
        else:
            super().shutdown()


def _answer(document: Problem) -> bytes:
    """The answer with a problem document as it goes over the wire; it ends the connection."""
    answer = problem_response(document, {**SECURITY_HEADERS, "Connection": "close"})
    lines = [f"HTTP/1.1 {document.status} {HTTPStatus(document.status).phrase}".encode()]
    lines += [b"%b: %b" % header for header in answer.raw_headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(answer.body)
