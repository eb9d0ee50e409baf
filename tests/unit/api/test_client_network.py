"""Both clients and a network in trouble: what is sent again, how long it lasts, and what it is called."""

from __future__ import annotations

import ssl
import threading
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.clients import Kind, Late, Script, client_of
from tests.support.factories import LEA
from vardy_api.client import Vardy
from vardy_api.client_asyncio import AsyncVardy
from vardy_api.client_errors import (
    ClientError,
    NotFound,
    RateLimited,
    ServiceFailed,
    Unreachable,
    VardyProblem,
    WaitTimeout,
)
from vardy_api.client_transport import trust
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.support.api import ApiWorld

EMPTY = httpx.Response(200, json={"items": []})


@pytest.fixture(params=list(Kind))
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


@pytest.fixture
def vardy(api: ApiWorld, kind: Kind) -> Vardy:
    return client_of(api, kind)


def job_body(api: ApiWorld, **fields: object) -> dict[str, Any]:
    """A job of the service as it answers one."""
    with api.vardy() as inside:
        body = inside.get(api.job(Status.RUNNING).id).model_dump(mode="json", by_alias=True)
    return body | fields


def problem(code: str, status: int, **headers: str) -> httpx.Response:
    body = {"type": f"/problems/{code}", "title": code, "status": status, "detail": "No.", "code": code}
    return httpx.Response(status, json=body, headers=headers)


# --- what is sent again ---------------------------------------------------------------------------------------


def test_a_lost_answer_to_a_submission_is_sent_again_with_the_same_key(api: ApiWorld, vardy: Vardy) -> None:
    api.transport.lose = [httpx.ReadError("connection reset"), httpx.RemoteProtocolError("closed")]
    job = vardy.run("how much is open?", user="ana", wait=False)
    keys = {request.headers["idempotency-key"] for request in api.transport.requests}
    assert (len(api.transport.requests), len(keys)) == (3, 1)
    assert [item.id for item in vardy.list_jobs().items] == [job.id]


def test_the_callers_own_key_of_a_submission_is_sent(api: ApiWorld, vardy: Vardy) -> None:
    first = vardy.run("how much is open?", user="ana", wait=False, idempotency_key="order-17")
    again = vardy.run("how much is open?", user="ana", wait=False, idempotency_key="order-17")
    assert first.id == again.id
    assert api.transport.requests[0].headers["idempotency-key"] == "order-17"


def test_a_submission_that_is_under_way_elsewhere_is_asked_for_again(api: ApiWorld, kind: Kind) -> None:
    script = Script(
        problem("idempotency.in_flight", 409, **{"Retry-After": "1"}), httpx.Response(202, json=job_body(api))
    )
    assert script.client(kind).run("how much?", user="ana", wait=False).status is Status.RUNNING
    assert script.pauses == [1.0]


def test_a_lost_answer_to_a_decision_is_not_sent_again(api: ApiWorld, vardy: Vardy) -> None:
    job = vardy.get(api.job(Status.PENDING_APPROVAL).id)
    api.transport.requests.clear()
    api.transport.lose = [httpx.ReadError("connection reset")]
    with pytest.raises(Unreachable):
        vardy.approve(job, user=LEA)
    assert len(api.transport.requests) == 1


@pytest.mark.parametrize(
    "call",
    [lambda vardy: vardy.rotate_key("key_1"), lambda vardy: vardy.create_key(["read"])],
    ids=["rotate", "create"],
)
def test_what_hands_out_a_secret_is_not_sent_again(kind: Kind, call: Callable[[Vardy], object]) -> None:
    script = Script(httpx.ReadError("connection reset"))
    with pytest.raises(Unreachable):
        call(script.client(kind))
    assert len(script.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_verb_that_failed_somewhere_is_not_sent_again(kind: Kind, status: int) -> None:
    script = Script(httpx.Response(status, headers={"Retry-After": "1"}))
    with pytest.raises(ServiceFailed):
        script.client(kind).cancel("job_1", user=LEA)
    assert len(script.requests) == 1


def test_a_verb_that_was_refused_untried_is_sent_again(api: ApiWorld, kind: Kind) -> None:
    script = Script(problem("rate.limited", 429, **{"Retry-After": "3"}), httpx.Response(200, json=job_body(api)))
    assert script.client(kind).cancel("job_1", user=LEA).status is Status.RUNNING
    assert script.pauses == [3.0]


def test_a_request_that_never_arrived_is_sent_again_whatever_it_is(kind: Kind) -> None:
    script = Script(httpx.ConnectError("refused"))
    with pytest.raises(Unreachable) as raised:
        script.client(kind).cancel("job_1")
    assert (len(script.requests), script.pauses) == (5, [0.2, 0.5, 1.0, 2.0])
    assert "http://vardy" in raised.value.message
    assert raised.value.details == {"tries": 5}


def test_an_answer_that_cannot_be_decoded_is_a_lost_one(kind: Kind) -> None:
    script = Script(
        httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"no gzip")), EMPTY
    )
    assert script.client(kind).recipes() == ()
    assert len(script.requests) == 2


# --- how long -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Tue, 01 Dec 2026 12:00:09 GMT", "Date": "Tue, 01 Dec 2026 12:00:00 GMT"}, 9.0),
        ({"Retry-After": "Tue, 01 Dec 2026 11:00:00 GMT", "Date": "Tue, 01 Dec 2026 12:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, 0.2),
        ({"Retry-After": "-5"}, 0.2),
        ({"Retry-After": "nan"}, 0.2),
        ({"Retry-After": "Thu, 01 Jan 99999999999999999999 00:00:00 GMT"}, 0.2),
        ({}, 0.2),
    ],
)
def test_the_client_comes_back_when_it_was_told_to(kind: Kind, headers: dict[str, str], pause: float) -> None:
    script = Script(httpx.Response(503, headers=headers, json={"detail": "busy"}), EMPTY)
    assert script.client(kind).recipes() == ()
    assert (len(script.requests), script.pauses) == (2, [pause])


@pytest.mark.parametrize(("code", "status"), [("rate.limited", 429), ("service.unavailable", 503)])
def test_a_service_that_asks_for_a_long_pause_is_not_waited_for(kind: Kind, code: str, status: int) -> None:
    script = Script(problem(code, status, **{"Retry-After": "31"}))
    with pytest.raises(VardyProblem) as raised:
        script.client(kind).run("how much?", user="ana")
    assert (raised.value.code, raised.value.retry_after_seconds) == (code, 31)
    assert (len(script.requests), script.pauses) == (1, [])


def test_details_say_when_to_come_again_where_something_on_the_way_took_the_header(kind: Kind) -> None:
    body = {"type": "", "title": "", "status": 429, "detail": "No.", "code": "quota.exceeded"}
    script = Script(httpx.Response(429, json=body | {"details": {"retry_after_seconds": 5000}}))
    with pytest.raises(RateLimited) as raised:
        script.client(kind).recipes()
    assert (raised.value.retry_after_seconds, len(script.requests)) == (5000, 1)


def test_the_header_says_when_to_come_again_before_the_details_do(kind: Kind) -> None:
    body = {"type": "", "title": "", "status": 429, "detail": "No.", "code": "rate.limited"}
    limited = httpx.Response(429, json=body | {"details": {"retry_after_seconds": 9}}, headers={"Retry-After": "2"})
    script = Script(limited, EMPTY)
    assert script.client(kind).recipes() == ()
    assert script.pauses == [2.0]


@pytest.mark.parametrize("seconds", ["-5", "NaN", '"soon"', "null"])
def test_details_that_say_no_time_are_passed_by(kind: Kind, seconds: str) -> None:
    body = '{"type": "", "title": "", "status": 429, "detail": "No.", "code": "quota.exceeded", "details": '
    script = Script(httpx.Response(429, text=body + f'{{"retry_after_seconds": {seconds}}}}}'), EMPTY)
    assert script.client(kind).recipes() == ()
    assert script.pauses == [0.2]


def test_a_problem_has_the_status_that_was_answered_whatever_its_document_says(kind: Kind) -> None:
    body = {"type": "", "title": "", "status": 200, "detail": "No.", "code": "job.not_found"}
    with pytest.raises(NotFound) as raised:
        Script(httpx.Response(404, json=body)).client(kind).get("job_1")
    assert raised.value.status == 404


def test_a_service_that_is_always_busy_ends_in_the_error_that_says_when(kind: Kind) -> None:
    script = Script(problem("rate.limited", 429, **{"Retry-After": "2"}))
    with pytest.raises(RateLimited) as raised:
        script.client(kind).recipes()
    assert raised.value.retry_after_seconds == 2
    assert script.pauses == [2.0] * 4


def test_no_request_is_sent_again_after_two_minutes(kind: Kind) -> None:
    script = Script(Late(30, httpx.ReadTimeout("nothing came")))
    with pytest.raises(Unreachable):
        script.client(kind).recipes()
    assert script.seconds < 120 + 30
    script = Script(problem("rate.limited", 429, **{"Retry-After": "30"}))
    with pytest.raises(RateLimited):
        script.client(kind).recipes()
    assert script.seconds <= 120


def test_a_service_that_stays_down_is_a_problem_of_its_own(kind: Kind) -> None:
    script = Script(httpx.Response(502, content=b"<html>Bad gateway</html>"))
    with pytest.raises(ServiceFailed) as raised:
        script.client(kind).recipes()
    assert (raised.value.code, raised.value.status, len(script.requests)) == ("http.502", 502, 5)


# --- waiting --------------------------------------------------------------------------------------------------


class Cutting:
    """A service behind a proxy that cuts held requests after some seconds; its job settles after others."""

    def __init__(
        self, api: ApiWorld, *, cuts_after: float, settles_after: float, answer: httpx.Response | Exception
    ) -> None:
        self._running = job_body(api)
        self._cuts_after = cuts_after
        self._settles_after = settles_after
        self._answer = answer
        self.script = Script(self.handle)
        self.held: list[float] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        asked = request.url.params.get("wait") or request.headers.get("prefer", "").removeprefix("wait=")
        wait = float(asked or 0)
        self.held.append(wait)
        left = self._settles_after - self.script.seconds
        self.script.seconds += max(0.0, min(wait, self._cuts_after, left))
        settled = self.script.seconds >= self._settles_after
        if not settled and wait > self._cuts_after:
            if isinstance(self._answer, Exception):
                raise self._answer
            return self._answer
        return httpx.Response(200, json=self._running | ({"status": "SUCCESS", "settled": True} if settled else {}))


@pytest.mark.parametrize(
    "answer", [httpx.Response(504, content=b"<html>"), httpx.ReadTimeout("nothing"), httpx.ReadError("reset")], ids=repr
)
def test_a_wait_goes_on_by_shorter_polls_where_long_ones_are_cut(
    api: ApiWorld, kind: Kind, answer: httpx.Response | Exception
) -> None:
    service = Cutting(api, cuts_after=30, settles_after=100, answer=answer)
    assert service.script.client(kind).wait("job_1").status is Status.SUCCESS
    assert service.held == [60, 0, 15, 15, 15, 15, 15]
    assert service.script.seconds == 100


def test_a_poll_that_broke_at_once_was_not_cut_for_being_held(api: ApiWorld, kind: Kind) -> None:
    running = httpx.Response(200, json=job_body(api))
    done = httpx.Response(200, json=job_body(api) | {"status": "SUCCESS", "settled": True})
    script = Script(httpx.ReadError("reset"), running, done)
    assert script.client(kind).wait("job_1").status is Status.SUCCESS
    assert [request.url.params.get("wait") for request in script.requests] == ["60", None, "60"]


def test_a_submission_whose_held_answer_is_cut_is_sent_again_unheld(api: ApiWorld, kind: Kind) -> None:
    service = Cutting(api, cuts_after=30, settles_after=50, answer=httpx.Response(504))
    assert service.script.client(kind).run("how much?", user="ana").status is Status.SUCCESS
    assert service.held[:2] == [60, 0]
    keys = {request.headers.get("idempotency-key") for request in service.script.requests[:2]}
    assert len(keys) == 1


def test_a_wait_takes_no_longer_than_it_may(api: ApiWorld, kind: Kind) -> None:
    service = Cutting(api, cuts_after=3, settles_after=1000, answer=httpx.Response(504))
    with pytest.raises(WaitTimeout) as raised:
        service.script.client(kind).wait("job_1", timeout_seconds=20)
    assert raised.value.job.status is Status.RUNNING
    assert "after 20 s" in raised.value.message
    assert service.script.seconds == pytest.approx(20, abs=0.6)


def test_a_wait_for_a_service_that_goes_away_says_so_after_half_a_minute(api: ApiWorld, kind: Kind) -> None:
    script = Script(httpx.Response(200, json=job_body(api)), httpx.ConnectError("refused"))
    with pytest.raises(Unreachable):
        script.client(kind).wait("job_1")
    assert 25 < script.seconds < 35


@pytest.mark.parametrize("timeout_seconds", [None, 1.0])
def test_a_wait_outlasts_a_service_that_is_started_anew(
    api: ApiWorld, kind: Kind, timeout_seconds: float | None
) -> None:
    gone = [httpx.ConnectError("refused")] * 4
    script = Script(*gone, httpx.Response(200, json=job_body(api, status="SUCCESS", settled=True)))
    assert script.client(kind).wait("job_1", timeout_seconds=timeout_seconds).status is Status.SUCCESS
    assert script.pauses == [0.2, 0.5, 1.0]


# --- answers that are none ------------------------------------------------------------------------------------


def test_a_refusal_is_not_tried_again(kind: Kind) -> None:
    script = Script(httpx.Response(418, content=b"teapot"))
    with pytest.raises(VardyProblem):
        script.client(kind).recipes()
    assert (len(script.requests), script.pauses) == (1, [])


@pytest.mark.parametrize(
    "content", [b"<html>hello</html>", b"", b"[]", b"null", b'{"items": 3}', b"\xff\xfe", b"{" * 10_000]
)
def test_an_answer_that_is_no_answer_of_vardy_is_said_to_be_none(kind: Kind, content: bytes) -> None:
    script = Script(httpx.Response(200, content=content))
    with pytest.raises(ClientError, match="RecipeList") as raised:
        script.client(kind).recipes()
    assert raised.value.code == "client.bad_answer"


def test_a_redirect_is_not_followed_since_the_key_would_go_with_it(kind: Kind) -> None:
    script = Script(httpx.Response(307, headers={"Location": "https://elsewhere.example/v1/recipes?secret=1"}))
    for call in (
        lambda vardy: vardy.recipes(),
        lambda vardy: vardy.plan("job_1"),
        lambda vardy: list(vardy.events("j")),
    ):
        with pytest.raises(ClientError, match=r"https://elsewhere\.example,") as raised:
            call(script.client(kind))
        assert raised.value.code == "client.redirect"
        assert "secret" not in raised.value.message
    assert len(script.requests) == 3


def test_what_is_no_export_of_the_trail_and_no_health_is_said_to_be_none(kind: Kind) -> None:
    for content in (b"<html>\nhello</html>\n", b"{}\n"):
        vardy = Script(httpx.Response(200, content=content)).client(kind)
        for call in (lambda vardy: list(vardy.export_audit()), lambda vardy: vardy.health()):
            with pytest.raises(ClientError) as raised:
                call(vardy)
            assert raised.value.code == "client.bad_answer"


def trail(*places: int) -> bytes:
    return b"".join(b'{"place": "%d-0"}\n' % place for place in places)


def exporting(*answers: bytes) -> Script:
    return Script(
        *(httpx.Response(200, content=content, headers={"Content-Type": "application/jsonl"}) for content in answers)
    )


def test_an_export_that_something_on_the_way_cut_without_a_sign_is_gone_on_with(kind: Kind) -> None:
    script = exporting(trail(1, 2) + b'{"pla', trail(3, 4))
    assert b"\n".join([*script.client(kind).export_audit(), b""]) == trail(1, 2, 3, 4)
    assert [request.url.params.get("after") for request in script.requests] == [None, "2-0"]


def test_an_export_ends_though_new_entries_come_all_the_time(kind: Kind) -> None:
    assert len(list(exporting(trail(1)).client(kind).export_audit())) == 2


def test_lines_without_a_place_are_said_to_be_no_export(kind: Kind) -> None:
    for content in (b"[]\n", b"no\n", b"{}\n"):
        with pytest.raises(ClientError) as raised:
            list(exporting(content).client(kind).export_audit())
        assert raised.value.code == "client.bad_answer"


def test_fields_that_a_newer_service_added_are_left_out(api: ApiWorld, kind: Kind, vardy: Vardy) -> None:
    body = vardy.get(api.job(Status.PENDING_APPROVAL).id).model_dump(mode="json", by_alias=True)
    body["news"] = 1
    body["plan"]["news"] = 2
    assert Script(httpx.Response(200, json=body)).client(kind).get("job_1").plan is not None


def test_health_is_an_answer_even_when_it_is_bad(kind: Kind) -> None:
    health = Script(httpx.Response(503, json={"detail": "The store cannot be reached."})).client(kind).health()
    assert (health.ok, health.problems) == (False, ("The store cannot be reached.",))


# --- address and key ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["vardy:8000", "ftp://vardy", "http://vardy:port", "http://ana:secret@vardy"])
def test_an_address_that_is_none_is_said_to_be_none(url: str) -> None:
    with pytest.raises(ClientError) as raised:
        Vardy(url, api_key="k").health()
    assert raised.value.code == "client.bad_url"
    assert "secret" not in raised.value.message


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARDY_URL", "http://elsewhere:9/")
    monkeypatch.setenv("VARDY_API_KEY", "vk_from_environment")
    script = Script(EMPTY)
    with Vardy(transport=script.transport) as vardy:
        vardy.recipes()
    assert str(script.requests[0].url.copy_with(query=None)) == "http://elsewhere:9/v1/recipes"
    assert script.requests[0].headers["authorization"] == "Bearer vk_from_environment"


def test_certificates_are_read_where_tls_is_spoken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert trust("https://vardy") is True
    context = trust("http://vardy")
    assert isinstance(context, ssl.SSLContext)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    monkeypatch.setenv("HTTP_PROXY", "https://proxy.example")
    assert trust("http://vardy") is True


def test_several_threads_share_one_client(api: ApiWorld, vardy: Vardy) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(vardy.get(job.id).id)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [job.id] * 8


@pytest.mark.parametrize("key", ["vk_b\u00e4d", "vk_1\nX-Other: 1", "vk_\x00", b"vk_1", 5], ids=ascii)
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: Any) -> None:
    for client in (Vardy, AsyncVardy):
        with pytest.raises(ClientError) as raised:
            client("http://vardy", api_key=key)
        assert raised.value.code == "auth.invalid"
        assert str(key) not in raised.value.message


def test_a_key_may_end_in_the_newline_of_the_file_it_was_read_from(api: ApiWorld, kind: Kind) -> None:
    assert client_of(api, kind, api.token() + "\n").functions().functions


def test_a_client_shows_its_address_and_never_its_key() -> None:
    for client in (Vardy("http://vardy", api_key="vk_secret"), AsyncVardy("http://vardy", api_key="vk_secret")):
        assert repr(client) == f"{type(client).__name__}('http://vardy')"
        assert "vk_secret" not in str(vars(client))
