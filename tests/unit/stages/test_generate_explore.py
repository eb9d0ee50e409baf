from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes import AnsweringModel
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.program import Program
from vardy_worker.prompts import PROMPT_VERSIONS, FailedTry
from vardy_worker.stages.generate import ExploreInput, Generated, GenerationFailed, generate

PROGRAM = Program(source="async function run() {}", sha256=sha256_text("x"))
ERROR = ErrorInfo(code="generation.no_answer", message="m")
WORKED = Round(n=1, program=PROGRAM, summary=1, ended_at_ms=1)
FAILED = Round(n=1, error=ERROR, ended_at_ms=1)
EXPLORE, ROUND, ROUND_FAILED = (f"{name}-{PROMPT_VERSIONS[name]}" for name in ("explore", "round", "round_failed"))


def given(**changes: Any) -> ExploreInput:
    return ExploreInput(
        **{
            "job_id": "job_1",
            "question": "Why?",
            "params": {},
            "catalogue": Catalogue(),
            "limits": Limits(),
            "model": "a/b",
            "fallbacks": ("c/d",),
            "timeout_seconds": 7,
            "retries": 1,
            **changes,
        }
    )


def test_the_model_is_asked_as_the_settings_say() -> None:
    model = AnsweringModel("Because.")
    assert isinstance(generate(model, given()), Generated)
    [request] = model.requests
    assert (request.model, request.fallbacks, request.timeout_seconds, request.retries) == ("a/b", ("c/d",), 7, 1)
    assert (request.job_id, request.purpose) == ("job_1", "explore")


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ({}, EXPLORE),
        ({"rounds": (WORKED,)}, f"{EXPLORE}+{ROUND}"),
        ({"rounds": (FAILED,)}, f"{EXPLORE}+{ROUND_FAILED}"),
        ({"rounds": (WORKED,), "refused": (FailedTry(error=ERROR),)}, f"{EXPLORE}+{ROUND}+{ROUND_FAILED}"),
    ],
)
def test_the_versions_of_all_texts_that_were_sent_are_kept(told: dict[str, Any], version: str) -> None:
    outcome = generate(AnsweringModel("Because."), given(**told))
    assert isinstance(outcome, Generated)
    assert outcome.prompt_version == version


def test_without_a_model_nothing_is_asked() -> None:
    model = AnsweringModel("Because.")
    outcome = generate(model, given(model=""))
    assert isinstance(outcome, GenerationFailed)
    assert outcome.error.code == "generation.not_configured"
    assert "VARDY_MODEL" in outcome.error.message
    assert model.requests == []
