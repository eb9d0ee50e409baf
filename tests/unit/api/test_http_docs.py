"""What `docs/http.md` shows is true."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from vardy_api.shapes import Problem
from vardy_worker.contracts.errors import PROBLEMS
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld

TEXT = (Path(__file__).parents[3] / "docs" / "http.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


def posted(command: str, variables: dict[str, str]) -> tuple[str, bytes, dict[str, str]]:
    """Address, body and headers that a `curl -s` of the documentation sends."""
    for name, variable in variables.items():
        command = command.replace(f"${name}", variable)
    assert "$" not in command
    words = shlex.split(command)
    values: dict[str, list[str]] = {"-H": [], "-d": []}
    for option, value in pairwise(words):
        if option in values:
            values[option].append(value)
    return words[2], values["-d"][0].encode(), dict(header.split(": ", 1) for header in values["-H"])


def test_the_first_request_of_the_documentation_is_taken(api: ApiWorld) -> None:
    variables = {"VARDY_URL": "http://vardy", "VARDY_API_KEY": api.token()}
    address, body, headers = posted(block("sh"), variables)
    assert headers.pop("Prefer") == "wait=30"
    answer: httpx.Response = api.http("").post(address, content=body, headers=headers)
    assert answer.status_code == 202


def test_the_decision_of_the_documentation_is_taken(api: ApiWorld) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    token = api.token(Scope.DECIDE)
    variables = {"VARDY_URL": "http://vardy", "VARDY_API_KEY": token, "JOB": job.id, "DIGEST": job.digest}
    command = next(found for found in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) if "/decisions" in found)
    address, body, headers = posted(command, variables)
    answer = api.http("").post(address, content=body, headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (200, "COMMITTING")


def test_the_problem_of_the_documentation_is_one(api: ApiWorld) -> None:
    problem = Problem.model_validate_json(block("json"))
    assert PROBLEMS[problem.code] == (problem.status, problem.title)
    assert api.http("").get(problem.type).status_code == 200
