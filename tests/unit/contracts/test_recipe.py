from __future__ import annotations

from typing import Any

import pytest

from vardy_worker.contracts.recipe import Recipe

REVIEWED: dict[str, Any] = {
    "name": "answer",
    "source": "async function run() { return 42; }",
    "params_schema": {"type": "object"},
    "functions": {"count_orders": "v1"},
}


def digest(**fields: Any) -> str:
    return Recipe.model_validate({**REVIEWED, **fields}).digest


@pytest.mark.parametrize(
    "fields", [{"version": 2}, {"reviewed_by": "lea"}, {"reviewed_at_ms": 1}, {"from_job": "job_1"}], ids=str
)
def test_who_reviewed_it_and_where_it_came_from_is_no_part_of_what_was_reviewed(fields: dict[str, Any]) -> None:
    assert digest(**fields) == digest()


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "other"},
        {"description": "What it is for."},
        {"source": "async function run() { return 43; }"},
        {"params_schema": {"type": "object", "maxProperties": 0}},
        {"functions": {"count_orders": "v2"}},
        {"judge": True},
        {"envelope": {"functions": {}}},
    ],
    ids=str,
)
def test_all_else_is_a_part_of_what_was_reviewed(fields: dict[str, Any]) -> None:
    assert digest(**fields) != digest()
