"""Following a job with the client, over streams that break in every way."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.clients import Chunks, Kind, Script, stream
from vardy_api.client_errors import ClientError, NotFound, RateLimited, Unauthorized, Unreachable
from vardy_api.shapes import EventView
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.support.api import ApiWorld

pytestmark = pytest.mark.parametrize("kind", list(Kind))
END = httpx.Response(204)
BROKEN = httpx.ReadError("connection reset")
SILENT = httpx.ReadTimeout("nothing came")


def told(*places: int) -> bytes:
    return b"".join(
        f'event: status\ndata: {{"id":"{place}","type":"status","at":"2026-01-31T12:00:00Z",'
        f'"data":{{"status":"RUNNING"}}}}\nid: {place}\n\n'.encode()
        for place in places
    )


def heard(script: Script, kind: Kind, **options: object) -> list[str]:
    with script.client(kind) as vardy:
        return [event.id for event in vardy.events("job_1", **options)]  # type: ignore[arg-type] # as the test gives them


def resumed_at(script: Script) -> list[str | None]:
    return [request.headers.get("last-event-id") for request in script.requests]


def problem(code: str, status: int, **headers: str) -> httpx.Response:
    body = {"type": f"/problems/{code}", "title": code, "status": status, "detail": "No.", "code": code}
    return httpx.Response(status, json=body, headers=headers)


def test_a_stream_is_told_to_its_end(kind: Kind) -> None:
    script = Script(stream(b"retry: 1000\n\n", told(1, 2), b": \n\n", told(3)), END)
    with script.client(kind) as vardy:
        events = list(vardy.events("job_1"))
    assert [event.id for event in events] == ["1", "2", "3"]
    assert all(isinstance(event, EventView) and event.data == {"status": "RUNNING"} for event in events)
    assert resumed_at(script) == [None, "3"]
    assert script.pauses == []


def test_a_stream_begins_after_a_known_event_and_may_go_on_past_settlement(kind: Kind) -> None:
    script = Script(stream(told(5)), END)
    assert heard(script, kind, after="4", follow=True) == ["5"]
    assert resumed_at(script) == ["4", "5"]
    assert {request.url.params["follow"] for request in script.requests} == {"true"}


def test_a_job_that_has_nothing_to_tell_ends_at_once(kind: Kind) -> None:
    assert heard(Script(END), kind) == []


def test_a_stream_that_breaks_at_any_byte_is_taken_up_without_loss_or_repetition(kind: Kind) -> None:
    whole = told(1, 2)
    for place in range(len(whole) + 1):
        for broken in (BROKEN, None):
            first = stream(whole[:place], *([broken] if broken else []))
            whole_left = {None: told(1, 2), "1": told(2), "2": b""}

            def rest(request: httpx.Request, left: dict[str | None, bytes] = whole_left) -> httpx.Response:
                return stream(left[request.headers.get("last-event-id")])

            script = Script(first, rest, END)
            assert heard(script, kind) == ["1", "2"], place


def test_a_stream_in_single_bytes_is_the_same_stream(kind: Kind) -> None:
    script = Script(stream(*(bytes([byte]) for byte in told(1, 2))), END)
    assert heard(script, kind) == ["1", "2"]


def test_a_reader_that_leaves_early_closes_the_stream(kind: Kind) -> None:
    body = Chunks(told(1, 2, 3))
    script = Script(httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=body))
    with script.client(kind) as vardy:
        assert [event.id for event in islice(vardy.events("job_1"), 1)] == ["1"]
    assert body.closed


def test_pauses_are_those_that_the_service_asks_for(kind: Kind) -> None:
    busy = problem("service.unavailable", 503, **{"Retry-After": "7"})
    script = Script(stream(b"retry: 2500\n\n", BROKEN), busy, stream(told(1)), END)
    assert heard(script, kind) == ["1"]
    assert script.pauses == [2.5, 7.0]


@pytest.mark.parametrize(("said", "pause"), [(b"-5", 0.0), (b"9999999", 30.0), (b"soon", 0.2)])
def test_a_pause_that_makes_no_sense_is_bounded(kind: Kind, said: bytes, pause: float) -> None:
    script = Script(stream(b"retry: " + said + b"\n\n", BROKEN), stream(told(1)), END)
    assert heard(script, kind) == ["1"]
    assert script.pauses == [pause]


def test_a_stream_that_ends_without_a_word_is_not_opened_again_in_a_rush(kind: Kind) -> None:
    script = Script(stream(b": \n\n"), stream(), stream(told(1)), END)
    assert heard(script, kind) == ["1"]
    assert script.pauses == [1.0, 1.0]


def test_a_stream_that_is_told_from_its_begin_again_tells_nothing_twice(kind: Kind) -> None:
    script = Script(stream(told(1, 2)), stream(told(1, 2)), stream(told(1, 2, 3), BROKEN), stream(told(2, 3, 10)), END)
    assert heard(script, kind) == ["1", "2", "3", "10"]
    assert script.pauses == [1.0, 0.2]


@pytest.mark.parametrize("message", [b"data: {\n\n", b"id: x\ndata: {}\n\n", b"id: " + b"9" * 5000 + b"\ndata: {}\n\n"])
def test_messages_that_no_job_has_are_passed_by_and_not_asked_for_in_a_rush(kind: Kind, message: bytes) -> None:
    script = Script(stream(message), stream(message, told(1)), END)
    assert heard(script, kind) == ["1"]
    assert script.pauses == [1.0]


def test_a_service_that_stays_away_is_unreachable_after_half_a_minute(kind: Kind) -> None:
    script = Script(stream(told(1)), httpx.ConnectError("refused"))
    with pytest.raises(Unreachable), script.client(kind) as vardy:
        list(vardy.events("job_1"))
    assert len(script.requests) == 1 + 9
    assert 20 < script.seconds < 40


def test_what_the_service_refuses_is_raised(kind: Kind) -> None:
    with pytest.raises(NotFound):
        heard(Script(problem("job.not_found", 404)), kind)
    with pytest.raises(Unauthorized):
        heard(Script(stream(told(1)), problem("auth.invalid", 401)), kind)
    with pytest.raises(RateLimited) as raised:
        heard(Script(problem("rate.limited", 429, **{"Retry-After": "50"})), kind)
    assert raised.value.retry_after_seconds == 50
    with pytest.raises(ClientError, match="not a stream"):
        heard(Script(httpx.Response(200, json={})), kind)
    with pytest.raises(ClientError, match="EventView"):
        heard(Script(stream(b"event: status\ndata: {}\nid: 1\n\n")), kind)


def test_a_job_that_goes_while_it_is_followed_ends_the_events(kind: Kind) -> None:
    assert heard(Script(stream(told(1)), problem("job.not_found", 404)), kind) == ["1"]


def test_an_event_of_a_kind_that_a_newer_service_added_is_passed_by(kind: Kind) -> None:
    script = Script(stream(told(1), b'event: mood\ndata: {"id":"2"}\nid: 2\n\n'), END)
    assert heard(script, kind) == ["1"]
    assert resumed_at(script) == [None, "2"]


@pytest.mark.parametrize(
    "hindered",
    [SILENT, stream(SILENT), httpx.Response(504, content=b"<html>")],
    ids=["no answer", "buffered", "gateway"],
)
def test_where_streams_do_not_come_through_events_are_told_when_the_job_has_settled(
    api: ApiWorld, kind: Kind, hindered: httpx.Response | Exception
) -> None:
    record = api.job()
    with api.vardy() as inside:
        running = inside.get(record.id).model_dump(mode="json", by_alias=True)
    settled = running | {"status": "SUCCESS", "settled": True}
    script = Script(hindered, httpx.Response(200, json=running), httpx.Response(200, json=settled),
                    stream(told(1, 2)), httpx.Response(200, json=settled), END)  # fmt: skip
    assert heard(script, kind) == ["1", "2"]
    stream_ones = [request.url.path.endswith("/events") for request in script.requests]
    assert stream_ones == [True, False, False, True, False, True]


def as_job(api: ApiWorld, status: Status) -> httpx.Response:
    with api.vardy() as inside:
        job = inside.get(api.job().id).model_dump(mode="json", by_alias=True)
    return httpx.Response(200, json=job | {"status": status.value, "settled": True})


def test_a_follower_without_streams_looks_again_while_something_can_become_of_the_job(
    api: ApiWorld, kind: Kind
) -> None:
    pending, done = as_job(api, Status.PENDING_APPROVAL), as_job(api, Status.SUCCESS)
    script = Script(SILENT, pending, stream(told(1)), pending, END, done, stream(told(2)), done, END)
    assert heard(script, kind, follow=True) == ["1", "2"]
    assert script.pauses == [5.0]


def test_a_follower_without_streams_ends_with_a_job_that_nobody_can_requeue(api: ApiWorld, kind: Kind) -> None:
    failed = as_job(api, Status.FUNCTION_ERROR)
    script = Script(SILENT, failed, stream(told(1)), failed, END)
    assert heard(script, kind, follow=True) == ["1"]
    assert script.pauses == []


def test_patience_begins_anew_with_every_stream_that_was_there(kind: Kind) -> None:
    away = [httpx.ConnectError("refused")] * 5
    script = Script(stream(told(1), BROKEN), *away, stream(told(2), BROKEN), *away, stream(told(3)), END)
    assert heard(script, kind) == ["1", "2", "3"]


def test_a_stream_that_falls_silent_after_it_told_something_is_opened_again(kind: Kind) -> None:
    script = Script(stream(told(1), SILENT), stream(told(2)), END)
    assert heard(script, kind) == ["1", "2"]
    assert resumed_at(script) == [None, "1", "2"]
