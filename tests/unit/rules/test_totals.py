"""What a plan adds to its requester's totals: exact numbers, or the word that they are not known."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.support.rules import CATALOGUE, call, email, payment, refund
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.rules.totals import effect_totals, with_known_sums

BIG = 2**62 + 1


def test_a_plan_counts_its_effects_and_adds_up_their_numbers() -> None:
    totals = effect_totals([refund(100, 1), refund(250, 2), email(), refund(1, 3)], CATALOGUE)
    assert totals == EffectTotals(
        counts={"refund_payment": 3, "send_email": 1},
        sums={"refund_payment": {"amount_cents": Decimal(351), "payment_id": Decimal(6)}},
    )


def test_integers_beyond_what_javascript_can_hold_are_added_exactly() -> None:
    totals = effect_totals([refund(1, str(BIG)), refund(1, str(BIG)), refund(1, str(BIG))], CATALOGUE)
    assert totals.sums["refund_payment"]["payment_id"] == 3 * BIG


def test_decimals_and_floats_are_added_as_they_are_written() -> None:
    effects = [payment("0.1", rate=0.1), payment("0.2", rate=0.2), payment("1E-30", rate=5e-324)]
    sums = effect_totals(effects, CATALOGUE).sums["pay_supplier"]
    assert sums["amount"] == Decimal("0.300000000000000000000000000001")
    assert str(sums["rate"]) == f"0.3{'0' * 322}5"


def test_what_is_null_adds_nothing() -> None:
    totals = effect_totals([payment("1", limit=None), payment("1", limit=7)], CATALOGUE)
    assert totals.sums["pay_supplier"]["limit"] == 7
    assert totals.unknown == {}


def test_a_sum_over_a_reference_is_not_known() -> None:
    reference = refund(0, 5, Ref(at="/amount_cents", effect=0, path="/total"))
    totals = effect_totals([refund(100, 1), reference], CATALOGUE)
    assert totals.counts == {"refund_payment": 2}
    assert totals.unknown == {"refund_payment": {"amount_cents": 1}}
    assert totals.sums == {"refund_payment": {"payment_id": Decimal(6)}}


@pytest.mark.parametrize("amount", ["NaN", "1E+401", "1E-401", "1E+999999999"])
def test_numbers_that_cannot_be_added_up_are_not_known(amount: str) -> None:
    totals = effect_totals([payment("1"), payment(amount)], CATALOGUE)
    assert totals.unknown == {"pay_supplier": {"amount": 1}}
    assert "amount" not in totals.sums["pay_supplier"]


def test_arguments_of_any_type_are_added_where_they_are_numbers() -> None:
    properties = {"what": {}, "note": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    spec = FunctionSpec(
        name="do", kind=FunctionKind.WRITE, input_schema=schema, output_schema={}, declaration="", version="v1"
    )
    catalogue = Catalogue(functions=(spec,))
    assert effect_totals([call("do", what=1), call("do", what=2)], catalogue).sums == {"do": {"what": Decimal(3)}}
    assert effect_totals([call("do", what=1), call("do", what="x")], catalogue).unknown == {"do": {"what": 1}}


def test_a_sum_is_known_once_its_references_are() -> None:
    counted = effect_totals([refund(100, 1), refund(0, 5, Ref(at="/amount_cents", effect=0, path="/total"))], CATALOGUE)
    known = with_known_sums(counted, [refund(100, 1), refund(250, 5)], CATALOGUE)
    assert known == effect_totals([refund(100, 1), refund(250, 5)], CATALOGUE)
    assert with_known_sums(known, [refund(7, 7)], CATALOGUE) == known


@pytest.mark.parametrize("catalogue", [CATALOGUE, Catalogue()])
def test_what_was_known_stays_known_whatever_functions_there_are_by_now(catalogue: Catalogue) -> None:
    counted = effect_totals([payment("1.5"), refund(0, 5, Ref(at="/amount_cents", effect=0, path=""))], CATALOGUE)
    known = with_known_sums(counted, [payment("1.5"), refund(250, 5)], catalogue)
    assert known.sums["pay_supplier"]["amount"] == Decimal("1.5")
    assert known.sums["refund_payment"] == {"payment_id": Decimal(5), "amount_cents": Decimal(250)}
    assert known.unknown == {}
