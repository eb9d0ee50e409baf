"""The scripted model's side of the wire, seen by a plain HTTP client."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from vardy_worker.contracts.limits import Limits
from vardy_worker.demo.phrases import PHRASES
from vardy_worker.demo.scripted import HttpFault, PlainFault, ScriptedModel
from vardy_worker.demo.shop import functions
from vardy_worker.functions import build_catalogue
from vardy_worker.prompts import program_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def body(request: str) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": f"<request>\n{request}\n</request>"}]}


def post(server: ScriptedModel, content: Any) -> httpx.Response:
    return httpx.post(f"{server.url}/chat/completions", json=content, timeout=10)


def said(response: httpx.Response) -> str:
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


def test_it_answers_in_the_form_of_the_protocol(server: ScriptedModel) -> None:
    response = post(server, body("Cancel order 17"))
    answer = response.json()
    assert response.status_code == 200
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["choices"][0]["message"]["role"] == "assistant"
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
    assert "cancel_order({ order_id: 17" in said(response)


def test_it_reads_the_request_out_of_a_real_prompt(server: ScriptedModel) -> None:
    catalogue = build_catalogue(functions)
    for phrase in PHRASES:
        messages = program_prompt(catalogue=catalogue, request=phrase.example, params={}, limits=Limits())
        response = post(server, {"model": "scripted", "messages": [message.model_dump() for message in messages]})
        assert "I am the scripted model" not in said(response), phrase.example


def test_it_never_makes_up_a_program(server: ScriptedModel) -> None:
    text = said(post(server, body("Delete everything")))
    assert "run(" not in text
    assert "“Delete everything”" in text
    assert "Cancel order 17" in text


def test_it_keeps_what_it_received_until_told_to_forget(server: ScriptedModel) -> None:
    response = httpx.post(
        f"{server.url}/chat/completions",
        content=b'{"model": "scripted",  "messages": []}',
        headers={"Authorization": "Bearer k"},
        timeout=10,
    )
    assert response.status_code == 200
    assert server.requests[0].body == b'{"model": "scripted",  "messages": []}'
    assert server.requests[0].headers["authorization"] == "Bearer k"
    server.forget()
    assert server.requests == ()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"messages": 1}', b'{"messages": [{"role": "user"}]}'])
def test_a_malformed_request_is_a_400(server: ScriptedModel, content: bytes) -> None:
    response = httpx.post(f"{server.url}/chat/completions", content=content, timeout=10)
    assert response.status_code == 400
    assert "not a chat-completions request" in response.json()["error"]["message"]


def test_other_addresses_are_404_and_the_model_is_listed(server: ScriptedModel) -> None:
    assert httpx.get(f"{server.url}/models", timeout=10).json()["data"][0]["id"] == "scripted"
    assert httpx.get(f"{server.url}/other", timeout=10).status_code == 404
    assert httpx.post(f"{server.url}/embeddings", json={}, timeout=10).status_code == 404


def test_streaming_is_refused(server: ScriptedModel) -> None:
    assert post(server, {**body("Cancel order 17"), "stream": True}).status_code == 400


def test_faults_are_used_up_in_order(server: ScriptedModel) -> None:
    server.misbehave(HttpFault(429, retry_after="3"), PlainFault("empty"), PlainFault("truncate"))
    limited, empty, cut, good = (post(server, body("Cancel order 17")) for _ in range(4))
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "3")
    assert empty.json()["choices"] == []
    assert cut.json()["choices"][0]["finish_reason"] == "length"
    assert said(good).startswith(said(cut))


def test_many_requests_are_served_at_once() -> None:
    with ScriptedModel(delay_seconds=0.3) as server, ThreadPoolExecutor(60) as pool:
        started = time.monotonic()
        answers = list(pool.map(lambda n: post(server, body(f"Cancel order {n}")), range(1, 61)))
        took = time.monotonic() - started
    assert {answer.status_code for answer in answers} == {200}
    assert took < 60 * 0.3 / 2


def test_stopping_ends_a_request_that_hangs() -> None:
    server = ScriptedModel().start()
    url = server.url
    server.misbehave(PlainFault("hang"))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(httpx.post, f"{url}/chat/completions", json=body("Cancel order 17"), timeout=30)
        assert server.wait_for_requests(1, timeout_seconds=10)
        server.stop()
        with pytest.raises(httpx.TransportError):
            waiting.result(timeout=10)
    server.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models", timeout=5)
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url
