"""Whether a plan stays within the envelope that a recipe was reviewed with, and what rules make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import effect
from tests.support.rules import CATALOGUE, Court, body, call, email, facts, payment, refund
from vardy_worker.contracts.envelope import Envelope, exact_number
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.policy import Verdict
from vardy_worker.functions import Functions, build_catalogue
from vardy_worker.rules.envelope import outside, seen
from vardy_worker.rules.values import OUTSIDE_TOLD_MAX

if TYPE_CHECKING:
    from vardy_worker.contracts.plan import Effect

INSIDE_ALLOWED = """
default: approve
rules:
  - name: reviewed
    on: [refund_payment]
    when: recipe.within_envelope
    then: allow
"""
OUTSIDE_BLOCKED = """
default: allow
rules:
  - name: reviewed-only
    on: ["*"]
    when: "!recipe.within_envelope"
    then: block
"""


def envelope(
    effects_max: int = 9, *, of_plan: int | None = None, function: str = "refund_payment", **bounds: Any
) -> Envelope:
    return Envelope.model_validate(
        {"functions": {function: {"effects_max": effects_max, "arguments": bounds}}, "effects_max": of_plan}
    )


def payments(**bounds: Any) -> Envelope:
    return envelope(function="pay_supplier", **bounds)


def reasons(given: Envelope, *effects: Effect) -> list[str]:
    return list(outside(given, body(effects).effects))


# --- what is inside -----------------------------------------------------------------------------------


def test_what_was_reviewed_is_inside() -> None:
    given = envelope(3, of_plan=3, amount_cents={"min": 100, "max": 5000, "sum_max": 9000})
    assert reasons(given, refund(100), refund(5000), refund(3900)) == []


def test_arguments_that_are_not_bounded_may_be_anything() -> None:
    ref = Ref(at="/payment_id", effect=0, path="/id")
    assert reasons(envelope(amount_cents={"max": 5}), refund(1), refund(5, 2, ref)) == []


@pytest.mark.parametrize(
    ("bounds", "amount"),
    [
        ({"max": "0.3"}, "0.30"),
        ({"max": 0.3}, 0.3),
        ({"max": "1e2"}, "100.00"),
        ({"min": -5, "max": -1}, "-5.0"),
        ({"max": 2**64}, str(2**64)),
        ({"max": str(2**64)}, "18446744073709551615.999"),
        ({"sum_max": "0.3"}, "0.1"),
    ],
)
def test_decimals_and_large_integers_are_compared_exactly(bounds: dict[str, object], amount: object) -> None:
    plan = [payment(amount)] * (3 if "sum_max" in bounds else 1)  # type: ignore[arg-type] # plans hold numbers, too
    assert reasons(payments(amount=bounds), *plan) == []


# --- what is outside ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "effects", "reason"),
    [
        (envelope(1), [refund(), refund()], "calls `refund_payment` 2 times; the envelope has at most 1"),
        (envelope(9, of_plan=1), [refund(), refund()], "The plan has 2 effects; the envelope has at most 1"),
        (envelope(), [refund(), email()], "`send_email` is not in the envelope"),
        (envelope(amount_cents={"max": 99}), [refund(100)], "`amount_cents` of effect 0 is above 99"),
        (envelope(amount_cents={"min": 101}), [refund(100)], "`amount_cents` of effect 0 is below 101"),
        (envelope(amount_cents={"sum_max": 199}), [refund(), refund()], "add up to more than 199"),
        (payments(amount={"max": "0.3"}), [payment("0.3000000000000000001")], "is above 0.3"),
        (payments(amount={"max": 2**64}), [payment(str(2**64 + 1))], "is above 18446744073709551616"),
        (payments(amount={"sum_max": "0.3"}), [payment("0.1"), payment("0.2000000000000000000001")], "more than 0.3"),
    ],
)
def test_what_exceeds_a_bound_is_outside_with_the_reason(given: Envelope, effects: list[Effect], reason: str) -> None:
    [told] = reasons(given, *effects)
    assert reason in told


@pytest.mark.parametrize(
    "effect",
    [
        payment("1", Ref(at="/limit", effect=0, path="/id"), limit=5),
        payment("1", Ref(at="/limit/0", effect=0, path="/id"), limit=[5]),
        payment("1", limit=None),
        payment("1", limit=True),
        payment("1", limit=[1, 2]),
        payment("1", limit={"cents": 1}),
        payment("1", limit="NaN"),
        payment("1", limit="Infinity"),
        payment("1", limit="1_0"),
        payment("1", limit=" 1"),
        payment("1", limit="\u0661"),
        payment("1", limit="1e999"),
        payment("1", limit="9" * 1001),
        call("pay_supplier", supplier_id=1, amount="1"),
    ],
)
def test_a_bounded_argument_that_is_no_known_number_is_outside(effect: Effect) -> None:
    [told] = reasons(payments(limit={"max": 10}), effect)
    assert told == "`limit` of effect 0 is not a number that is known when the plan is made."


def test_the_widest_numbers_add_up_exactly() -> None:
    plan = [payment("1e400"), payment("1e-400"), payment("9" * 400)]
    total = "1" + "9" * 400 + "." + "0" * 399 + "1"
    assert reasons(payments(amount={"sum_max": total}), *plan) == []
    assert exact_number("1e401") is None


def test_amounts_below_zero_make_no_room_for_others() -> None:
    given = envelope(amount_cents={"sum_max": 100})
    assert reasons(given, refund(-50), refund(100)) == []
    assert reasons(given, refund(-50), refund(101)) != []


def test_reasons_hold_no_value_of_the_plan() -> None:
    given = payments(amount={"max": 1, "sum_max": 2}, limit={"max": 1})
    told = " ".join(reasons(given, payment("4711.5", limit="secret-7"), payment("4712.5", limit=8)))
    assert not any(value in told for value in ("4711", "4712", "secret"))


# --- what rules make of it -------------------------------------------------------------------------------


@pytest.mark.parametrize(("amount", "verdict"), [(100, Verdict.ALLOW), (101, Verdict.APPROVE)])
def test_a_rule_allows_inside_and_asks_outside(court: Court, amount: int, verdict: Verdict) -> None:
    given = envelope(amount_cents={"max": 100})
    assert court.judge(INSIDE_ALLOWED, refund(amount), envelope=given).verdict is verdict


@pytest.mark.parametrize(("amount", "verdict"), [(100, Verdict.ALLOW), (101, Verdict.BLOCK)])
def test_a_rule_blocks_outside(court: Court, amount: int, verdict: Verdict) -> None:
    given = envelope(amount_cents={"max": 100})
    assert court.judge(OUTSIDE_BLOCKED, refund(amount), envelope=given).verdict is verdict


def test_a_verdict_says_what_takes_the_plan_outside_whatever_the_rules_ask(court: Court) -> None:
    given = envelope(amount_cents={"max": 100})
    judged = court.judge("default: allow\n", refund(100), refund(101), envelope=given)
    assert judged.outside == ("`amount_cents` of effect 1 is above 100.",)
    assert court.judge("default: allow\n", refund(100), envelope=given).outside == ()
    assert court.judge("default: allow\n", refund(101)).outside == ()


def test_of_very_much_that_is_outside_only_the_first_is_told(court: Court) -> None:
    many = [refund(200, number) for number in range(50)]
    judged = court.judge("default: allow\n", *many, envelope=envelope(99, amount_cents={"max": 100}))
    assert len(judged.outside) == OUTSIDE_TOLD_MAX


def test_nothing_is_inside_without_an_envelope(court: Court) -> None:
    assert court.judge(INSIDE_ALLOWED, refund()).verdict is Verdict.APPROVE
    assert court.judge(OUTSIDE_BLOCKED, refund()).verdict is Verdict.BLOCK


@pytest.mark.parametrize("text", [INSIDE_ALLOWED, OUTSIDE_BLOCKED])
def test_a_rule_about_the_envelope_is_not_warned_of(court: Court, text: str) -> None:
    assert court.engine.warnings(court.load(text), CATALOGUE) == ()


def test_the_smallest_change_leaves_out_what_takes_the_plan_outside(court: Court) -> None:
    given = envelope(2, amount_cents={"max": 100})
    effects = [refund(50), refund(200), refund(60), refund(70)]
    change = court.engine.smallest_change(court.load(INSIDE_ALLOWED), body(effects), facts(envelope=given))
    assert change is not None
    assert change.without == (1, 3)


@pytest.mark.parametrize(
    "inside",
    [
        "recipe.within_envelope",
        "recipe.within_envelope != false",
        "!(recipe.within_envelope == false)",
        "(recipe.within_envelope ? 1 : 2) == 1",
    ],
)
def test_what_is_left_is_judged_by_the_envelope_anew_where_being_inside_makes_a_rule_match(
    court: Court, inside: str
) -> None:
    text = (
        "default: allow\nrules:\n"
        f'  - {{name: only-outside, on: [refund_payment], when: "{inside}", then: approve}}\n'
        "  - {name: few, on: [refund_payment], when: plan.counts.refund_payment > 2, then: approve}\n"
    )
    given = envelope(9, amount_cents={"max": 60})
    effects = [refund(10, 1), refund(10, 2), refund(90, 3)]
    change = court.engine.smallest_change(court.load(text), body(effects), facts(envelope=given))
    assert change is not None
    assert change.without == (1,), "without the last one the rest would be inside"


# --- what a plan was seen to do --------------------------------------------------------------------------


def test_what_was_seen_is_within_itself_and_nothing_more_is() -> None:
    effects = [payment("12.50"), payment("0.10"), refund(300, 7), email()]
    given = seen(effects, CATALOGUE)
    assert reasons(given, *effects) == []
    assert given.effects_max == 4
    paid = given.functions["pay_supplier"]
    assert paid.effects_max == 2
    assert set(paid.arguments) == {"amount", "rate"}, "no identifier, and nothing that is absent"
    amount = paid.arguments["amount"]
    assert (amount.min, amount.max, amount.sum_max) == ("0.10", "12.50", "12.60")
    assert reasons(given, payment("12.51")) != []
    assert given.functions["send_email"].arguments == {}


def test_what_identifies_something_is_not_bounded_by_what_was_seen() -> None:
    functions = Functions()

    @functions.write
    def move(id: int, item_id: int, boxId: int, valid: int, paid: int) -> None:  # noqa: A002, N803 - names of a company's
        """Moves something."""

    args = {"id": 1, "item_id": 2, "boxId": 3, "valid": 4, "paid": 5}
    given = seen([effect(0, "move", args=args)], build_catalogue(functions))
    assert set(given.functions["move"].arguments) == {"valid", "paid"}


def test_an_argument_that_is_a_reference_somewhere_is_not_bounded_by_what_was_seen() -> None:
    ref = Ref(at="/amount_cents", effect=0, path="/cents")
    assert seen([refund(5), refund(5, 1, ref)], CATALOGUE).functions["refund_payment"].arguments == {}


def test_equal_numbers_of_different_form_are_seen_as_one() -> None:
    given = seen([payment("1.0"), payment("1")], CATALOGUE)
    assert given.functions["pay_supplier"].arguments["amount"].sum_max == 2
