"""What `docs/http.md` shows is true."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from vardy_api.shapes import Problem
from vardy_worker.contracts.errors import PROBLEMS

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld

TEXT = (Path(__file__).parents[3] / "docs" / "http.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_first_request_of_the_documentation_is_taken(api: ApiWorld) -> None:
    words = shlex.split(block("sh").replace("$VARDY_URL", "http://vardy").replace("$VARDY_API_KEY", api.token()))
    values: dict[str, list[str]] = {"-H": [], "-d": []}
    for option, value in pairwise(words):
        if option in values:
            values[option].append(value)
    headers = dict(header.split(": ", 1) for header in values["-H"])
    assert headers.pop("Prefer") == "wait=30"
    answer: httpx.Response = api.http("").post(words[2], content=values["-d"][0].encode(), headers=headers)
    assert answer.status_code == 202


def test_the_problem_of_the_documentation_is_one(api: ApiWorld) -> None:
    problem = Problem.model_validate_json(block("json"))
    assert PROBLEMS[problem.code] == (problem.status, problem.title)
    assert api.http("").get(problem.type).status_code == 200
