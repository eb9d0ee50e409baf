"""The judge over the real litellm, real HTTP and a real cache, against the scripted server."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.judge import PLENTY, classify
from vardy_worker.adapters.litellm_model import LitellmModel
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.judge import Classified, JudgeFailure
from vardy_worker.demo.phrases import Answer
from vardy_worker.demo.scripted import MODEL, HttpFault, PlainFault, ScriptedModel
from vardy_worker.judge import ModelJudge
from vardy_worker.store.redis_judge_cache import RedisJudgeCache
from vardy_worker.testing.parts import make_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from vardy_worker.contracts.judge import JudgeAnswer, Judged

# The library prepares a request in a thread; one that is cancelled meanwhile, as on a busy machine, is left behind.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine 'OpenAIChatCompletion.acompletion' was never awaited")

MARKER = "marker-19"
TEXTS = [f"{MARKER} number {number}" for number in range(300)]


def by_digit(text: str) -> str:
    return "spam" if text[-1] in "13579" else "ham"


def answer(messages: list[tuple[str, str]]) -> Answer:
    lines = messages[-1][1].partition("<texts>\n")[2].partition("\n</texts>")[0].splitlines()
    texts = [json.loads(line) for line in lines]
    return Answer(json.dumps({text["id"]: by_digit(text["text"]) for text in texts}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with ScriptedModel(answer=answer) as scripted:
        for name, value in scripted.environment().items():
            monkeypatch.setenv(name, value)
        yield scripted


@pytest.fixture
def judge(redis_client: Redis, namespace: str) -> Iterator[ModelJudge]:
    model = LitellmModel()
    yield ModelJudge(
        model=model,
        cache=RedisJudgeCache(redis_client, namespace),
        clock=SystemClock(),
        settings=make_settings({"judge_model": MODEL, "model_retries": 1}, {}),
    )
    model.close()


def ask(judge: ModelJudge, texts: list[str], *, seconds: float = 60) -> Judged:
    return judge.ask([classify(texts)], job_id="job_1", budget=PLENTY, deadline=time.monotonic() + seconds)


def test_a_thousand_texts_of_three_hundred_take_eight_requests_and_then_none(
    server: ScriptedModel, judge: ModelJudge
) -> None:
    texts = (TEXTS * 4)[:1000]
    for requests in (8, 8):
        judged = ask(judge, texts)
        assert judged.answers == (Classified(labels=tuple(map(by_digit, texts))),)
        assert len(server.requests) == requests
    assert judged.usage.calls == 0


def test_what_was_really_taken_is_told(server: ScriptedModel, judge: ModelJudge) -> None:
    usage = ask(judge, TEXTS[:60]).usage
    assert usage.calls == len(server.requests) == 2
    assert usage.prompt_tokens > 500
    assert usage.completion_tokens > 100


def test_a_passing_failure_of_the_provider_changes_nothing(server: ScriptedModel, judge: ModelJudge) -> None:
    server.misbehave(HttpFault(429, retry_after="0"), PlainFault("truncate"))
    assert ask(judge, TEXTS[:80]).answers == (Classified(labels=tuple(map(by_digit, TEXTS[:80]))),)


def test_a_model_that_does_not_answer_is_given_up_in_time_and_the_rest_is_kept(
    server: ScriptedModel, judge: ModelJudge
) -> None:
    ask(judge, ["the first call loads the library"])
    server.forget()
    server.misbehave(PlainFault("hang"))
    began = time.monotonic()
    [failure] = ask(judge, TEXTS[:120], seconds=3).answers
    assert time.monotonic() - began < 20
    assert isinstance(failure, JudgeFailure)
    assert failure.code == "execution.judge_unavailable"
    again = ask(judge, TEXTS[:120])
    assert isinstance(again.answers[0], Classified)
    assert again.usage.calls == 1


def test_a_provider_that_wants_to_be_asked_again_too_late_fails_the_question_at_once(
    server: ScriptedModel, judge: ModelJudge
) -> None:
    ask(judge, ["the first call loads the library"])
    server.misbehave(HttpFault(429, retry_after="20"))
    began = time.monotonic()
    [failure] = ask(judge, TEXTS[:1], seconds=20).answers
    assert time.monotonic() - began < 15
    assert isinstance(failure, JudgeFailure)
    assert (failure.code, "rate limit" in failure.message) == ("execution.judge_unavailable", True)


def test_a_refused_key_fails_the_question_and_says_so(server: ScriptedModel, judge: ModelJudge) -> None:
    server.misbehave(*[HttpFault(401)] * 3)
    [failure] = ask(judge, TEXTS[:120]).answers
    assert isinstance(failure, JudgeFailure)
    assert failure.code == "execution.judge_unavailable"
    assert "refused the provider key" in failure.message


def test_no_text_is_in_a_log_a_failure_or_the_cache(
    server: ScriptedModel,
    judge: ModelJudge,
    redis_client: Redis,
    namespace: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    failures: list[JudgeAnswer] = []
    # A refused request is asked once more by the judge, one that got no answer by the adapter.
    for fault, times in ((HttpFault(400), 2), (HttpFault(401), 1), (HttpFault(503), 2), (PlainFault("garbage"), 2)):
        server.misbehave(*[fault] * times)
        failures += ask(judge, TEXTS[:1]).answers
    server.misbehave(PlainFault("hang"))
    failures += ask(judge, TEXTS[:1], seconds=1).answers
    assert len([failure for failure in failures if isinstance(failure, JudgeFailure)]) == len(failures)
    assert isinstance(ask(judge, TEXTS[:1]).answers[0], Classified)
    assert all(MARKER.encode() in request.body for request in server.requests)
    out, err = capfd.readouterr()
    for text in (caplog.text, out, err, *(failure.model_dump_json() for failure in failures)):
        assert MARKER not in text
    for key in redis_client.scan_iter(f"{namespace}:*"):
        assert MARKER.encode() not in key
        assert redis_client.get(key) == b'"ham"'
