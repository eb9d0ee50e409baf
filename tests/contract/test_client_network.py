"""Both clients over real connections that break, lie, or are not what they seem."""

from __future__ import annotations

import asyncio
import http.server
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trustme

from tests.support.api import ApiWorld, LoopThread
from tests.support.clients import Kind, awaited
from tests.support.factories import LEA
from tests.support.logs import configure_test_logs
from tests.support.relay import Relay
from tests.support.serving import served
from tests.support.waiting import eventually
from vardy_api.client import Vardy
from vardy_api.client_asyncio import AsyncVardy
from vardy_api.client_errors import ClientError, Unreachable, VardyProblem, WaitTimeout
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.serving import Served

WAITING = """
import sys
from vardy_api import Vardy
with Vardy() as vardy:
    print("waiting", flush=True)
    vardy.wait(sys.argv[1])
"""


FORKING = """
import asyncio, os, sys
from vardy_api import AsyncVardy, Vardy

def blocking():
    vardy = Vardy()
    return lambda name: vardy.recipe(name)

def awaited():
    vardy, loop = AsyncVardy(), asyncio.new_event_loop()
    return lambda name: loop.run_until_complete(vardy.recipe(name))

ask = {"Vardy": blocking, "AsyncVardy": awaited}[sys.argv[1]]()
def told(name):
    try:
        ask(name)
    except Exception as error:
        print(name, getattr(error, "code", error), flush=True)
told("before")
child = os.fork()
if not child:
    told("child")
    os._exit(0)
os.waitpid(child, 0)
told("parent")
"""


@pytest.fixture(scope="module")
def api() -> Iterator[ApiWorld]:
    configure_test_logs("error")
    loop = LoopThread()
    yield ApiWorld(loop)
    loop.close()


@pytest.fixture(scope="module")
def service(api: ApiWorld) -> Iterator[Served]:
    with served(api.app) as server:
        yield server


@pytest.fixture
def relay(service: Served) -> Iterator[Relay]:
    with Relay(int(service.url.rpartition(":")[2])) as made:
        yield made


@pytest.fixture(params=list(Kind))
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


def connected(kind: Kind, url: str, key: str = "vk_k", **options: Any) -> Vardy:
    """A client that pauses only as long as a scheduler does."""
    if kind is Kind.BLOCKING:
        return Vardy(url, api_key=key, pause=lambda _: None, **options)
    return awaited(AsyncVardy(url, api_key=key, pause=lambda _: asyncio.sleep(0), **options))


# --- connections that break at any byte ---------------------------------------------------------------------------


def test_events_are_told_once_wherever_the_connection_breaks(api: ApiWorld, relay: Relay, kind: Kind) -> None:
    job, key = api.job(Status.PENDING_APPROVAL), api.token()
    url = f"http://127.0.0.1:{relay.port}"
    with connected(kind, url, key) as vardy:
        whole = [event.id for event in vardy.events(job.id)]
    assert len(whole) > 2
    for cut in range(0, 1200, 37):
        relay.cut_after(cut)
        with connected(kind, url, key) as vardy:
            assert [event.id for event in vardy.events(job.id)] == whole, cut


def test_events_go_on_when_the_service_comes_back(api: ApiWorld, relay: Relay) -> None:
    job = api.job(Status.RUNNING)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            api.move(job.id, Status.RUNNING, Status.SUCCESS)
            relay.restore()

    with Vardy(f"http://127.0.0.1:{relay.port}", api_key=api.token(), pause=pause) as vardy:
        events = vardy.events(job.id)
        told = [next(events).data["status"] for _ in range(2)]
        relay.refuse()
        told += [event.data["status"] for event in events]
    assert told == ["QUEUED", "RUNNING", "SUCCESS"]
    assert pauses == [1.0, 0.2, 0.5, 1.0]


def test_a_submission_is_one_job_wherever_its_answer_breaks(api: ApiWorld, relay: Relay, kind: Kind) -> None:
    key = api.token(owner=f"cut {kind}")
    url = f"http://127.0.0.1:{relay.port}"
    ids = []
    for cut in range(0, 1200, 61):
        relay.cut_after(cut)
        with connected(kind, url, key) as vardy:
            ids.append(vardy.run("how much is open?", user="ana", wait=False).id)
    assert len(set(ids)) == len(ids)
    # Without `read` a key sees the jobs of its owner alone.
    with api.vardy(api.token(Scope.SUBMIT, owner=f"cut {kind}")) as inside:
        mine = [item.id for item in inside.iterate_jobs()]
    assert sorted(mine) == sorted(ids)


def test_a_decision_whose_answer_breaks_is_made_once_and_said_to_be_unsure(
    api: ApiWorld, relay: Relay, kind: Kind
) -> None:
    key = api.token()
    for cut in (0, 10, 200):
        job = api.job(Status.PENDING_APPROVAL)
        with connected(kind, f"http://127.0.0.1:{relay.port}", key) as vardy:
            shown = vardy.get(job.id)
            relay.cut_after(cut)
            with pytest.raises(Unreachable):
                vardy.deny(shown, user=LEA, reason="No.")
            assert vardy.get(job.id).status is Status.POLICY_BLOCKED
            assert len(vardy.get(job.id).decisions) == 1


# --- what is no service of Vardy's ----------------------------------------------------------------------------------


@contextmanager
def answering(*pieces: bytes, context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """A server that says these bytes to everybody, whatever is asked; its port, and what it was sent."""
    heard: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) if context else plain as client:
                    heard.append(client.recv(65536))
                    for piece in pieces:
                        client.sendall(piece)
            except OSError:
                continue

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ((), "client.unreachable"),
        ((b"SSH-2.0-OpenSSH_9.6\r\n",), "client.unreachable"),
        ((b"\x00\xff" * 500,), "client.unreachable"),
        ((b"HTTP/1.1 200 OK\r\nContent-Le",), "client.unreachable"),
        ((b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"items":',), "client.unreachable"),
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",), "client.unreachable"),
        ((b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000,), "client.unreachable"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",), "client.bad_answer"),
        ((b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",), "client.redirect"),
        ((b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno",), "http.500"),
    ],
)
def test_whatever_a_server_says_is_an_exception_of_the_client(kind: Kind, pieces: tuple[bytes, ...], code: str) -> None:
    calls: tuple[Callable[[Vardy], Any], ...] = (
        lambda vardy: vardy.recipes(),
        lambda vardy: vardy.run("how much?", user="ana"),
        lambda vardy: list(vardy.events("job_1")),
    )
    with answering(*pieces) as (port, _), connected(kind, f"http://127.0.0.1:{port}") as vardy:
        for call in calls:
            with pytest.raises(ClientError) as raised:
                call(vardy)
            assert raised.value.code == code
            assert isinstance(raised.value, VardyProblem) == code.startswith("http.")


def test_a_certificate_that_nobody_vouches_for_is_refused_before_the_key_is_sent(kind: Kind) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with answering(context=context) as (port, heard), connected(kind, f"https://127.0.0.1:{port}") as vardy:
        with pytest.raises(ClientError, match="certificate") as raised:
            vardy.recipes()
        assert raised.value.code == "client.tls"
    assert heard == []


def test_a_certificate_for_another_name_is_refused(kind: Kind) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("elsewhere.example").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    transport = httpx.HTTPTransport if kind is Kind.BLOCKING else httpx.AsyncHTTPTransport
    with answering(context=context) as (port, heard):
        with connected(kind, f"https://127.0.0.1:{port}", transport=transport(verify=trusting)) as vardy:
            with pytest.raises(ClientError, match="certificate") as raised:
                vardy.recipes()
            assert raised.value.code == "client.tls"
        assert heard == []


def test_a_server_without_tls_is_told_from_one_that_is_away(kind: Kind) -> None:
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as (port, _),
        connected(kind, f"https://127.0.0.1:{port}") as vardy,
        pytest.raises(ClientError, match="http address"),
    ):
        vardy.recipes()


def held(api: ApiWorld) -> int:
    """Requests that the service holds back now."""
    return api.operations.held.polls + len(api.operations.held.streams)


# --- ending early -------------------------------------------------------------------------------------------------


def test_a_cancelled_wait_leaves_nothing_behind(api: ApiWorld, service: Served) -> None:
    job, key = api.job(Status.RUNNING), api.token()

    async def work() -> None:
        async with AsyncVardy(service.url, api_key=key) as vardy:
            following = vardy.events(job.id)
            assert (await anext(following)).type == "status"
            waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(vardy.wait(job.id)) for _ in range(3)]
            waits.append(asyncio.ensure_future(anext(vardy.events(job.id, after="2"))))
            assert await asyncio.to_thread(eventually, lambda: held(api) == 5)
            for wait in waits:
                wait.cancel()
            outcomes = await asyncio.gather(*waits, return_exceptions=True)
            assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
            await following.aclose()
            assert (await vardy.get(job.id)).status is Status.RUNNING
            with pytest.raises(WaitTimeout):
                await vardy.wait(job.id, timeout_seconds=0.05)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(work())


def test_more_waits_than_a_pool_of_connections_holds_are_all_answered(api: ApiWorld, service: Served) -> None:
    job, key = api.job(Status.RUNNING), api.token()

    async def work() -> list[Status]:
        async with AsyncVardy(service.url, api_key=key) as vardy:
            waits = [asyncio.ensure_future(vardy.wait(job.id)) for _ in range(150)]
            assert await asyncio.to_thread(eventually, lambda: held(api) == 150, seconds=30)
            await asyncio.to_thread(api.move, job.id, Status.RUNNING, Status.SUCCESS)
            return [seen.status for seen in await asyncio.gather(*waits)]

    assert set(asyncio.run(asyncio.wait_for(work(), 60))) == {Status.SUCCESS}


def test_an_interrupt_ends_a_wait_at_once(api: ApiWorld, service: Served) -> None:
    job = api.job(Status.RUNNING)
    environment = os.environ | {"VARDY_URL": service.url, "VARDY_API_KEY": api.token()}
    command = [sys.executable, "-c", WAITING, job.id]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "waiting\n"
        assert eventually(lambda: held(api) > 0)
        waiting.send_signal(signal.SIGINT)
        _, errors = waiting.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    assert "Exception ignored" not in errors


def test_a_process_that_forks_shares_no_connection_with_its_child(kind: Kind) -> None:
    seen: dict[str, int] = {}

    class Answering(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen[self.path.rpartition("/")[2]] = self.client_address[1]
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        environment = os.environ | {"VARDY_URL": f"http://127.0.0.1:{server.server_port}", "VARDY_API_KEY": "vk_k"}
        ran = subprocess.run(
            [sys.executable, "-c", FORKING, kind],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        server.shutdown()
    thread.join()
    assert ran.stdout.split("\n") == ["before http.404", "child http.404", "parent http.404", ""], ran.stderr
    assert seen["before"] == seen["parent"] != seen["child"]
