"""The model port over the real litellm and real HTTP, against the scripted server."""

from __future__ import annotations

import logging
import random
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from vardy_worker.adapters.litellm_model import AT_ONCE_MAX, Backoff, LitellmModel
from vardy_worker.contracts.errors import ModelRejected, ModelUnavailable
from vardy_worker.contracts.model import Message, ModelFailed, ModelReply, ModelRequest
from vardy_worker.demo.scripted import MODEL, Fault, HttpFault, PlainFault, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_worker.ports import Model

# The library prepares a request in a thread; one that is cancelled meanwhile, as on a busy machine, is left behind.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine 'OpenAIChatCompletion.acompletion' was never awaited")

MARKER = "marker-5d1c"
OTHER = "openai/scripted-two"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        for name, value in scripted.environment().items():
            monkeypatch.setenv(name, value)
        yield scripted


class Pauses:
    """Stands in for sleeping, and remembers for how long."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def model(pauses: Pauses) -> Iterator[LitellmModel]:
    adapter = LitellmModel(pause=pauses, rng=random.Random(1))  # noqa: S311 - jitter
    yield adapter
    adapter.close()


def ask(
    text: str = "Cancel order 17",
    *,
    model: str = MODEL,
    fallbacks: tuple[str, ...] = (),
    retries: int = 2,
    timeout_seconds: float = 20,
) -> ModelRequest:
    return ModelRequest(
        messages=(
            Message(role="system", content="You write programs."),
            Message(role="user", content=f"<request>\n{text}\n</request>"),
        ),
        model=model,
        fallbacks=fallbacks,
        retries=retries,
        timeout_seconds=timeout_seconds,
        job_id="job_1",
    )


def test_an_answer_comes_with_its_text_model_and_tokens(server: ScriptedModel, model: Model) -> None:
    reply = model.complete(ask("Write me a poem"))
    assert reply.text.startswith("I am sorry")
    assert reply.finish_reason == "stop"
    assert reply.model == MODEL
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.completion_tokens > 0
    assert reply.usage.cost_usd == 0.0
    assert [message["role"] for message in server.requests[0].json["messages"]] == ["system", "user"]


def test_the_cost_of_a_model_with_a_known_price_is_recorded(server: ScriptedModel, model: Model) -> None:
    reply = model.complete(ask(model="openai/gpt-4o-mini"))
    assert len(server.requests) == 1
    assert 0 < reply.usage.cost_usd < 0.01


def test_a_cut_answer_says_so(server: ScriptedModel, model: Model) -> None:
    server.misbehave(PlainFault("truncate"))
    assert model.complete(ask()).finish_reason == "length"


@pytest.mark.parametrize(
    "fault", [HttpFault(429), HttpFault(500), HttpFault(503), PlainFault("garbage"), PlainFault("empty")], ids=str
)
def test_a_passing_failure_is_tried_again(server: ScriptedModel, model: Model, pauses: Pauses, fault: Fault) -> None:
    server.misbehave(fault, fault)
    reply = model.complete(ask("Write me a poem", retries=2))
    assert reply.text.startswith("I am sorry")
    assert len(server.requests) == 3
    assert len(pauses.seconds) == 2


def test_a_dropped_connection_is_tried_again(server: ScriptedModel, model: Model) -> None:
    server.misbehave(PlainFault("disconnect"))
    assert model.complete(ask("Write me a poem")).text.startswith("I am sorry")


def test_pauses_grow_and_stay_under_their_ceiling(server: ScriptedModel, model: Model, pauses: Pauses) -> None:
    server.misbehave(*[HttpFault(500)] * 5)
    model.complete(ask(retries=5))
    for number, (pause, ceiling) in enumerate(zip(pauses.seconds, (0.5, 1, 2, 4, 8), strict=True)):
        assert ceiling / 2 <= pause <= ceiling, number


def test_retries_are_counted_and_then_given_up(server: ScriptedModel, model: Model) -> None:
    server.misbehave(*[HttpFault(429)] * 10)
    with pytest.raises(ModelUnavailable) as caught:
        model.complete(ask(retries=3))
    assert len(server.requests) == 4
    assert caught.value.code == "generation.model_unavailable"
    assert caught.value.details == {
        "models": [{"model": MODEL, "reason": "rate_limited", "tries": 4, "http_status": 429}]
    }
    assert "rate limit" in caught.value.message


def test_without_retries_a_failure_is_final(server: ScriptedModel, model: Model, pauses: Pauses) -> None:
    server.misbehave(HttpFault(500))
    with pytest.raises(ModelUnavailable):
        model.complete(ask(retries=0))
    assert len(server.requests) == 1
    assert pauses.seconds == []


@pytest.mark.parametrize("status", [429, 503])
def test_the_pause_that_the_provider_asks_for_is_kept(
    server: ScriptedModel, model: Model, pauses: Pauses, status: int
) -> None:
    server.misbehave(HttpFault(status, retry_after="7"))
    model.complete(ask())
    assert pauses.seconds == [7.0]


def test_a_pause_may_be_asked_for_as_a_date(server: ScriptedModel, model: Model, pauses: Pauses) -> None:
    server.misbehave(HttpFault(429, retry_after="Fri, 31 Dec 2100 23:59:59 GMT"))
    with pytest.raises(ModelUnavailable):
        model.complete(ask())
    assert pauses.seconds == []


def test_a_pause_too_long_to_wait_for_goes_to_the_fallback(server: ScriptedModel, model: Model, pauses: Pauses) -> None:
    server.misbehave(HttpFault(429, retry_after="3600"))
    assert model.complete(ask(fallbacks=(OTHER,))).model == OTHER
    assert pauses.seconds == []


def test_fallbacks_are_tried_in_order(server: ScriptedModel, model: Model) -> None:
    server.misbehave(HttpFault(503), HttpFault(503))
    reply = model.complete(ask(retries=0, fallbacks=(OTHER, "openai/scripted-three")))
    assert reply.model == "openai/scripted-three"
    assert [request.json["model"] for request in server.requests] == ["scripted", "scripted-two", "scripted-three"]


def test_when_every_model_fails_each_is_named(server: ScriptedModel, model: Model) -> None:
    server.misbehave(HttpFault(503), HttpFault(404))
    with pytest.raises(ModelUnavailable) as caught:
        model.complete(ask(retries=0, fallbacks=(OTHER,)))
    assert [one["reason"] for one in caught.value.details["models"]] == ["server_error", "unknown_model"]
    assert MODEL in caught.value.message
    assert OTHER in caught.value.message


def test_a_silent_model_times_out(server: ScriptedModel, model: Model) -> None:
    server.misbehave(PlainFault("hang"))
    with pytest.raises(ModelUnavailable, match=r"within 0\.2 seconds"):
        model.complete(ask(timeout_seconds=0.2, retries=0))


def test_a_timeout_is_tried_again(server: ScriptedModel, model: Model) -> None:
    server.misbehave(PlainFault("hang"))
    assert model.complete(ask("Write me a poem", timeout_seconds=1)).text.startswith("I am sorry")


def test_an_unreachable_server_is_named(monkeypatch: pytest.MonkeyPatch, model: Model, pauses: Pauses) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_API_BASE", f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        with pytest.raises(ModelUnavailable, match="could not be connected to") as caught:
            model.complete(ask())
    assert caught.value.details["models"][0]["reason"] == "unreachable"
    assert len(pauses.seconds) == 2


@pytest.mark.parametrize("kind", ["garbage", "empty"])
def test_an_answer_that_is_no_completion_is_not_called_a_lost_connection(
    server: ScriptedModel, model: Model, kind: Literal["garbage", "empty"]
) -> None:
    server.misbehave(PlainFault(kind))
    with pytest.raises(ModelUnavailable, match="not a chat completion") as caught:
        model.complete(ask(retries=0))
    assert caught.value.details["models"][0]["reason"] == "malformed_answer"


def test_a_connection_that_breaks_is_not_called_an_answer(server: ScriptedModel, model: Model) -> None:
    server.misbehave(PlainFault("disconnect"))
    with pytest.raises(ModelUnavailable) as caught:
        model.complete(ask(retries=0))
    assert caught.value.details["models"][0]["reason"] == "unreachable"


@pytest.mark.parametrize(
    ("fault", "reason", "sentence"),
    [
        (HttpFault(401), "authentication", "refused the provider key"),
        (HttpFault(403), "authentication", "refused the provider key"),
        (HttpFault(404), "unknown_model", "check VARDY_MODEL"),
        (HttpFault(400), "bad_request", "refused the request"),
        (HttpFault(422), "bad_request", "refused the request"),
        (
            HttpFault(
                400,
                error_code="context_length_exceeded",
                message="This model's maximum context length is 8192 tokens, however you requested 9000 tokens.",
            ),
            "context_length",
            "too long for",
        ),
    ],
)
def test_a_refused_request_is_not_tried_again(
    server: ScriptedModel, model: Model, fault: HttpFault, reason: str, sentence: str
) -> None:
    server.misbehave(fault)
    with pytest.raises(ModelRejected, match=sentence) as caught:
        model.complete(ask(fallbacks=(OTHER,)))
    assert caught.value.code == "generation.model_rejected"
    assert caught.value.details["models"] == [
        {"model": MODEL, "reason": reason, "tries": 1, "http_status": fault.status}
    ]
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"])
def test_a_missing_provider_key_is_named(monkeypatch: pytest.MonkeyPatch, model: Model, name: str) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelRejected, match=r"not set: .*(OPENAI|ANTHROPIC|GEMINI)_API_KEY"):
        model.complete(ask(model=name))


@pytest.mark.parametrize("name", ["nowhere/model", "gpt-that-is-none"])
def test_a_model_of_no_known_provider_is_rejected(model: Model, name: str) -> None:
    with pytest.raises(ModelRejected, match=f"{name} names no provider .* openai/gpt-5") as caught:
        model.complete(ask(model=name))
    assert caught.value.details["models"] == [{"model": name, "reason": "unknown_provider", "tries": 1}]


def test_no_text_of_request_or_answer_is_in_an_error_or_log(
    server: ScriptedModel, model: Model, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    errors: list[BaseException] = []
    faults: tuple[Fault, ...] = (
        *(HttpFault(status) for status in (400, 401, 403, 404, 422, 429, 500, 503)),
        PlainFault("garbage"),
        PlainFault("hang"),
        PlainFault("disconnect"),
    )
    for fault in faults:
        server.misbehave(fault)
        try:
            model.complete(ask(f"Do {MARKER}", retries=0, timeout_seconds=1))
        except (ModelRejected, ModelUnavailable) as error:
            errors.append(error)
    answered = model.complete(ask(f"Do {MARKER}"))

    assert MARKER in answered.text
    assert all(MARKER.encode() in request.body for request in server.requests)
    assert len(errors) >= len(faults) - 1
    for raised in errors:
        assert MARKER not in f"{raised} {vars(raised)}"
        assert raised.__cause__ is None
        assert raised.__context__ is None
    out, err = capfd.readouterr()
    for text in (caplog.text, out, err):
        assert MARKER not in text
        assert "scripted-needs-no-key" not in text


def test_many_threads_share_one_loop(server: ScriptedModel, model: Model) -> None:
    gate = threading.Barrier(16)

    def one(_: int) -> str:
        gate.wait()
        return model.complete(ask("Write me a poem")).text

    with ThreadPoolExecutor(16) as pool:
        texts = list(pool.map(one, range(16)))
    assert len(set(texts)) == 1
    assert len(server.requests) == 16
    assert [thread.name for thread in threading.enumerate()].count("vardy-model") == 1


def test_closing_ends_a_call_under_way(server: ScriptedModel) -> None:
    adapter = LitellmModel()
    server.misbehave(PlainFault("hang"))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(adapter.complete, ask())
        assert server.wait_for_requests(1, timeout_seconds=10)
        adapter.close()
        with pytest.raises(ModelUnavailable, match="stopping"):
            call.result(timeout=10)
    adapter.close()
    with pytest.raises(ModelUnavailable, match="stopping"):
        adapter.complete(ask())


def test_a_later_adapter_works_after_an_earlier_one_was_closed(server: ScriptedModel) -> None:
    for _ in range(2):
        adapter = LitellmModel()
        assert adapter.complete(ask("Write me a poem")).text.startswith("I am sorry")
        adapter.close()
    assert len(server.requests) == 2


def test_jitter_spreads_the_pauses() -> None:
    backoff = Backoff()
    rng = random.Random(2)  # noqa: S311 - jitter
    pauses = {round(backoff.pause(3, rng), 3) for _ in range(20)}
    assert len(pauses) > 10
    assert all(1 <= pause <= 2 for pause in pauses)


def test_the_most_tokens_of_an_answer_are_told_to_the_provider(server: ScriptedModel, model: Model) -> None:
    model.complete(ask().model_copy(update={"answer_tokens_max": 77}))
    model.complete(ask())
    assert [request.json.get("max_tokens") for request in server.requests] == [77, None]


def test_many_are_answered_in_their_order_and_some_at_once(server: ScriptedModel, model: Model) -> None:
    server.delay_seconds = 0.3
    requests = [ask(f"Write poem {number}") for number in range(2 * AT_ONCE_MAX)]
    began = time.monotonic()
    replies = model.complete_many(requests, seconds=60)
    assert time.monotonic() - began < 0.3 * len(requests)
    said = [reply.text for reply in replies if isinstance(reply, ModelReply)]
    assert len(said) == len(requests)
    for number, text in enumerate(said):
        assert f"Write poem {number}" in text


def test_no_more_than_the_most_are_under_way(server: ScriptedModel, model: Model) -> None:
    server.misbehave(*[PlainFault("hang")] * AT_ONCE_MAX)
    requests = [ask(retries=0)] * (AT_ONCE_MAX + 3)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(model.complete_many, requests, seconds=30)
        assert server.wait_for_requests(AT_ONCE_MAX, timeout_seconds=20)
        assert not server.wait_for_requests(AT_ONCE_MAX + 1, timeout_seconds=0.3)
        server.stopping.set()
        assert len(call.result(timeout=20)) == len(requests)


def test_each_of_many_fails_for_itself(server: ScriptedModel, model: Model) -> None:
    refusal = HttpFault(400, message="invalid_request_error: content_policy_violation")
    for fault, about in (
        (HttpFault(503), "model"),
        (HttpFault(401), "model"),
        (HttpFault(400), "request"),
        (refusal, "content"),
    ):
        server.misbehave(fault)
        [failed] = model.complete_many([ask(retries=0)], seconds=60)
        assert isinstance(failed, ModelFailed)
        assert failed.about == about, fault
    server.misbehave(HttpFault(503))
    kinds = {type(one) for one in model.complete_many([ask(retries=0)] * 3, seconds=60)}
    assert kinds == {ModelReply, ModelFailed}


def test_what_is_under_way_at_the_end_of_the_time_is_cancelled(server: ScriptedModel, model: Model) -> None:
    model.complete(ask())
    server.misbehave(PlainFault("hang"))
    began = time.monotonic()
    replies = model.complete_many([ask(f"Do {MARKER}")] * 2, seconds=2)
    assert time.monotonic() - began < 10
    [failed] = [reply for reply in replies if isinstance(reply, ModelFailed)]
    assert (failed.about, failed.error.code) == ("time", "generation.model_unavailable")
    assert MARKER not in failed.model_dump_json()
    assert any(isinstance(reply, ModelReply) for reply in replies)
    server.forget()
    server.misbehave(*[PlainFault("hang")] * AT_ONCE_MAX)
    model.complete_many([ask(retries=0)] * (AT_ONCE_MAX + 1), seconds=1)
    server.stopping.set()
    assert not server.wait_for_requests(AT_ONCE_MAX + 1, timeout_seconds=0.3), "what waited for its turn is never sent"


def test_without_time_nobody_is_asked(server: ScriptedModel, model: Model) -> None:
    model.complete(ask())
    [failed] = model.complete_many([ask()], seconds=0)
    assert isinstance(failed, ModelFailed)
    assert failed.about == "time"
    assert len(server.requests) == 1
    assert model.complete_many([], seconds=5) == []


def test_a_loop_that_is_kept_busy_holds_nobody_up_beyond_the_time(server: ScriptedModel) -> None:
    going_on = threading.Event()

    async def busy(_: float) -> None:
        going_on.wait(60)

    # The pause must seem short, or the next try is left out for want of time.
    adapter = LitellmModel(pause=busy, backoff=Backoff(first=0.001))
    adapter.complete(ask())
    server.misbehave(HttpFault(500))
    [failed] = adapter.complete_many([ask()], seconds=3)
    going_on.set()
    adapter.close()
    assert isinstance(failed, ModelFailed)
    assert failed.about == "time"


def test_closing_ends_many_under_way(server: ScriptedModel) -> None:
    adapter = LitellmModel()
    server.misbehave(PlainFault("hang"), PlainFault("hang"))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(adapter.complete_many, [ask(), ask()], seconds=60)
        assert server.wait_for_requests(2, timeout_seconds=20)
        adapter.close()
        failed = call.result(timeout=20)
    failed += adapter.complete_many([ask()], seconds=60)
    assert [(one.about, "stopping" in one.error.message) for one in failed if isinstance(one, ModelFailed)] == [
        ("model", True)
    ] * 3


def test_a_model_may_be_prepared_before_its_first_call_and_closed_without_one() -> None:
    adapter = LitellmModel()
    adapter.prepare()
    adapter.prepare()
    assert "litellm" in sys.modules
    adapter.close()
    adapter.close()


LOADING = """
import os, socket, sys

def refuse(*_):
    raise SystemExit("a connection was tried while litellm was loaded")

socket.socket.connect = refuse
socket.getaddrinfo = refuse
from vardy_worker.adapters.litellm_model import Backoff, LitellmModel
from vardy_worker.contracts.errors import ModelRejected
from vardy_worker.contracts.model import Message, ModelRequest

model = LitellmModel()
assert "litellm" not in sys.modules, "litellm was loaded before the first call"
try:
    model.complete(ModelRequest(messages=(Message(role="user", content="Hello"),), model="nowhere/model"))
except ModelRejected:
    model.close()
assert "litellm" in sys.modules
assert "FROM_DOTENV" not in os.environ, "a .env file was read"
print("loaded")
"""


def test_litellm_is_loaded_by_the_first_call_without_network_or_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOADING],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["loaded"], done.stdout + done.stderr
