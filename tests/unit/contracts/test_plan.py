import hashlib
import json

import pytest
import rfc8785

from tests.support.factories import effect, plan
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.plan import PlanBody, duplicates, make_plan


def test_the_digest_is_that_of_the_stored_text() -> None:
    made = plan("job_1", effect())
    assert made.digest == hashlib.sha256(made.text.encode()).hexdigest()


def test_the_text_is_canonical_whatever_the_order_of_the_arguments() -> None:
    one = plan("job_1", effect(args={"a": 1, "b": [1.0, 2]}))
    two = plan("job_1", effect(args={"b": [1, 2], "a": 1}))
    assert one == two


def test_what_is_read_back_is_what_was_planned() -> None:
    body = PlanBody(
        job_id="job_1",
        revision=1,
        program_sha256="p",
        params_sha256="q",
        rules_digest="r",
        requester="ana",
        effects=(effect(0), effect(1, refs=(Ref(at="/ticket_id", effect=0, path="/id"),))),
    )
    assert make_plan(body).body() == body


@pytest.mark.parametrize(
    "change",
    [
        {"job_id": "job_2"},
        {"revision": 2},
        {"program_sha256": "x"},
        {"params_sha256": "x"},
        {"rules_digest": "x"},
        {"requester": "eve"},
        {"effects": ()},
    ],
)
def test_the_digest_covers_every_part(change: dict[str, object]) -> None:
    body = plan("job_1", effect()).body()
    assert make_plan(body.model_copy(update=change)).digest != make_plan(body).digest


@pytest.mark.parametrize("version", ["v2", ""])
def test_the_digest_covers_function_versions(version: str) -> None:
    assert plan("job_1", effect(version=version)).digest != plan("job_1", effect(version="v1")).digest


def test_big_integers_are_decimal_strings_in_the_text() -> None:
    made = plan("job_1", effect(args={"id": 2**63, "small": 2**53 - 1}))
    assert json.loads(made.text)["effects"][0]["args"] == {"id": str(2**63), "small": 2**53 - 1}


@pytest.mark.parametrize(
    "number", [2.0**53, 1e16, -1e16, 1e20, 1e21, 1e300, 1.5e-7, 2.0**53 - 1, 0.1, 12345678901234567]
)
def test_numbers_are_the_same_however_often_a_plan_is_read_and_made(number: float) -> None:
    made = plan("job_1", effect(0, args={"amount": float(number)}), effect(1, args={"amount": float(number)}))
    body = made.body()
    assert body.effects[0].args == {"amount": float(number)}
    assert make_plan(body) == made
    assert duplicates(body.effects) == ((0, 1),)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_none_are_refused(number: float) -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        plan("job_1", effect(args={"amount": number}))


def test_identical_effects_are_found_by_what_they_do() -> None:
    same = {"payment_id": 7}
    effects = (effect(0, args=same), effect(1), effect(2, args=same), effect(3, "other", args=same))
    assert duplicates(effects) == ((0, 2),)


def test_effects_with_other_references_are_not_identical() -> None:
    first = effect(0, args={}, refs=(Ref(at="/id", effect=0, path="/a"),))
    second = effect(1, args={}, refs=(Ref(at="/id", effect=0, path="/b"),))
    assert duplicates((first, second)) == ()
