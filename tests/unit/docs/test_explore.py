"""What `docs/explore.md` shows of requests, rounds and ends is true."""

from __future__ import annotations

import json
import re
from pathlib import Path

from vardy_api.shapes import ExploreRequest
from vardy_worker.contracts.errors import JOB_ERRORS
from vardy_worker.contracts.view import JobView, RoundView

TEXT = (Path(__file__).parents[3] / "docs" / "explore.md").read_text(encoding="utf-8")
REQUEST, JOB = re.findall(r"^```json\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the tables' rows, without those of their heads."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return [row for row in cells if "`" in row[0]]


def test_the_request_is_one_and_every_field_of_a_request_is_told() -> None:
    ExploreRequest.model_validate_json(REQUEST)
    told = {name for row in rows(section("A first question")) for name in re.findall(r"`(\w+)`", row[0])}
    assert told == set(ExploreRequest.model_fields)


def test_the_job_and_its_rounds_have_the_fields_that_are_shown() -> None:
    job = json.loads(JOB)
    assert job.keys() <= JobView.model_fields.keys()
    for each in job["rounds"]:
        RoundView.model_validate(each)
        assert each.keys() == RoundView.model_fields.keys()


def test_every_code_that_is_told_of_ends_a_job_in_that_status() -> None:
    told = [
        (row[0].strip("`"), code) for row in rows(section("How it ends")) for code in re.findall(r"`([\w.]+)`", row[1])
    ]
    assert len(told) >= 4
    assert [(status, code) for status, code in told if JOB_ERRORS.get(code, status) != status] == []
    assert [code for _, code in told if code not in JOB_ERRORS] == []
