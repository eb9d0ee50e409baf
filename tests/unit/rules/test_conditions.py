"""Conditions are checked against the language and the functions' schemas when the file is loaded."""

from __future__ import annotations

import pytest

from tests.support.rules import Court, condition
from vardy_worker.contracts.errors import RulesError


def refusal(court: Court, when: str, on: str) -> str:
    with pytest.raises(RulesError) as caught:
        court.load(condition(when, on=on))
    return caught.value.message


@pytest.mark.parametrize(
    ("when", "on", "part"),
    [
        # names
        ("argz.amount_cents > 1", "refund_payment", "there is no variable `argz`; did you mean `args`?"),
        (".args.amount_cents > 1", "refund_payment", "there is no variable `.args`"),
        ("Args.amount_cents > 1", "refund_payment", "there is no variable `Args`; did you mean `args`?"),
        ("function == 'x'", "refund_payment", "`function` is a reserved word"),
        ("args.amount > 1", "refund_payment", "no argument `amount`; did you mean `amount_cents`?"),
        ("args['amount'] > 1", "refund_payment", "no argument `amount`; did you mean `amount_cents`?"),
        ("has(args.amount)", "refund_payment", "no argument `amount`; did you mean `amount_cents`?"),
        ("'amount' in refs", "refund_payment", "no argument `amount`; did you mean `amount_cents`?"),
        ("args.amount_cents.x > 1", "refund_payment", "`args.amount_cents` of `refund_payment` has no `x`"),
        ("args.lines[0].skuu == ''", "ship_order", "`args.lines[]` of `ship_order` has no `skuu`; did you mean `sku`?"),
        ("args.lines.exists(l, l.skuu == '')", "ship_order", "has no `skuu`; did you mean `sku`?"),
        ("args.lines.all(l, args.lines.exists(m, m.skuu == l.sku))", "ship_order", "has no `skuu`"),
        ("args.nope > 1", "refund_*", "no function of `on` has it"),
        ("plan.counts.refund_paymnt > 1", "*", "there is no function `refund_paymnt`; did you mean `refund_payment`?"),
        ("plan.counts['refund_paymnt'] > 1", "*", "there is no function `refund_paymnt`"),
        ("plan.counts.list_invoices > 1", "*", "`list_invoices` is a read function"),
        ("plan.sums.refund_payment.amount > 1", "*", "no argument `amount`; did you mean `amount_cents`?"),
        ("plan.sums.send_email.to > 1", "*", "`to` of `send_email` is no number, so it has no sum"),
        ("plan.distinct.send_email.too > 1", "*", "no argument `too`; did you mean `to`?"),
        ("user_window.sums.send_email.to > 1", "*", "is no number, so it has no sum"),
        ("user_window.counts.mail > 1", "*", "there is no function `mail`"),
        ("plan.count > 1", "*", "`plan` has no `count`; did you mean `counts`?"),
        ("plan == {}", "*", "`plan` is no value of its own; there are `plan.counts`"),
        ("plan['total'] > 1", "*", "write `plan.total`"),
        ("plan['counts'].send_email > 1", "*", "write `plan.counts` with a dot"),
        ("has(plan.counts.send_email)", "*", "so compare it with 0"),
        ("has(user.id)", "*", "`user.id` is always there"),
        ("user.role == 'x'", "*", "`user` has no `role`; did you mean `roles`?"),
        ("effect.name == 'x'", "*", "`effect` has no `name`"),
        ("recipe.nam == ''", "*", "`recipe` has no `nam`; did you mean `name`?"),
        ("[1].all(plan, true)", "*", "`plan` cannot be a loop variable"),
        # types
        ("args.amount_cents", "refund_payment", "must be true or false, but it is an int"),
        ("args.to", "send_email", "must be true or false, but it is a string"),
        ("[true]", "*", "must be true or false, but it is a list"),
        ("null", "*", "must be true or false, but it is a null"),
        ("args.amount_cents > '5'", "refund_payment", "`>` cannot be applied to (int, string)"),
        ("args.amount_cents == '5'", "refund_payment", "`==` cannot be applied to (int, string)"),
        ("args.amount_cents > 1.5", "refund_payment", "write a number with a decimal point"),
        ("args.rate > 1", "pay_supplier", "write a number with a decimal point"),
        ("args.amount > 5.0", "pay_supplier", "a decimal travels as text"),
        ("args.limit == 'x'", "pay_supplier", "`==` cannot be applied to (int or null, string)"),
        ("plan.counts.send_email > 1.0", "*", "`>` cannot be applied to (int, double)"),
        ("plan.sums.pay_supplier.amount > 1", "*", "`>` cannot be applied to (double, int)"),
        ("user.roles == 'x'", "*", "`==` cannot be applied to (list(string), string)"),
        ("'x' in user.id", "*", "cannot be applied to (string, string)"),
        ("mode.x", "*", "'string' cannot be the operand of a select"),
        ("args.tags.a + args.tags.b > 1", "ship_order", "`+` is applied to values whose types are not known"),
        ("-args.to == 1", "send_email", "cannot be applied to (string)"),
        # syntax
        ("args.amount_cents >", "refund_payment", "Syntax error"),
        ("args.amount_cents > 1 and true", "refund_payment", "Syntax error"),
        ("'unclosed", "*", "Syntax error"),
        ("size(1, 2, 3)", "*", "nothing called `size` takes these arguments"),
        ("nothing(1)", "*", "nothing called `nothing` takes these"),
        ("(" * 200 + "true" + ")" * 200, "*", "nested too deeply"),
        ("1" + " + 1" * 500 + " == 1", "*", "nested too deeply"),
        ("args.?amount_cents.hasValue()", "refund_payment", "unsupported syntax"),
    ],
)
def test_what_cannot_be_right_is_refused_with_the_way_out(court: Court, when: str, on: str, part: str) -> None:
    assert part in refusal(court, when, on)


def test_every_unknown_name_of_a_condition_is_named(court: Court) -> None:
    message = refusal(court, "foo > 1 && bar > 2", "*")
    assert "`foo`" in message
    assert message.endswith("(and 1 more problem)")


def test_an_argument_that_only_some_of_the_functions_have_must_be_asked_for_first(court: Court) -> None:
    assert "narrow `on`, or test it with has() first" in refusal(court, "args.amount_cents > 1", "*")
    assert court.load(condition("has(args.amount_cents) && args.amount_cents > 1"))
    assert court.load(condition("'amount_cents' in args && args.amount_cents > 1"))


def test_one_condition_is_typed_for_each_function_apart(court: Court) -> None:
    message = refusal(court, "has(args.order_id) && args.lines == []", "*_order")
    assert "`refund_order` is among `on` but has no `args.lines`" in message


def test_an_argument_of_another_type_in_one_function_is_named_with_the_function(court: Court) -> None:
    message = refusal(court, "has(args.lines) && args.lines == [1]", "*")
    assert message.endswith(
        "`==` cannot be applied to (list(map(string, dyn)), list(int)) (in effects of `ship_order`)"
    )


@pytest.mark.parametrize(
    ("when", "on"),
    [
        ("args.amount_cents <= 5000 && plan.counts.refund_payment <= 3", "refund_*"),
        ("args.note == 'x'", "delete_*"),
        ("args.limit == null || args.limit > 5", "pay_supplier"),
        ("args.cc != null && args.cc.endsWith('@example.com')", "send_email"),
        ("args.lines.all(l, double(l.price) * double(l.quantity) < 100.0)", "ship_order"),
        ("args.lines[0].sku == 'x' && size(args.lines) < 10", "ship_order"),
        ("args.tags.fragile == 1", "ship_order"),
        ("args.all(k, k != 'x')", "ship_order"),
        ("params.days > 30 && has(params.customer.id)", "*"),
        ("user.attributes.region == 'EU' && 'lead' in user.roles && user.id != 'bob'", "*"),
        ("recipe.name == '' || recipe.within_envelope", "*"),
        ("mode == 'plan' && effect.seq == 0 && effect.function.startsWith('refund_')", "*"),
        ("plan.total > 10 || plan.duplicates > 0 || plan.distinct.send_email.to > 5", "*"),
        ("plan.counts[effect.function] > 3", "*"),
        ("plan.sums.refund_payment.amount_cents + user_window.sums.refund_payment.amount_cents > 100000", "*"),
        ("user_window.counts.send_email > 100", "*"),
        ("type(params.x) == string", "*"),
        ("args.`amount_cents` > 1", "refund_payment"),
        ("params.flag", "*"),
    ],
)
def test_what_may_be_right_is_accepted(court: Court, when: str, on: str) -> None:
    assert court.load(condition(when, on=on)).rules[0].when == when
