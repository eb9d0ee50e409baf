"""The values that conditions see: arguments by their schema, aggregates over the plan, facts about the request."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.support.rules import Court, call, email, payment, refund
from vardy_worker.contracts.envelope import Envelope, FunctionEnvelope
from vardy_worker.contracts.totals import EffectTotals

BIG = 2**62 + 1


@pytest.mark.parametrize(
    "when",
    [
        f"args.payment_id == {BIG}",
        f"args.payment_id > {BIG - 1} && args.payment_id < {BIG + 1}",
        f"args.payment_id in [1, {BIG}]",
        f"args['payment_id'] == {BIG}",
        f"plan.sums.refund_payment.payment_id == {BIG}",
        f"string(args.payment_id) == '{BIG}'",
    ],
)
def test_integers_beyond_what_javascript_can_hold_are_integers(court: Court, when: str) -> None:
    assert court.matches(when, refund(1, str(BIG)))


def test_integers_inside_lists_and_maps_are_integers_too(court: Court) -> None:
    effect = call(
        "ship_order", order_id=1, lines=[{"sku": "a", "quantity": str(BIG), "price": "1"}], tags={"serial": str(BIG)}
    )
    assert court.matches(f"args.lines[0].quantity == {BIG} && args.tags.serial == {BIG}", effect)


def test_a_whole_number_of_a_float_argument_is_a_float(court: Court) -> None:
    assert court.matches("args.rate == 3.0 && args.rate * 2.0 > 5.5", payment(rate=3))


def test_a_decimal_is_compared_after_conversion(court: Court) -> None:
    assert court.matches("double(args.amount) > 12.49 && args.amount == '12.50'", payment("12.50"))


def test_null_is_compared_with_null(court: Court) -> None:
    assert court.matches("args.limit == null", payment())
    assert court.matches("args.limit != null && args.limit > 5", payment(limit=6))
    assert not court.matches("args.limit != null && args.limit > 5", payment(limit=None))


@pytest.mark.parametrize("urgent", [True, False])
def test_asking_whether_an_argument_is_there_is_not_asking_for_its_value(court: Court, urgent: bool) -> None:
    effect = payment(urgent=urgent)
    assert court.matches("has(args.urgent)", effect)
    assert court.matches("args.urgent", effect) is urgent
    assert court.matches("has(args.urgent) && args.urgent", effect) is urgent


def test_asking_whether_a_parameter_is_there_is_not_asking_for_its_value(court: Court) -> None:
    assert court.matches("has(params.dry_run) && !params.dry_run", refund(), params={"dry_run": False})
    assert not court.matches("has(params.dry_run) && params.dry_run", refund(), params={})


def test_loop_variables_see_the_elements(court: Court) -> None:
    lines = [{"sku": "a", "quantity": 2, "price": "1.50"}, {"sku": "b", "quantity": 1, "price": "99"}]
    effect = call("ship_order", order_id=1, lines=lines, tags={})
    assert court.matches("args.lines.exists(l, l.sku == 'b' && double(l.price) > 50.0)", effect)
    assert court.matches("args.lines.map(l, l.sku) == ['a', 'b']", effect)
    assert not court.matches("args.lines.all(l, args.lines.exists(m, m.quantity > l.quantity))", effect)


def test_an_effect_knows_its_function_and_place(court: Court) -> None:
    assert court.matches("effect.function == 'refund_payment' && effect.seq == 1", email(), refund())


def test_functions_that_are_not_in_the_plan_count_zero(court: Court) -> None:
    when = (
        "plan.counts.send_email == 0 && plan.sums.pay_supplier.amount == 0.0 && plan.sums.pay_supplier.limit == 0"
        " && plan.distinct.send_email.to == 0 && plan.total == 1 && plan.duplicates == 0"
    )
    assert court.matches(when, refund())


def test_a_table_has_every_write_function_and_each_of_its_arguments(court: Court) -> None:
    when = (
        "plan.counts == {'pay_supplier': 0, 'refund_order': 0, 'refund_payment': 2, 'send_email': 0, 'ship_order': 0}"
        " && plan.sums.refund_payment == {'payment_id': 2, 'amount_cents': 300}"
        " && plan.sums.pay_supplier == {'supplier_id': 0, 'amount': 0.0, 'rate': 0.0, 'limit': 0}"
        " && plan.distinct.refund_payment == {'payment_id': 1, 'amount_cents': 2}"
        " && plan.sums.send_email == {}"
    )
    assert court.matches(when, refund(100), refund(200))


def test_a_table_can_be_asked_for_the_effects_own_function(court: Court) -> None:
    assert court.matches("plan.counts[effect.function] == 2", email(), refund(), refund())


def test_sums_of_decimals_and_floats_are_exact_before_they_become_floats(court: Court) -> None:
    effects = [payment("0.1", rate=0.1), payment("0.1", rate=0.1), payment("0.1", rate=0.1)]
    assert court.matches("plan.sums.pay_supplier.amount == 0.3 && plan.sums.pay_supplier.rate == 0.3", *effects)


def test_null_adds_nothing_and_is_no_distinct_value(court: Court) -> None:
    effects = [payment(limit=5), payment(limit=None), payment(limit=5)]
    assert court.matches("plan.sums.pay_supplier.limit == 10 && plan.distinct.pay_supplier.limit == 1", *effects)


def test_distinct_counts_different_values_also_of_lists(court: Court) -> None:
    one = [{"sku": "a", "quantity": 1, "price": "1"}]
    two = [{"sku": "b", "quantity": 1, "price": "1"}]
    effects = [call("ship_order", order_id=n, lines=lines, tags={}) for n, lines in enumerate([one, two, one])]
    assert court.matches("plan.distinct.ship_order.lines == 2 && plan.distinct.ship_order.order_id == 3", *effects)


def test_duplicates_are_the_effects_that_repeat_an_earlier_one(court: Court) -> None:
    assert court.matches("plan.duplicates == 3", refund(1), email(), refund(1), refund(1), email())
    assert court.matches("plan.duplicates == 0", refund(1), refund(2), email())


def test_totals_over_time_are_zero_where_nothing_was_done(court: Court) -> None:
    assert court.matches(
        "user_window.counts.refund_payment == 0 && user_window.sums.pay_supplier.amount == 0.0", refund()
    )


def test_totals_over_time_are_added_to_those_of_the_plan(court: Court) -> None:
    window = EffectTotals(
        counts={"refund_payment": 9},
        sums={"refund_payment": {"amount_cents": Decimal(99_000)}, "pay_supplier": {"amount": Decimal(7)}},
    )
    when = (
        "plan.sums.refund_payment.amount_cents + user_window.sums.refund_payment.amount_cents == 100000"
        " && plan.counts.refund_payment + user_window.counts.refund_payment == 10"
        " && user_window.sums.pay_supplier.amount == 7.0 && user_window.counts.send_email == 0"
        " && user_window.sums.refund_payment == {'amount_cents': 99000, 'payment_id': 0}"
    )
    assert court.matches(when, refund(1000), user_window=window)


def test_a_sum_over_time_that_is_not_known_blocks_and_others_do_not(court: Court) -> None:
    window = EffectTotals(counts={"refund_payment": 2}, unknown={"refund_payment": {"amount_cents": 1}})
    failure = court.failure("user_window.sums.refund_payment.amount_cents > 5", refund(), user_window=window)
    assert "`amount_cents` was not known in 1 of the requester's other plans" in failure
    assert court.matches("user_window.counts.refund_payment == 2", refund(), user_window=window)
    assert court.matches("user_window.sums.refund_payment.payment_id == 0", refund(), user_window=window)


@pytest.mark.parametrize(
    ("function", "argument", "total", "reason"),
    [
        ("refund_payment", "amount_cents", "9223372036854775808", "beyond 64 bits"),
        ("refund_payment", "amount_cents", "0.5", "is no integer"),
        ("pay_supplier", "amount", "1e400", "not a finite number"),
    ],
)
def test_a_sum_over_time_that_rules_cannot_compare_blocks(
    court: Court, function: str, argument: str, total: str, reason: str
) -> None:
    window = EffectTotals(sums={function: {argument: Decimal(total)}})
    when = f"user_window.sums.{function}.{argument} == user_window.sums.{function}.{argument}"
    assert reason in court.failure(when, refund(), user_window=window)


def test_totals_over_time_that_nobody_read_block(court: Court) -> None:
    assert "is not known here" in court.failure("user_window.counts.send_email > 5", refund(), user_window=None)


def test_a_recipe_is_always_an_object(court: Court) -> None:
    assert court.matches("recipe.name == '' && !recipe.within_envelope", refund())
    when = "recipe.name == 'reminder' && recipe.within_envelope"
    wide = Envelope(functions={"refund_payment": FunctionEnvelope(effects_max=1)})
    assert court.matches(when, refund(), recipe_name="reminder", envelope=wide)


@pytest.mark.parametrize("mode", ["execute", "plan"])
def test_the_mode_is_the_requests(court: Court, mode: str) -> None:
    assert court.matches(f"mode == '{mode}'", refund(), mode=mode)


def test_params_are_read_at_any_depth(court: Court) -> None:
    params = {"days": 30, "customer": {"id": 7, "tags": ["vip"]}, "rate": 0.5}
    when = "params.days == 30 && params.customer.id == 7 && 'vip' in params.customer.tags && params.rate < 0.6"
    assert court.matches(when, refund(), params=params)


def test_names_that_are_no_identifiers_are_reached_by_index(court: Court) -> None:
    assert court.matches("params['due date'] == 'x' && params.`due date` == 'x'", refund(), params={"due date": "x"})


def test_guarded_arithmetic_keeps_every_kind_of_value_beside_it(court: Court) -> None:
    when = (
        "args.rate * 2.0 - 1.0 == 5.0 && double(args.amount) / 2.0 == -6.25 && args.supplier_id - 2 == -1"
        " && {'a': -5, 'b': [1u, 2u]}.a == -5 && b'\\xff' == b'\\xff' && '🙂é'.size() == 2 && null == null"
        " && [1.5, -0.5].map(x, x * 2.0) == [3.0, -1.0] && [1.5].exists(x, x + args.rate > 4.0)"
        " && (args.urgent ? 1.0 : args.rate + 1.0) == 4.0 && -args.rate == -3.0 && 9223372036854775807 > 0"
        " && duration('60s') + duration('1s') > duration('60s') && 'a' + 'b' == 'ab' && [1] + [2] == [1, 2]"
    )
    assert court.matches(when, payment("-12.50", rate=3))
