"""The demo shop's recipes, loaded from their files and run under its rules."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vardy_worker.contracts.status import Status
from vardy_worker.demo.shop import functions, shop
from vardy_worker.testing import Harness

if TYPE_CHECKING:
    from collections.abc import Iterator

DEMO = Path(str(resources.files("vardy_worker.demo")))
FILES = sorted((DEMO / "recipes").iterdir())
ANA = {"id": "ana", "roles": ["support"]}


@pytest.fixture
def harness() -> Iterator[Harness]:
    with Harness(functions, rules=DEMO / "rules.yaml", user=ANA) as harness:
        for file in FILES:
            harness.load_recipe(file)
        yield harness


def test_each_recipe_has_a_file_of_its_name() -> None:
    assert [file.name for file in FILES] == ["customer-balance.recipe.js", "damaged-goods.recipe.js"]


def test_no_rule_of_the_shop_does_nothing(harness: Harness) -> None:
    assert harness.rule_warnings() == ()


def test_a_balance_is_read(harness: Harness) -> None:
    job = harness.run(recipe="customer-balance", params={"customer_id": 3})
    assert job.status is Status.SUCCESS
    assert job.output["owed_cents"] >= job.output["overdue_cents"] > 0


@pytest.mark.parametrize(("amount_cents", "status"), [(8000, Status.SUCCESS), (8001, Status.PENDING_APPROVAL)])
def test_a_refund_within_the_envelope_needs_no_approval(harness: Harness, amount_cents: int, status: Status) -> None:
    job = harness.run(recipe="damaged-goods", params={"payment_id": 5, "amount_cents": amount_cents})
    assert job.status is status
    refunds = shop.rows("SELECT amount_cents FROM refunds")
    assert [row["amount_cents"] for row in refunds] == ([amount_cents] if status is Status.SUCCESS else [])


def test_the_same_refund_without_the_recipe_needs_an_approval(harness: Harness) -> None:
    program = "async function run() { return await refund_payment({payment_id: 5, amount_cents: 8000}); }"
    assert harness.run(program).status is Status.PENDING_APPROVAL


def test_params_that_do_not_fit_are_named(harness: Harness) -> None:
    job = harness.run(recipe="damaged-goods", params={"payment_id": "5"})
    assert job.status is Status.VALIDATION_BLOCKED
    assert job.error is not None
    assert job.error.code == "validation.params"
    assert {problem["at"] for problem in job.error.details["problems"]} >= {"/payment_id"}
