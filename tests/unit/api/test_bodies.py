"""What comes in: bounded, strict JSON; and what every answer carries."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.api import BODY_BYTES_MAX, run_body
from vardy_api.http.middleware import SECURITY_HEADERS, BodyLimit, UnexpectedErrors
from vardy_api.http.pages import POLICY
from vardy_worker.contracts.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from starlette.types import Message, Receive, Scope, Send

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.status import Status

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "line 1"),
        (b'{"request": NaN}', "NaN"),
        (b'{"params": {"a": -Infinity}}', "-Infinity"),
        (b'{"params": {"a": 1e999}}', "too large"),
        (b'{"params": {"a": 1, "a": 2}}', "twice"),
        (b'{"request": "\xff"}', "UTF-8"),
        (b'{"request": "\\ud800"}', "surrogate"),
        (b'{"params": {"a": ' + b"9" * 5000 + b"}}", "digits"),
        (b"[" * 100 + b"]" * 100, "deeper"),
        (b"[" * 30_000, "deeper"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b" \n", "line 2"),
    ],
)
def test_what_is_not_json_is_refused_with_the_reason(http: httpx.Client, content: bytes, said: str) -> None:
    answer = http.post("/v1/run", content=content, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "request.malformed")
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "multipart/form-data"},
        {"Content-Type": "application/json-patch+json"},
        {"Content-Type": "application/json; charset=iso-8859-1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_a_body_that_is_not_called_json_is_refused(http: httpx.Client, headers: dict[str, str]) -> None:
    answer = http.post("/v1/run", content=json.dumps(run_body()).encode(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "request.media_type")


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"judge": 0}, "/judge"),
        ({"judge": "true"}, "/judge"),
        ({"execution_repairs": "1"}, "/execution_repairs"),
        ({"execution_repairs": True}, "/execution_repairs"),
        ({"execution_repairs": 1.5}, "/execution_repairs"),
        ({"request": 1}, "/request"),
        ({"limits": {"calls_max": "5"}}, "/limits/calls_max"),
        ({"metadata": {"ticket": 4711}}, "/metadata/ticket"),
        ({"user": {"id": "ana", "roles": "support"}}, "/user/roles"),
    ],
)
def test_a_value_of_another_type_is_refused_and_not_repeated(
    http: httpx.Client, fields: dict[str, Any], at: str
) -> None:
    answer = http.post("/v1/run", json=run_body(**fields))
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    assert answer.json()["details"]["problems"][0]["at"] == at
    assert "4711" not in answer.text


def test_a_whole_number_may_have_a_fraction_of_nothing(api: ApiWorld, http: httpx.Client) -> None:
    job_id = http.post("/v1/run", json=run_body(execution_repairs=2.0, limits={"calls_max": 5})).json()["id"]
    record = api.store.get(job_id)
    assert record is not None
    assert record.submission.execution_repairs == 2


def test_a_request_without_a_body_says_that_it_is_needed(http: httpx.Client) -> None:
    answer = http.post("/v1/run")
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")


def test_numbers_beyond_two_to_the_53_stay_what_they_are(api: ApiWorld, http: httpx.Client) -> None:
    job_id = http.post("/v1/run", json=run_body(params={"id": 2**63 - 1, "ü": "☃"})).json()["id"]
    record = api.store.get(job_id)
    assert record is not None
    assert record.submission.params == {"id": 2**63 - 1, "ü": "☃"}


def test_a_body_of_exactly_the_limit_is_taken(http: httpx.Client) -> None:
    body = json.dumps(run_body(params={"x": ""})).encode()
    body = json.dumps(run_body(params={"x": "y" * (BODY_BYTES_MAX - len(body))})).encode()
    assert len(body) == BODY_BYTES_MAX
    assert http.post("/v1/run", content=body, headers=JSON).status_code == 202
    assert http.post("/v1/run", content=body + b" ", headers=JSON).status_code == 413


# --- the middleware by itself, where a client cannot go -------------------------------------------------


def exchange(app: Any, chunks: list[bytes], headers: Mapping[str, str] | None = None) -> list[Message]:
    """Sends a body in chunks to an ASGI application; what it sent back."""
    waiting: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": index < len(chunks) - 1}
        for index, chunk in enumerate(chunks)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in (headers or {"transfer-encoding": "chunked"}).items()]
    scope: Scope = {"type": "http", "method": "POST", "path": "/", "headers": raw}
    asyncio.run(app(scope, receive, send))
    return sent


async def echo(_: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def test_the_limit_holds_for_a_body_that_does_not_say_its_length() -> None:
    app = BodyLimit(echo, bytes_max=10)
    assert exchange(app, [b"12345", b"67890"])[1]["body"] == b"1234567890"
    refused = exchange(app, [b"12345", b"67890", b"1", b"never read"])
    assert refused[0]["status"] == 413
    assert (b"connection", b"close") in refused[0]["headers"]


@pytest.mark.parametrize("length", ["11", "99999999999999999999", "-5", "ten"])
def test_a_length_that_lies_does_not_help(length: str) -> None:
    sent = exchange(BodyLimit(echo, bytes_max=10), [b"12345", b"678901"], {"content-length": length})
    assert sent[0]["status"] == 413


def test_bodies_that_arrive_at_once_are_bounded_together_and_those_that_came_make_room() -> None:
    app = BodyLimit(echo, bytes_max=10, arriving_max=20)

    async def post(go_on: asyncio.Event) -> list[Message]:
        sent: list[Message] = []
        parts = [b"12345678", b"90"]

        async def receive() -> Message:
            if len(parts) == 1:
                await go_on.wait()
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message: Message) -> None:
            sent.append(message)

        scope: Scope = {"type": "http", "method": "POST", "headers": [(b"transfer-encoding", b"chunked")]}
        await app(scope, receive, send)
        return sent

    async def three_and_then_one() -> list[list[Message]]:
        go_on = asyncio.Event()
        slow = [asyncio.create_task(post(go_on)) for _ in range(3)]
        await slow[2]
        go_on.set()
        return [*await asyncio.gather(*slow), await post(go_on)]

    *taken, refused, later = asyncio.run(three_and_then_one())
    assert [each[1]["body"] for each in (*taken, later)] == [b"1234567890"] * 3
    assert (refused[0]["status"], json.loads(refused[1]["body"])["code"]) == (503, "service.busy")
    assert (b"connection", b"close") in refused[0]["headers"]


def test_nothing_is_served_to_a_client_that_left() -> None:
    async def gone(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": []})

    scope: Scope = {"type": "http", "method": "POST", "headers": [(b"content-length", b"5")]}

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(BodyLimit(gone, bytes_max=10)(scope, receive, send))
    assert sent == []


def test_a_failure_after_the_answer_began_is_not_answered_again() -> None:
    async def breaks(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        exchange(UnexpectedErrors(breaks), [b""])


# --- what every answer carries, and the service's own routes ------------------------------------------------


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/docs", "/openapi.json", "/v1/jobs", "/v1/none"])
def test_every_answer_carries_the_security_headers(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    expected = {**SECURITY_HEADERS, **({"Content-Security-Policy": POLICY} if path == "/docs" else {})}
    assert {name: answer.headers[name] for name in expected} == expected


def test_health_asks_the_store_only_for_readiness(api: ApiWorld) -> None:
    http = api.http("")
    assert http.get("/readyz").json()["ok"] is True

    def down() -> None:
        raise StoreUnavailable("down")

    api.store.ping = down  # type: ignore[method-assign] # stands for a store that is down
    assert http.get("/livez").status_code == 200
    assert (http.get("/readyz").status_code, http.get("/readyz").json()["code"]) == (503, "service.unavailable")


def test_metrics_count_requests_by_route_and_jobs_by_status(api: ApiWorld, http: httpx.Client) -> None:
    http.post("/v1/run", json=run_body())
    job = api.job()
    http.get(f"/v1/jobs/{job.id}")
    http.get("/v1/nowhere")
    text = api.http("").get("/metrics").text
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["vardy_http_requests_total", "/v1/jobs/{job_id}", "200", "GET"] == 1
    assert samples["vardy_http_requests_total", "/v1/run", "202", "POST"] == 1
    assert samples["vardy_http_requests_total", "404", "GET", "unmatched"] == 1
    assert samples["vardy_jobs", "QUEUED"] == 2
    assert samples["vardy_queue_depth", "run"] == 1
    assert samples[("vardy_store_up",)] == 1
    assert job.id not in text


def test_metrics_are_served_while_the_store_is_down(api: ApiWorld) -> None:
    def down() -> dict[Status, int]:
        raise StoreUnavailable("down")

    api.store.counts = down  # type: ignore[method-assign] # stands for a store that is down
    assert "vardy_store_up 0.0" in api.http("").get("/metrics").text
