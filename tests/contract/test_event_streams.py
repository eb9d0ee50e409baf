"""Streams of events over real connections: what is told, told once, and ended when it must be."""

from __future__ import annotations

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.following import following
from tests.support.live_api import LiveApi
from tests.support.waiting import at_rest, eventually
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_api.processes import start_child
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.following import Told
    from tests.support.serving import Served
    from tests.support.worlds import RedisWorld
    from vardy_api.operations.held import HeldRequests

QUEUED, RUNNING, SUCCESS = Status.QUEUED, Status.RUNNING, Status.SUCCESS
COMMITTING, PENDING = Status.COMMITTING, Status.PENDING_APPROVAL


@pytest.fixture
def live(redis_url: str, namespace: str) -> Iterator[LiveApi]:
    with LiveApi(redis_url, namespace) as live:
        yield live


@pytest.fixture
def server(live: LiveApi) -> Iterator[Served]:
    with live.served() as server:
        yield server


@pytest.fixture
def http(live: LiveApi, server: Served) -> httpx.Client:
    return live.http(server.url)


def held(server: Served) -> HeldRequests:
    found: HeldRequests = server.api.state.operations.held
    return found


def ids(told: list[Told]) -> list[int]:
    return [int(each.id) for each in told]


# --- what is told -------------------------------------------------------------------------


def test_a_stream_tells_what_was_and_what_comes_until_the_job_has_settled(live: LiveApi, http: httpx.Client) -> None:
    job_id = live.job(RUNNING)
    with following(http, job_id) as follower:
        assert [told.status for told in follower.take(2)] == ["QUEUED", "RUNNING"]
        live.tell(job_id, RUNNING, {"seq": 0, "state": "STARTED"})
        (effect,) = follower.take(1)
        assert (effect.type, effect.view["data"]) == ("effect", {"seq": 0, "state": "STARTED"})
        live.move(job_id, RUNNING, SUCCESS)
        assert [told.status for told in follower.rest()] == ["SUCCESS"]
        assert follower.retry_ms == 1000
    assert follower.response.headers["cache-control"] == "private, no-cache"
    assert follower.response.headers["x-accel-buffering"] == "no"


def test_a_stream_taken_up_at_any_event_tells_exactly_the_rest(live: LiveApi, http: httpx.Client) -> None:
    job_id = live.job(RUNNING)
    live.tell(job_id, RUNNING, *({"seq": seq} for seq in range(250)))
    live.move(job_id, RUNNING, SUCCESS)
    with following(http, job_id) as follower:
        everything = follower.rest()
    assert ids(everything) == list(range(1, 254))
    for last in (*range(3), 99, 100, 101, 252):
        with following(http, job_id, last=str(last)) as follower:
            assert follower.rest() == everything[last:]
    with following(http, job_id, after="250") as follower:
        assert follower.rest() == everything[250:]
    with following(http, job_id, after="1", last="251") as follower:
        assert follower.rest() == everything[251:], "the header counts"


def test_a_stream_of_which_everything_was_told_is_not_opened_again(live: LiveApi, http: httpx.Client) -> None:
    job_id = live.job(RUNNING, SUCCESS)
    answer = http.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": "3"})
    assert (answer.status_code, answer.content) == (204, b"")
    parked = live.job(RUNNING, PENDING)
    assert http.get(f"/v1/jobs/{parked}/events?after=3").status_code == 204


@pytest.mark.parametrize("last", ["4", "x", "-1", "1.0", "٣", "9" * 16])
def test_an_id_that_no_event_has_is_refused(live: LiveApi, http: httpx.Client, last: str) -> None:
    job_id = live.job(RUNNING, SUCCESS)
    answer = http.get(f"/v1/jobs/{job_id}/events", params={"after": last})
    assert (answer.status_code, answer.json()["code"]) == (422, "cursor.invalid")


def test_a_job_that_the_key_may_not_see_has_no_stream(live: LiveApi, server: Served) -> None:
    job_id = live.job(RUNNING)
    stranger = live.http(server.url, live.key(Scope.SUBMIT, owner="desk")[1])
    for path in (job_id, new_job_id(), "nonsense"):
        answer = stranger.get(f"/v1/jobs/{path}/events")
        assert (answer.status_code, answer.json()["code"]) == (404, "job.not_found")
    assert httpx.get(f"{server.url}/v1/jobs/{job_id}/events").status_code == 401


def test_two_readers_are_told_the_same(live: LiveApi, http: httpx.Client, server: Served) -> None:
    job_id = live.job(RUNNING)

    def read() -> list[Told]:
        with following(http, job_id) as follower:
            return follower.rest()

    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(read) for _ in range(2)]
        assert eventually(lambda: len(held(server).streams) == 2)
        for seq in range(30):
            live.tell(job_id, RUNNING, {"seq": seq})
        live.move(job_id, RUNNING, SUCCESS)
        first, second = (future.result() for future in reading)
    assert first == second
    assert ids(first) == list(range(1, 34))


def test_a_follower_stays_past_an_approval_until_nothing_can_become_of_the_job(
    live: LiveApi, http: httpx.Client
) -> None:
    job_id = live.job(RUNNING)
    with following(http, job_id) as until_settled, following(http, job_id, follow="true") as to_the_end:
        live.move(job_id, RUNNING, PENDING)
        assert [told.status for told in until_settled.rest()] == ["QUEUED", "RUNNING", "PENDING_APPROVAL"]
        to_the_end.until("PENDING_APPROVAL")
        live.move(job_id, PENDING, COMMITTING)
        to_the_end.until("COMMITTING")
        live.move(job_id, COMMITTING, Status.PARTIAL)
        to_the_end.until("PARTIAL")
        live.move(job_id, Status.PARTIAL, COMMITTING)
        live.move(job_id, COMMITTING, SUCCESS)
        assert [told.status for told in to_the_end.rest()] == ["COMMITTING", "SUCCESS"]


def test_a_request_to_cancel_is_told_though_the_version_stays(live: LiveApi, http: httpx.Client) -> None:
    job_id = live.job(RUNNING, COMMITTING)
    with following(http, job_id) as follower:
        follower.until("COMMITTING")
        assert live.store.request_cancel(job_id, by="lea")
        (told,) = follower.take(1)
        assert told.view["data"] == {"status": "COMMITTING", "cancel_requested_by": "lea"}


# --- jobs that go ---------------------------------------------------------------------------


def test_an_erased_job_tells_what_stayed_and_ends_the_stream(live: LiveApi, http: httpx.Client) -> None:
    job_id = live.job(RUNNING)
    live.tell(job_id, RUNNING, {"seq": 0, "by": "marked"})
    live.move(job_id, RUNNING, Status.FUNCTION_ERROR, set={"plan": None})
    version = live.store.version(job_id)
    assert version is not None
    live.store.erase(job_id, expect_version=version[0], at_ms=1)
    with following(http, job_id, follow="true") as follower:
        told = follower.rest()
    assert [each.status for each in told] == ["QUEUED", "RUNNING", "", "FUNCTION_ERROR"]
    assert "marked" not in str(told)


def test_an_expired_job_ends_the_stream(
    live: LiveApi, http: httpx.Client, redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_api.operations.watching.LOOK_SECONDS", 0.1)
    job_id = live.job(RUNNING)
    live.move(job_id, RUNNING, Status.COMMITTING)
    live.move(job_id, Status.COMMITTING, Status.PARTIAL, retain_seconds=60)
    with following(http, job_id, follow="true") as follower:
        follower.until("PARTIAL")
        redis_world.forward(120)
        assert follower.rest() == []
    assert http.get(f"/v1/jobs/{job_id}/events").status_code == 404


def test_a_store_that_lost_what_was_told_ends_the_stream_instead_of_telling_something_else(
    live: LiveApi, http: httpx.Client, redis_world: RedisWorld
) -> None:
    job_id = live.job(RUNNING)
    with following(http, job_id) as follower:
        last = follower.take(2)[-1].id
        redis_world.client.ltrim(Keys(redis_world.namespace).events(job_id), 0, -3)
        live.tell(job_id, RUNNING, {"seq": 0})
        assert follower.rest() == []
    answer = http.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": last})
    assert (answer.status_code, answer.json()["code"]) == (422, "cursor.invalid")


# --- ends that are not the job's ------------------------------------------------------------


def test_a_revoked_key_ends_the_stream_before_anything_more_is_told(live: LiveApi, server: Served) -> None:
    job_id = live.job(RUNNING)
    key, token = live.key()
    admin = live.http(server.url)
    with following(live.http(server.url, token), job_id) as follower:
        follower.until("RUNNING")
        assert admin.delete(f"/v1/keys/{key.id}").status_code in {200, 204}
        live.tell(job_id, RUNNING, {"seq": 0})
        assert follower.rest() == []


def test_a_revoked_key_ends_a_silent_stream_at_the_next_sign_of_life(
    live: LiveApi, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_api.operations.event_stream.KEEP_ALIVE_SECONDS", 0.05)
    job_id = live.job(RUNNING)
    key, token = live.key()
    admin = live.http(server.url)
    with following(live.http(server.url, token), job_id) as follower:
        follower.until("RUNNING")
        assert admin.delete(f"/v1/keys/{key.id}").status_code in {200, 204}
        assert follower.rest() == []


def test_a_silent_stream_gives_signs_of_life(
    live: LiveApi, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_api.operations.event_stream.KEEP_ALIVE_SECONDS", 0.02)
    job_id = live.job(RUNNING)
    with following(http, job_id) as follower, ThreadPoolExecutor(1) as pool:
        rest = pool.submit(follower.rest)
        assert eventually(lambda: follower.comments > 3)
        live.move(job_id, RUNNING, SUCCESS)
        assert [told.status for told in rest.result()] == ["QUEUED", "RUNNING", "SUCCESS"]


def test_a_revoked_key_gets_no_answer_to_the_poll_that_it_waits_with(live: LiveApi, server: Served) -> None:
    job_id = live.job(RUNNING)
    key, token = live.key()
    admin, client = live.http(server.url), live.http(server.url, token)
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(client.get, f"/v1/jobs/{job_id}?wait=30")
        assert eventually(lambda: held(server).polls == 1)
        assert admin.delete(f"/v1/keys/{key.id}").status_code in {200, 204}
        live.move(job_id, RUNNING, SUCCESS)
        assert (poll.result().status_code, poll.result().json()["code"]) == (401, "auth.invalid")


def test_a_client_that_leaves_leaves_nothing(live: LiveApi, http: httpx.Client, server: Served) -> None:
    job_id = live.job(RUNNING)
    with following(http, job_id) as follower:
        follower.until("RUNNING")
        assert len(held(server).streams) == 1
    assert eventually(lambda: not held(server).streams, seconds=5)
    with pytest.raises(httpx.ReadTimeout):
        http.get(f"/v1/jobs/{job_id}?wait=60", timeout=0.3)
    assert eventually(lambda: held(server).polls == 0, seconds=5)
    assert eventually(lambda: 'status="499"' in httpx.get(f"{server.url}/metrics").text)


def test_open_streams_are_counted_apart_from_polls(live: LiveApi, http: httpx.Client, server: Served) -> None:
    job_id = live.job(RUNNING)
    with following(http, job_id) as follower:
        follower.until("RUNNING")
        text = httpx.get(f"{server.url}/metrics").text
        assert "vardy_event_streams 1.0" in text
        assert "vardy_waiting_requests 0.0" in text


def test_asking_for_the_head_of_a_stream_opens_none(live: LiveApi, http: httpx.Client, server: Served) -> None:
    answer = http.head(f"/v1/jobs/{live.job(RUNNING)}/events")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "etag" not in answer.headers
    assert eventually(lambda: not held(server).streams, seconds=5)


def test_when_the_api_stops_streams_end_whole_and_go_on_at_the_next(live: LiveApi) -> None:
    job_id = live.job(RUNNING)
    token = live.key()[1]
    with live.served() as first, following(live.http(first.url, token), job_id) as follower:
        told = follower.until("RUNNING")
        first.stop()
        told += follower.rest()
    live.move(job_id, RUNNING, SUCCESS)
    with live.served() as second, following(live.http(second.url, token), job_id, last=told[-1].id) as follower:
        told += follower.rest()
    assert [each.status for each in told] == ["QUEUED", "RUNNING", "SUCCESS"]


# --- slow, lost, killed ----------------------------------------------------------------------


def test_a_reader_that_takes_nothing_is_waited_for(live: LiveApi, server: Served) -> None:
    job_id = live.job(RUNNING)
    for start in range(0, 8000, 1000):
        live.tell(job_id, RUNNING, *({"seq": seq, "state": "x" * 1000} for seq in range(start, start + 1000)))
    live.move(job_id, RUNNING, SUCCESS)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        head = f"GET /v1/jobs/{job_id}/events HTTP/1.0\r\nAuthorization: Bearer {live.key()[1]}\r\n\r\n"
        slow.sendall(head.encode())
        slow.settimeout(30)
        received = slow.recv(1024)
        assert eventually(lambda: bool(held(server).streams))
        (stream,) = held(server).streams
        assert at_rest(lambda: stream._place) < 8000, "the rest was not even read"
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        while chunk := slow.recv(1 << 20):
            received += chunk
    lines = [line for line in received.split(b"\n") if line.startswith(b"id: ")]
    assert lines == [b"id: %d" % place for place in range(1, 8004)]


def test_a_restarted_server_neither_ends_a_stream_nor_costs_it_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vardy_api.operations.event_stream.KEEP_ALIVE_SECONDS", 0.2)
    port = free_port()
    server = EmbeddedServer(tmp_path, port=port, password="made-up")
    with LiveApi(server.url, "vardy") as live, live.served() as api:
        job_id = live.job(RUNNING)
        with following(live.http(api.url), job_id) as follower:
            follower.until("RUNNING")
            server.kill()
            comments = follower.comments
            with ThreadPoolExecutor(1) as pool:
                more = pool.submit(follower.next)
                assert eventually(lambda: follower.comments > comments), "it lives on without a server"
                server = EmbeddedServer(tmp_path, port=port, password="made-up")
                live.tell(job_id, RUNNING, {"seq": 0})
                effect = more.result()
            assert effect is not None
            assert (effect.id, effect.view["data"]) == ("3", {"seq": 0})
            live.move(job_id, RUNNING, SUCCESS)
            assert ids(follower.rest()) == [4]
    server.stop()


def api_process(live: LiveApi, port: int) -> Any:
    environment: dict[str, str] = {
        **os.environ,
        "VARDY_REDIS_URL": live.settings.redis_url,
        "VARDY_NAMESPACE": live.settings.namespace,
    }
    child = start_child("api", ["api", "--port", str(port)], environment=environment, show=lambda _name, _line: None)

    def is_ready() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    assert eventually(is_ready, seconds=30)
    return child


def test_a_stream_goes_on_at_another_process_after_its_own_was_killed(live: LiveApi) -> None:
    job_id = live.job(RUNNING)
    token = live.key()[1]
    port = free_port()
    first = api_process(live, port)
    with following(live.http(f"http://127.0.0.1:{port}", token), job_id) as follower:
        told = follower.until("RUNNING")
        os.kill(first.process.pid, signal.SIGKILL)
        with pytest.raises(httpx.TransportError):
            follower.rest()
    first.stop()
    live.tell(job_id, RUNNING, {"seq": 0})
    with live.served() as second, following(live.http(second.url, token), job_id, last=told[-1].id) as follower:
        told += follower.take(1)
        live.move(job_id, RUNNING, SUCCESS)
        told += follower.rest()
    assert ids(told) == [1, 2, 3, 4]
