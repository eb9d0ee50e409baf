"""What holds for every route, over real connections: methods, addresses, queries, headers, bodies."""

from __future__ import annotations

import http.client
import json
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.api import ApiWorld, run_body
from tests.support.factories import ANA
from tests.support.recipes import SOURCE
from tests.support.serving import served
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.api import LoopThread


@pytest.fixture(scope="module")
def world(loop_thread: LoopThread) -> ApiWorld:
    return ApiWorld(loop_thread)


@pytest.fixture(scope="module")
def url(world: ApiWorld) -> Iterator[str]:
    with served(world.app) as server:
        yield server.url


@pytest.fixture(scope="module")
def wire(world: ApiWorld, url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {world.token()}"}, timeout=30) as client:
        client.put("/v1/recipes/days", json={"source": SOURCE}).raise_for_status()
        yield client


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


# --- methods ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs", "/v1/jobs/{job}", "/v1/jobs/{job}/plan", "/v1/jobs/job_none", "/v1/recipes", "/v1/recipes/days",
        "/v1/functions", "/v1/rules", "/v1/keys", "/v1/audit/export", "/v1/nowhere", "/livez", "/docs",
        "/openapi.json", "/problems/internal",
    ],
)  # fmt: skip
def test_head_answers_as_get_does_without_a_body(world: ApiWorld, wire: httpx.Client, path: str) -> None:
    path = path.format(job=world.job(Status.PENDING_APPROVAL).id)
    got, head = wire.get(path), wire.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    varying = {"date", "transfer-encoding"}
    assert {k: v for k, v in head.headers.items() if k not in varying} == {
        k: v for k, v in got.headers.items() if k not in varying
    }


def test_a_connection_goes_on_after_head(wire: httpx.Client) -> None:
    connection = http.client.HTTPConnection(urlsplit(str(wire.base_url)).netloc, timeout=10)
    headers = {"Authorization": wire.headers["Authorization"]}
    for method in ("HEAD", "GET", "HEAD", "GET"):
        connection.request(method, "/v1/functions", headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        assert (answer.status, bool(content)) == (200, method == "GET")
    connection.close()


def test_head_of_a_stream_does_not_hold_it_open(world: ApiWorld, wire: httpx.Client) -> None:
    answer = wire.head(f"/v1/jobs/{world.job(Status.RUNNING).id}/events")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert eventually(lambda: not world.operations.held.streams)


def test_head_is_measured_as_the_route_that_it_asks(world: ApiWorld, wire: httpx.Client) -> None:
    wire.head(f"/v1/jobs/{world.job().id}")
    line = 'vardy_http_requests_total{method="HEAD",route="/v1/jobs/{job_id}",status="200"}'
    assert line in wire.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/v1/run", "OPTIONS, POST"),
        ("/v1/recipes/days", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("/v1/users/a/b/totals", "DELETE, OPTIONS"),
        ("/livez", "GET, HEAD, OPTIONS"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
    ],
)
def test_options_tells_the_methods_of_an_address(wire: httpx.Client, path: str, allow: str) -> None:
    answer = wire.options(path)
    assert (answer.status_code, answer.content, answer.headers["allow"]) == (204, b"", allow)
    refused = wire.request("PATCH", path)
    assert (*code_of(refused), refused.headers["allow"]) == (405, "request.method", allow)


def test_options_of_no_address_is_not_found(wire: httpx.Client) -> None:
    assert code_of(wire.options("/v1/nowhere")) == (404, "request.not_found")


def test_browsers_of_other_origins_are_given_nothing(wire: httpx.Client) -> None:
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    answer = wire.options("/v1/run", headers=asked)
    assert not [name for name in answer.headers if name.startswith("access-control")]


# --- addresses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/v1/jobs/", "//v1/jobs", "/v1//jobs", "/v1/recipes/days/", "/v1/recipes/days%2F", "/V1/jobs"],
)
def test_an_address_is_taken_as_it_is_or_not_at_all(wire: httpx.Client, path: str) -> None:
    answer = wire.send(wire.build_request("GET", httpx.URL(str(wire.base_url)).copy_with(raw_path=path.encode())))
    assert code_of(answer) == (404, "request.not_found")
    assert "location" not in answer.headers


def test_an_encoded_slash_is_a_slash(wire: httpx.Client) -> None:
    assert wire.get("/v1/recipes/days%2Fversions").json()["items"][0]["version"] == 1
    assert wire.delete("/v1/users/team%2Fana/totals").status_code == 204


@pytest.mark.parametrize("name", ["x" * 7000, "%00", "%FF%FE", "%F0%9F%8D%8B", "..%2e", "%ED%A0%80", "%"])
@pytest.mark.parametrize(
    ("path", "code"),
    [("/v1/jobs/{}", "job.not_found"), ("/v1/recipes/{}", "recipe.not_found"), ("/problems/{}", "request.not_found")],
)
def test_an_odd_id_is_not_found_and_not_repeated_at_length(wire: httpx.Client, path: str, code: str, name: str) -> None:
    answer = wire.get(path.format(name))
    assert code_of(answer) == (404, code)
    assert len(answer.content) < 1000


# --- queries ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "at", "said"),
    [
        ("/v1/jobs?statsu=FAILED", "query:statsu", "do you mean `status`"),
        ("/v1/jobs?created_befor=2024", "query:created_befor", "do you mean `created_after`"),
        ("/v1/jobs?limit=1&limit=2", "query:limit", "more than once"),
        ("/v1/recipes?q=a", "query:q", "there are: `cursor`, `limit`"),
        ("/v1/queues?a=1", "query:a", "there are: none"),
        ("/v1/jobs?=1", "query:", "There is no parameter ''"),
    ],
)
def test_a_parameter_that_is_not_known_is_refused(wire: httpx.Client, path: str, at: str, said: str) -> None:
    answer = wire.get(path)
    assert code_of(answer) == (422, "request.invalid")
    [problem] = answer.json()["details"]["problems"]
    assert problem["at"] == at
    assert said in problem["message"]


def test_a_filter_that_takes_several_is_given_several_times(world: ApiWorld, wire: httpx.Client) -> None:
    job = world.job(Status.PARTIAL)
    found = wire.get("/v1/jobs?status=PARTIAL&status=PLANNED,SUCCESS").json()["items"]
    assert job.id in [item["id"] for item in found]


def test_health_routes_pass_over_what_a_probe_adds(wire: httpx.Client) -> None:
    assert wire.get("/livez?from=probe").status_code == 200


@pytest.mark.parametrize("path", ["/v1/jobs?created_after={}", "/v1/audit?after={}", "/v1/audit?before={}"])
@pytest.mark.parametrize(
    ("time", "status"),
    [
        ("2026-01-31T12:00:00Z", 200),
        ("2026-01-31T12:00:00.5%2B02:00", 200),
        ("2026-01-31T12:00", 200),
        ("2026-01-31", 200),
        ("0.5", 422),
        ("1769860800", 422),
        ("-1", 422),
        ("yesterday", 422),
        ("2026-02-30T00:00:00Z", 422),
        ("", 422),
    ],
)
def test_a_time_is_iso_8601_and_no_number(wire: httpx.Client, path: str, time: str, status: int) -> None:
    assert wire.get(path.format(time)).status_code == status


# --- who calls comes first ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [("GET", "/v1/jobs?nothing=1", b""), ("POST", "/v1/run", b"{"), ("POST", "/v1/run", b"[" * 1000)],
)
def test_a_caller_without_a_key_learns_nothing_else(url: str, method: str, path: str, content: bytes) -> None:
    assert code_of(httpx.request(method, url + path, content=content)) == (401, "auth.missing")


# --- headers ------------------------------------------------------------------------------


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*", "*/*;q=0", ""])
def test_what_is_accepted_makes_no_difference_to_a_job(world: ApiWorld, wire: httpx.Client, accept: str) -> None:
    answer = wire.get(f"/v1/jobs/{world.job().id}", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON", "application/json; charset=UTF-8", 'application/json;charset="utf-8"'],
)
def test_json_is_json_however_it_is_written(wire: httpx.Client, content_type: str) -> None:
    body = json.dumps(run_body()).encode()
    assert wire.post("/v1/run", content=body, headers={"Content-Type": content_type}).status_code == 202


@pytest.mark.parametrize(
    ("lines", "applied"),
    [
        (["wait=0.01"], "wait=0.01"),
        (["respond-async, wait=0.01"], "wait=0.01"),
        (["respond-async", "Wait = 0.01"], "wait=0.01"),
        (['wait="0.01"; x=1'], "wait=0.01"),
        (["wait=0.01", "wait=30"], "wait=0.01"),
        (["wait"], None),
        (["wait=soon"], None),
        (["wait=-1"], None),
        (["return=minimal"], None),
        (["wait=nan"], None),
    ],
)
def test_a_preference_is_applied_or_passed_over(wire: httpx.Client, lines: list[str], applied: str | None) -> None:
    answer = wire.post("/v1/run", json=run_body(), headers=[("Prefer", line) for line in lines])
    assert (answer.status_code, answer.headers.get("preference-applied")) == (202, applied)


def test_two_idempotency_keys_are_none(wire: httpx.Client) -> None:
    answer = wire.post("/v1/run", json=run_body(), headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")])
    assert code_of(answer) == (422, "request.invalid")


def test_two_digests_name_no_plan(world: ApiWorld, wire: httpx.Client) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    tag = f'"{job.digest}"'
    path = f"/v1/jobs/{job.id}/decisions"
    decision = {"decision": "approve", "user": {"id": "lea", "roles": ["support_lead"]}}
    answer = wire.post(path, json=decision, headers=[("If-Match", tag), ("If-Match", tag)])
    assert code_of(answer) == (412, "digest.mismatch")


@pytest.mark.parametrize("path", ["/v1/jobs/{job}", "/v1/jobs", "/v1/recipes", "/v1/recipes/days", "/v1/functions",
                                  "/v1/rules", "/v1/keys", "/v1/jobs/{job}/plan"])  # fmt: skip
def test_what_did_not_change_is_not_sent_again(world: ApiWorld, wire: httpx.Client, path: str) -> None:
    path = path.format(job=world.job(Status.PENDING_APPROVAL).id)
    first = wire.get(path)
    tag = first.headers["etag"]
    assert tag.startswith('"')
    for if_none_match in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = wire.get(path, headers={"If-None-Match": if_none_match})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == first.headers["cache-control"]
    lines = wire.get(path, headers=[("If-None-Match", '"other"'), ("If-None-Match", tag)])
    assert lines.status_code == 304
    for if_none_match in ('"other"', tag.strip('"'), ""):
        assert wire.get(path, headers={"If-None-Match": if_none_match}).status_code == 200


def test_the_tag_of_a_submission_is_that_of_reading_it(wire: httpx.Client) -> None:
    answer = wire.post("/v1/run", json=run_body())
    read = wire.get(answer.headers["location"], headers={"If-None-Match": answer.headers["etag"]})
    assert read.status_code == 304


# --- bodies -------------------------------------------------------------------------------


def exchange(url: str, *parts: bytes, until: bytes) -> bytes:
    """Sends the parts of a request over one connection, each when what came so far ends with `until`."""
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=10) as connection:
        received = b""
        for part in parts:
            connection.sendall(part)
            while until not in received:
                received += connection.recv(4096)
        while chunk := connection.recv(4096):
            received += chunk
        return received


def head_of(wire: httpx.Client, *lines: str) -> bytes:
    given = ("POST /v1/run HTTP/1.1", "Host: vardy", f"Authorization: {wire.headers['Authorization']}",
             "Content-Type: application/json", "Connection: close", *lines)  # fmt: skip
    return "\r\n".join([*given, "", ""]).encode()


def test_a_client_that_asks_first_is_told_to_go_on(wire: httpx.Client) -> None:
    body = json.dumps(run_body()).encode()
    head = head_of(wire, f"Content-Length: {len(body)}", "Expect: 100-continue")
    received = exchange(str(wire.base_url), head, body, until=b"HTTP/1.1 100")
    assert b"HTTP/1.1 202" in received


def test_a_body_may_come_in_chunks(wire: httpx.Client) -> None:
    body = json.dumps(run_body()).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:10], body[10:])) + b"0\r\n\r\n"
    received = exchange(str(wire.base_url), head_of(wire, "Transfer-Encoding: chunked") + chunks, until=b"")
    assert received.startswith(b"HTTP/1.1 202")


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/json"}, {"Content-Type": "text/plain"}])
def test_a_body_that_may_be_left_out_may_be_empty(world: ApiWorld, wire: httpx.Client, headers: dict[str, str]) -> None:
    key = {"Authorization": f"Bearer {world.token(Scope.SUBMIT, person=ANA)}"}
    assert wire.post(f"/v1/jobs/{world.job().id}/cancel", headers={**key, **headers}).status_code == 200


def test_a_body_where_none_is_taken_is_not_looked_at(wire: httpx.Client) -> None:
    for content in (b"{}", b"no JSON", b"\xff"):
        assert wire.request("GET", "/v1/functions", content=content).status_code == 200
