"""Connections to the real server, over raw sockets: what is taken, what is refused, and how long anything may take."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

import h11
import httpx
import pytest

from tests.support.api import ApiWorld, run_body
from tests.support.raw_http import wire
from tests.support.serving import served
from tests.support.waiting import eventually
from vardy_api.http.framing import (
    CHUNKS_MAX,
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    REQUEST_LINE_BYTES_MAX,
    StrictConnection,
)
from vardy_api.http.middleware import SECURITY_HEADERS
from vardy_api.http.server import (
    HEAD_SECONDS_MAX,
    KEEP_ALIVE_SECONDS,
    REFUSALS_MAX,
    STALL_SECONDS_MAX,
    ConnectionLimits,
)
from vardy_api.shapes import WAIT_SECONDS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.api import LoopThread
    from tests.support.serving import Served

GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
MARKER = "not_to_be_repeated"


@pytest.fixture(scope="module")
def server(loop_thread: LoopThread) -> Iterator[Served]:
    with served(ApiWorld(loop_thread).app) as running:
        yield running


def refused(server: Served, sent: bytes, *, status: int, code: str) -> None:
    """What was sent is answered with this problem, like every other, and ends the connection."""
    with wire(server.url) as connection:
        connection.send(sent)
        answer = connection.answer()
        assert (answer.status, answer.code) == (status, code)
        assert answer.problem["type"] == f"/problems/{code}"
        assert MARKER.encode() not in answer.content
        for name, value in SECURITY_HEADERS.items():
            assert answer.headers[name.lower()] == value
        assert answer.headers["connection"] == "close"
        assert connection.is_closed()
    assert httpx.get(f"{server.url}/livez").status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(b"GET /livez\r\n\r\n", id="HTTP/0.9"),
        pytest.param(b"GET /livez HTTP/1.1\r\n\r\n", id="no Host"),
        pytest.param(GET + b"Host: y\r\n\r\n", id="two Hosts"),
        pytest.param(b"GET  /livez HTTP/1.1\r\nHost: x\r\n\r\n", id="two spaces"),
        pytest.param(b"GET livez HTTP/1.1\r\nHost: x\r\n\r\n", id="a relative target"),
        pytest.param(b"GET ftp://x/livez HTTP/1.1\r\nHost: x\r\n\r\n", id="another scheme"),
        pytest.param(GET + b"not_to_be_repeated\r\n\r\n", id="a header without a colon"),
        pytest.param(GET + b"X : not_to_be_repeated\r\n\r\n", id="a space before the colon"),
        pytest.param(GET + b"X: not_to_be_repeated\x00\r\n\r\n", id="a NUL"),
        pytest.param(GET + b"X: not_to_be_repeated\rY: b\r\n\r\n", id="a bare CR"),
        pytest.param(GET + b"X: a\nY: b\r\n\r\n", id="a bare LF between headers"),
        pytest.param(GET + b"\n", id="a bare LF at the end"),
        pytest.param(b"GET /livez HTTP/1.1\nHost: x\n\n", id="bare LF throughout"),
        pytest.param(GET + b"X: a\r\n not_to_be_repeated\r\n\r\n", id="a folded header"),
        pytest.param(POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="two framings"),
        pytest.param(POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", id="the same, turned"),
        pytest.param(POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", id="two lengths"),
        pytest.param(POST + b"Content-Length: 2\r\ncontent-length: 2\r\n\r\n{}", id="the same length twice"),
        pytest.param(POST + b"Content-Length: 2, 2\r\n\r\n{}", id="a list of lengths"),
        pytest.param(POST + b"Content-Length: +2\r\n\r\n{}", id="a length with a sign"),
        pytest.param(POST + b"Content-Length: 0x2\r\n\r\n{}", id="a hexadecimal length"),
        pytest.param(POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="another coding"),
        pytest.param(POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", id="no coding"),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", id="two codings"
        ),
        pytest.param(
            b"POST /v1/run HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunks before HTTP/1.1"
        ),
        pytest.param(POST + b"Transfer-Encoding: chunked\r\n\r\nnot_to_be_repeated\r\n", id="a chunk without a size"),
        pytest.param(POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", id="a negative chunk"),
        pytest.param(POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}}}\r\n0\r\n\r\n", id="a chunk above its size"),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * (CHUNKS_MAX + 1), id="too many chunks"
        ),
    ],
)
def test_what_can_be_read_in_two_ways_or_in_none_is_refused(server: Served, sent: bytes) -> None:
    refused(server, sent, status=400, code="request.framing")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(GET + b"X: " + b"a" * HEAD_BYTES_MAX + b"\r\n\r\n", id="bytes"),
        pytest.param(GET + b"X: " + b"a" * HEAD_BYTES_MAX, id="bytes without an end"),
        pytest.param(GET + b"X: a\r\n" * HEADERS_MAX + b"\r\n", id="headers"),
        pytest.param(b"GET /" + b"a" * REQUEST_LINE_BYTES_MAX + b" HTTP/1.1\r\nHost: x\r\n\r\n", id="line"),
        pytest.param(b"a" * (REQUEST_LINE_BYTES_MAX + 1), id="line without an end"),
        pytest.param(POST + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * HEAD_BYTES_MAX, id="extensions of chunks"),
    ],
)
def test_a_head_above_its_limits_is_refused(server: Served, sent: bytes) -> None:
    refused(server, sent, status=431, code="request.head_too_large")


def test_a_head_of_exactly_the_limits_is_taken(server: Served) -> None:
    with wire(server.url) as connection:
        connection.send(GET + b"X: a\r\n" * (HEADERS_MAX - 1) + b"\r\n")
        assert connection.answer().status == 200
        filled = GET + b"X: "
        connection.send(filled + b"a" * (HEAD_BYTES_MAX - len(filled) - 2) + b"\r\n\r\n")
        assert connection.answer().status == 200


@pytest.mark.parametrize(
    ("sent", "method", "status"),
    [
        (b"GET http://elsewhere/livez HTTP/1.1\r\nHost: x\r\n\r\n", "GET", 200),
        (b"GET http://elsewhere HTTP/1.1\r\nHost: x\r\n\r\n", "GET", 404),
        (b"GET //livez HTTP/1.1\r\nHost: x\r\n\r\n", "GET", 404),
        (b"GET /livez HTTP/1.0\r\n\r\n", "GET", 200),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "GET", 200),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "GET", 200),
        (b"TRACE /livez HTTP/1.1\r\nHost: x\r\nX: not_to_be_repeated\r\n\r\n", "TRACE", 405),
        (b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT", 405),
        (b"OPTIONS /v1/run HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n\r\n", "OPTIONS", 204),
        (b"GARBAGE /livez HTTP/1.1\r\nHost: x\r\n\r\n", "GARBAGE", 405),
    ],
)
def test_the_rest_of_http_gets_an_answer_that_fits(server: Served, sent: bytes, method: str, status: int) -> None:
    with wire(server.url) as connection:
        connection.send(sent)
        answer = connection.answer(method)
    assert answer.status == status
    assert MARKER.encode() not in answer.content
    assert not {"server", "x-powered-by", "access-control-allow-origin", "upgrade"} & set(answer.headers)
    if status >= 400:
        assert answer.code in {"request.not_found", "request.method"}


def test_requests_sent_at_once_are_answered_in_their_order(server: Served) -> None:
    with wire(server.url) as connection:
        connection.send(GET + b"\r\n" + b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n" + GET + b"\r\n")
        assert [connection.answer().status for _ in range(3)] == [200, 404, 200]


def test_what_follows_a_body_is_a_request_of_its_own(server: Served) -> None:
    """A refused body does not hide a request, and is none itself."""
    smuggled = b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
    with wire(server.url) as connection:
        connection.send(POST + b"Content-Length: %d\r\n\r\n" % len(smuggled) + smuggled + GET + b"\r\n")
        assert [connection.answer().status, connection.answer().status] == [401, 200]


def test_a_body_that_says_it_is_too_large_is_refused_before_any_of_it_comes(server: Served) -> None:
    with wire(server.url) as connection:
        connection.send(POST + b"Content-Length: 2000000\r\n\r\n")
        answer = connection.answer()
        assert (answer.status, answer.code) == (413, "request.too_large")
        assert connection.is_closed()


def test_the_chunks_of_each_body_are_counted_alone(server: Served) -> None:
    body = POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * (CHUNKS_MAX * 2 // 3) + b"0\r\n\r\n"
    with wire(server.url) as connection:
        for _ in range(2):
            connection.send(body)
            assert connection.answer().status == 401


def test_a_body_of_said_length_may_come_in_any_number_of_pieces() -> None:
    connection = StrictConnection()
    size = CHUNKS_MAX + 1
    connection.receive_data(POST + b"Content-Length: %d\r\n\r\n" % size)
    assert isinstance(connection.next_event(), h11.Request)
    for _ in range(size):
        connection.receive_data(b" ")
        assert isinstance(connection.next_event(), h11.Data)
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    assert connection.refusal is None


def test_a_bad_request_after_a_good_one_does_not_take_its_answer(server: Served) -> None:
    with wire(server.url) as connection:
        connection.send(GET + b"\r\n" + b"not_to_be_repeated\r\n\r\n")
        assert connection.answer().status == 200
        answer = connection.answer()
        assert (answer.status, answer.code) == (400, "request.framing")
        assert connection.is_closed()


def test_refusals_are_counted_by_code(server: Served) -> None:
    def counted() -> float:
        name = 'vardy_http_refused_total{code="request.framing"}'
        lines = httpx.get(f"{server.url}/metrics").text.splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)), 0.0)

    before = counted()
    refused(server, b"\r\r\n\n", status=400, code="request.framing")
    assert counted() == before + 1


def test_what_strangers_send_fills_no_log(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    upgrade = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    with caplog.at_level(logging.INFO):
        for sent in (upgrade, b"not_to_be_repeated\r\n\r\n", b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"):
            with wire(server.url) as connection:
                connection.send(sent)
                connection.answer()
    assert [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")] == []


# --- time ------------------------------------------------------------------------------------------------


def test_times_fit_together() -> None:
    assert HEAD_SECONDS_MAX < WAIT_SECONDS_MAX < KEEP_ALIVE_SECONDS
    assert STALL_SECONDS_MAX < WAIT_SECONDS_MAX


HASTY = ConnectionLimits(connections_max=100, head_seconds_max=0.3, keep_alive_seconds=1, stall_seconds_max=0.3)


@pytest.fixture(scope="module")
def hasty(loop_thread: LoopThread) -> Iterator[Served]:
    """A server whose time limits are a hundredth of what is deployed."""
    world = ApiWorld(loop_thread)
    with served(world.make_app(body_seconds_max=0.3), HASTY) as running:
        yield running


def test_a_connection_that_says_nothing_is_closed(hasty: Served) -> None:
    with wire(hasty.url) as connection:
        assert connection.is_closed()


@pytest.mark.parametrize("earlier", [0, 1])
def test_headers_that_come_byte_by_byte_are_answered_with_a_timeout(hasty: Served, earlier: int) -> None:
    """On a fresh connection, and on one that was used before."""
    with wire(hasty.url) as connection:
        for _ in range(earlier):
            connection.send(GET + b"\r\n")
            assert connection.answer().status == 200
        drip(connection.socket, b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 1000)
        answer = connection.answer()
        assert (answer.status, answer.code) == (408, "request.timeout")
        assert answer.problem["details"] == {"limit": "head_seconds_max", "seconds_max": 0.3}


@pytest.mark.parametrize("framing", [b"Content-Length: 10000", b"Transfer-Encoding: chunked"])
def test_a_body_that_comes_byte_by_byte_is_answered_with_a_timeout(hasty: Served, framing: bytes) -> None:
    with wire(hasty.url) as connection:
        connection.send(POST + framing + b"\r\n\r\n")
        drip(connection.socket, b"1\r\n \r\n" * 200 if b"chunked" in framing else b" " * 1000)
        answer = connection.answer("POST")
        assert (answer.status, answer.code) == (408, "request.timeout")
        assert answer.problem["details"] == {"limit": "body_seconds_max", "seconds_max": 0.3}
        assert connection.is_closed()


def test_a_body_that_never_begins_is_answered_with_a_timeout(hasty: Served) -> None:
    with wire(hasty.url) as connection:
        connection.send(POST + b"Content-Length: 2\r\n\r\n")
        assert connection.answer("POST").code == "request.timeout"


def test_a_connection_that_is_used_no_more_is_closed(hasty: Served) -> None:
    with wire(hasty.url) as connection:
        connection.send(GET + b"\r\n")
        assert connection.answer().status == 200
        assert connection.is_closed()


def drip(connection: socket.socket, data: bytes) -> None:
    """Sends byte by byte, as slowly as annoys, until all is sent or the server answers."""
    for byte in data:
        connection.settimeout(0.01)
        with contextlib.suppress(TimeoutError):
            connection.recv(1, socket.MSG_PEEK)
            break
        connection.settimeout(15)
        connection.send(bytes([byte]))
    connection.settimeout(15)


def test_a_client_that_takes_no_answers_is_dropped(hasty: Served) -> None:
    """It asks on and on and reads nothing, so that answers would pile up."""
    with wire(hasty.url) as connection:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.socket.settimeout(0.05)
        asked = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 50

        def is_dropped() -> bool:
            try:
                connection.socket.send(asked)
            except TimeoutError:
                return False
            except ConnectionError:
                return True
            return False

        assert eventually(is_dropped, seconds=15)
    assert eventually(lambda: not hasty.server_state.connections, seconds=5)


# --- number ----------------------------------------------------------------------------------------------


def test_one_connection_too_many_is_told_so_and_the_others_go_on(loop_thread: LoopThread) -> None:
    world = ApiWorld(loop_thread)
    with served(world.app, ConnectionLimits(connections_max=2)) as server, wire(server.url) as first:
        with wire(server.url) as second:
            for connection in (first, second):
                connection.send(GET + b"\r\n")
                assert connection.answer().status == 200
            with wire(server.url) as third:
                answer = third.answer()
                assert (answer.status, answer.code) == (503, "service.busy")
                assert int(answer.headers["retry-after"]) > 0
                assert third.is_closed()
            first.send(GET + b"\r\n")
            assert first.answer().status == 200
        assert eventually(lambda: len(server.server_state.connections) == 1, seconds=5)
        with wire(server.url) as again:
            again.send(GET + b"\r\n")
            assert again.answer().status == 200


def test_a_flood_beyond_that_is_dropped_so_that_refusals_themselves_are_few(loop_thread: LoopThread) -> None:
    with served(ApiWorld(loop_thread).app, ConnectionLimits(connections_max=1)) as server, ExitStack() as opened:
        only = opened.enter_context(wire(server.url))
        only.send(GET + b"\r\n")
        assert only.answer().status == 200
        flood = [opened.enter_context(wire(server.url)) for _ in range(REFUSALS_MAX + 20)]
        assert flood[-1].is_closed()
        assert len(server.server_state.connections) <= 1 + REFUSALS_MAX
        only.send(GET + b"\r\n")
        assert only.answer().status == 200


def test_a_client_of_http_reads_that_there_are_too_many(loop_thread: LoopThread) -> None:
    with served(ApiWorld(loop_thread).app, ConnectionLimits(connections_max=1)) as server, wire(server.url) as only:
        only.send(GET + b"\r\n")
        assert only.answer().status == 200
        answer = httpx.post(f"{server.url}/v1/run", content=json.dumps(run_body()).encode())
        assert (answer.status_code, answer.json()["code"]) == (503, "service.busy")
