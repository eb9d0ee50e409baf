from __future__ import annotations

from typing import Any

import pytest

from vardy_worker.contracts.errors import ErrorInfo, ModelRejected, ModelUnavailable, VardyError
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.model import ModelReply, ModelRequest, TokenUsage
from vardy_worker.prompts import FailedTry
from vardy_worker.stages.generate import Generated, GenerateInput, GenerationFailed, generate
from vardy_worker.testing.one_by_one import OneByOne


class RecordingModel(OneByOne):
    """A model in memory: keeps what it is asked, and answers or raises what it was given."""

    def __init__(self, answer: ModelReply | VardyError) -> None:
        self.answer = answer
        self.asked: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if isinstance(self.answer, VardyError):
            raise self.answer
        return self.answer


REPLY = ModelReply(text="…", model="a/b", usage=TokenUsage(prompt_tokens=3, completion_tokens=2, cost_usd=0.1))


def given(**changes: Any) -> GenerateInput:
    base = GenerateInput(
        job_id="job_1",
        request="Cancel order 17",
        params={},
        catalogue=Catalogue(),
        limits=Limits(),
        model="a/b",
        fallbacks=("c/d",),
        timeout_seconds=7,
        retries=1,
    )
    return base.model_copy(update=changes)


def test_the_model_is_asked_as_the_settings_say() -> None:
    model = RecordingModel(REPLY)
    outcome = generate(model, given())
    assert outcome == Generated(reply=REPLY, prompt_version="program-2")
    request = model.asked[0]
    assert (request.model, request.fallbacks, request.timeout_seconds, request.retries) == ("a/b", ("c/d",), 7, 1)
    assert (request.job_id, request.purpose) == ("job_1", "program")
    assert [message.role for message in request.messages] == ["system", "user"]


def test_failed_answers_go_into_a_repair() -> None:
    model = RecordingModel(REPLY)
    failed = FailedTry(text="Sorry.", error=ErrorInfo(code="generation.no_program", message="m"))
    outcome = generate(model, given(failed=(failed,)))
    assert isinstance(outcome, Generated)
    assert outcome.prompt_version == "program-2+repair-2"
    assert [message.role for message in model.asked[0].messages] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelUnavailable("Nobody answered.", details={"models": []}), "generation.model_unavailable"),
        (ModelRejected("The key is wrong."), "generation.model_rejected"),
    ],
)
def test_a_model_that_does_not_answer_is_a_value(error: VardyError, code: str) -> None:
    outcome = generate(RecordingModel(error), given())
    assert outcome == GenerationFailed(error=ErrorInfo(code=code, message=error.message, details=error.details))


def test_without_a_model_nothing_is_asked() -> None:
    model = RecordingModel(REPLY)
    outcome = generate(model, given(model=""))
    assert isinstance(outcome, GenerationFailed)
    assert outcome.error.code == "generation.not_configured"
    assert "VARDY_MODEL" in outcome.error.message
    assert model.asked == []
