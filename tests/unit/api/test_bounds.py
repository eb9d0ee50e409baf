"""What one request can cost, and what answers carry whoever asks."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter

from tests.support.api import ApiWorld, run_body
from vardy_api.http.json_body import JSON_BRACKETS_MAX, MISFITS_MAX, parse_json, typed_json
from vardy_api.http.middleware import SECURITY_HEADERS
from vardy_api.operations.submit import PROBLEMS_MAX
from vardy_api.shapes import MODEL_TEXT_MAX, Problem, RunRequest
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope
from vardy_worker.programs import extract

if TYPE_CHECKING:
    from types import FrameType

    import httpx

    from tests.support.api import LoopThread


def test_a_body_of_a_hundred_thousand_empty_arrays_is_not_even_parsed() -> None:
    inside = b"[]," * (JSON_BRACKETS_MAX - 2) + b"[]"
    assert parse_json(b"[" + inside + b"]") is not None
    with pytest.raises(RequestError, match="objects and arrays"):
        parse_json(b"[" + inside + b",[]]")


def test_of_many_functions_that_do_not_exist_the_first_are_told(http: httpx.Client) -> None:
    answer = http.post("/v1/run", json=run_body(functions=[f"f{number}" for number in range(3000)]))
    assert answer.json()["code"] == "request.invalid"
    assert len(answer.json()["details"]["problems"]) == PROBLEMS_MAX


def test_of_many_limits_that_do_not_exist_the_first_are_told(http: httpx.Client) -> None:
    answer = http.post("/v1/run", json=run_body(limits={f"l{number}": 1 for number in range(3000)}))
    assert answer.json()["code"] == "request.invalid"
    assert len(answer.json()["details"]["problems"]) == PROBLEMS_MAX


@pytest.mark.parametrize(
    "body",
    [
        {"request": "x", "functions": [1] * (MISFITS_MAX + 1)},
        {"request": "x", "user": {"id": "ana", "roles": [1] * (MISFITS_MAX + 1)}},
        {"request": "x", "metadata": {f"m{number}": 1 for number in range(MISFITS_MAX + 1)}},
        {"request": "x", **{f"f{number}": 1 for number in range(MISFITS_MAX + 1)}},
    ],
)
def test_very_many_values_that_do_not_fit_are_counted_and_not_looked_at_one_by_one(body: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match=f"has {MISFITS_MAX + 1} values that do not fit") as refused:
        typed_json(TypeAdapter(RunRequest), json.dumps(body).encode())
    assert refused.value.details["problems"][0]["at"] == ""


def test_a_text_longer_than_models_write_is_not_searched_for_a_program(loop_thread: LoopThread) -> None:
    program = "async function run(params) { return 1; }\n"
    longest = program + " " * (MODEL_TEXT_MAX - len(program))
    with ApiWorld(loop_thread, request_bytes_max=2 * MODEL_TEXT_MAX).http() as http:
        assert http.post("/v1/programs/check", json={"text": longest}).json()["ok"]
        answer = http.post("/v1/programs/check", json={"text": longest + " "})
    assert answer.json()["details"]["problems"][0]["at"] == "/text"


def calls_of(text: str) -> int:
    """Calls of functions that the search for a program in the text takes."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        extract(text, program_bytes_max=64 * 1024, functions=())
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("line", ["```js\n", "~~~\n", "> ```js\n", "x ```js\n", "```md\n", "```\n```\n"])
def test_a_fence_is_read_once_however_many_others_there_are(line: str) -> None:
    """Each line of two hundred more costs the same few calls, not some for every block before it."""
    assert calls_of(line * 800) - calls_of(line * 600) < 200 * 30


# --- what needs no key -----------------------------------------------------------------------------------

OPEN = [
    "/livez",
    "/readyz",
    "/metrics",
    "/docs",
    "/openapi.json",
    "/problems",
    "/problems/job.not_found",
    "/nowhere",
    "/v1/jobs",
]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
@pytest.mark.parametrize("path", OPEN)
def test_every_answer_carries_the_security_headers_and_names_no_software(
    api: ApiWorld, path: str, accept: str, method: str
) -> None:
    with api.http("") as stranger:
        answer = stranger.request(method, path, headers={"Accept": accept, "Origin": "https://elsewhere.example"})
    for name in SECURITY_HEADERS:
        assert answer.headers[name], name
    assert "'unsafe" not in answer.headers["Content-Security-Policy"]
    named = {name.lower() for name in answer.headers}
    assert not named & {"server", "x-powered-by", "via", "set-cookie"}
    assert not {name for name in named if name.startswith("access-control-")}
    if answer.status_code >= 400 and method != "HEAD":
        Problem.model_validate_json(answer.content)


def test_an_answer_that_nothing_changed_carries_them_too(api: ApiWorld, http: httpx.Client) -> None:
    place = f"/v1/jobs/{api.job().id}"
    answer = http.get(place, headers={"If-None-Match": http.get(place).headers["ETag"]})
    assert answer.status_code == 304
    assert SECURITY_HEADERS.items() <= {**{name: answer.headers.get(name) for name in SECURITY_HEADERS}}.items()


def test_an_answer_with_a_secret_is_kept_by_nobody(http: httpx.Client) -> None:
    answer = http.post("/v1/keys", json={"name": "n", "scopes": ["read"]})
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    rotated = http.post(f"/v1/keys/{answer.json()['id']}/rotate", json={})
    assert rotated.status_code == 200
    assert rotated.headers["Cache-Control"] == "no-store"


def test_pages_for_people_have_no_script_and_load_nothing(api: ApiWorld) -> None:
    with api.http("") as stranger:
        for path in ("/docs", "/problems/job.not_found"):
            page = stranger.get(path, headers={"Accept": "text/html"})
            assert page.headers["Content-Type"].startswith("text/html")
            policy = page.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'"), "a style needs its hash there"
            assert not re.search(
                r"<(script|link|img|iframe|form|object)\b|@import|url\(|\bon\w+=|javascript:", page.text
            )


# --- metrics ---------------------------------------------------------------------------------------------


def test_metrics_need_a_key_where_the_deployment_says_so(loop_thread: LoopThread) -> None:
    world = ApiWorld(loop_thread, metrics_key_needed=True)
    expected = {"": 401, "vk_wrong_key": 401, world.token(Scope.SUBMIT, Scope.READ): 403}
    expected |= {world.token(Scope.OPERATE): 200, world.token(Scope.ADMIN): 200}
    for token, status in expected.items():
        with world.http(token) as http:
            answer = http.get("/metrics")
        assert answer.status_code == status
        assert ("vardy_jobs" in answer.text) is (status == 200)


def test_metrics_name_no_people_keys_or_jobs(http: httpx.Client) -> None:
    job = http.post("/v1/run", json=run_body(request="a_marker_in_a_request", recipe=None)).json()
    text = http.get("/metrics").text
    for private in (job["id"], job["user"]["id"], "shop", "a_marker_in_a_request", "vk_", "key_"):
        assert private not in re.sub("vardy_", "", text)
