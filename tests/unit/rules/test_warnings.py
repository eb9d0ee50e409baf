"""Rules that hold but do nothing are told, with their line, the reason and what to do; nothing uncertain is."""

from __future__ import annotations

import pytest

from tests.support.rules import CATALOGUE, Court
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.policy import RuleWarning


def warnings(court: Court, *items: str, default: str = "approve") -> list[RuleWarning]:
    text = f"default: {default}\nrules:\n" + "".join(f"  - {{{item}}}\n" for item in items)
    return list(court.engine.warnings(court.load(text), CATALOGUE))


def never(court: Court, when: str, on: str = "refund_payment") -> str:
    """The warning about one blocking rule with that condition; empty when there is none."""
    found = warnings(court, f"name: a, on: [{on}], when: '{when}', then: block")
    assert len(found) <= 1
    return found[0].message if found else ""


def test_a_glob_that_fits_no_write_function_is_told(court: Court) -> None:
    [warning] = warnings(court, 'name: a, on: ["pay_customer*", "list_*"], then: block')
    assert (warning.line, warning.rule) == (3, "a")
    assert "`pay_customer*`, `list_*`" in warning.message
    assert "Correct the name" in warning.advice


def test_without_a_catalogue_no_glob_is_told(court: Court) -> None:
    rules = court.engine.load('rules:\n- {name: a, on: ["nothing_*"], then: block}\n', Catalogue())
    assert court.engine.warnings(rules, Catalogue()) == ()


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("false", "its condition is false whatever happens"),
        ("args.amount_cents > 5 && false", "its condition is false whatever happens"),
        ("args.amount_cents > 5 && args.amount_cents < 3", "`args.amount_cents > 5` are never true together"),
        ("args.amount_cents > 5 && args.amount_cents <= 5", "never true together"),
        ("!(args.amount_cents <= 5 || args.amount_cents >= 3)", "never true together"),
        ("3 > args.amount_cents && 5 < args.amount_cents", "never true together"),
        ('user.id == "a" && user.id == "b"', '`user.id == "a"` and `user.id == "b"`'),
        ('user.id == "a" && user.id != "a"', "never true together"),
        ("args.amount_cents in [1, 2] && args.amount_cents > 2", "each way in which its condition could be true"),
        ("plan.counts.send_email < 0", "`plan.counts.send_email < 0` is never true"),
        ("plan.total == 0", "`plan.total == 0` is never true"),
        ('mode == "planned"', '`mode == "planned"` is never true'),
        ('effect.function == "send_email"', "is never true"),
        ('effect.function in ["send_email", "ship_order"]', "each way"),
        ('"amount_cents" in refs && !("amount_cents" in refs)', "asks for something and for its opposite"),
        ("recipe.within_envelope && !recipe.within_envelope", "never true together"),
        ("size(user.roles) > 3 && size(user.roles) < 2", "`size(user.roles) < 2` and `size(user.roles) > 3`"),
        (
            "plan.sums.refund_order.amount_cents + params.b > 9 && plan.sums.refund_order.amount_cents + params.b < 9",
            "never true together",
        ),
        ("params.a == true && params.a == 1", "never true together"),
        ('params.a > 1 && params.a < "b"', "never true together"),
        ("params.a > null && params.a < null", "`params.a < null` is never true"),
    ],
)
def test_a_condition_that_can_never_be_true_is_told_with_its_contradiction(
    court: Court, when: str, reason: str
) -> None:
    message = never(court, when)
    assert message.startswith("The rule never matches: ")
    assert reason in message


@pytest.mark.parametrize(
    "when",
    [
        "true",
        "args.amount_cents > 3 && args.amount_cents < 5",
        "args.amount_cents >= 5 && args.amount_cents <= 5",
        "args.amount_cents > 5 || args.amount_cents < 3",
        "args.amount_cents > 5 && args.payment_id < 3",
        "args.amount_cents != 3 && args.amount_cents != 4",
        'user.id == "a" || user.id == "b"',
        "plan.counts.send_email >= 0",
        "plan.total == 1",
        'mode == "plan"',
        'effect.function == "refund_payment"',
        "params.a == 1 && params.a == 1.0",
        'params.a != "x" && params.a > 1',
        "user.roles.exists(r, r == 'a') && user.roles.exists(r, r == 'b')".replace("'", '"'),
        "int(params.a) > 5 && int(params.b) < 3",
        "plan.sums.refund_payment.amount_cents < 0",
        "plan.counts.refund_payment + args.amount_cents < 0",
        "user_window.counts.refund_payment < 0",
    ],
)
def test_a_condition_that_may_be_true_is_left_alone(court: Court, when: str) -> None:
    assert never(court, when) == ""


def test_a_condition_with_too_many_ways_to_be_true_is_not_judged(court: Court) -> None:
    clause = " && ".join(f"(params.a{n} == 1 || params.b{n} == 2)" for n in range(12))
    assert never(court, f"{clause} && args.amount_cents > 5 && args.amount_cents < 3") == ""


def test_long_conditions_are_judged_or_left_alone_but_break_nothing(court: Court) -> None:
    many = ", ".join(str(number) for number in range(700))
    assert never(court, f"args.amount_cents in [{many}] && args.amount_cents > 5000") == ""
    few = ", ".join(str(number) for number in range(60))
    assert "each way" in never(court, f"args.amount_cents in [{few}] && args.amount_cents > 5000")
    sums = " + ".join(["args.amount_cents"] * 20)
    assert "never true together" in never(court, f"{sums} > 5 && {sums} < 3")


def test_a_rule_is_shadowed_by_a_stricter_one_that_always_matches_with_it(court: Court) -> None:
    [warning] = warnings(
        court,
        'name: ceiling, on: ["refund_*"], when: args.amount_cents > 100, then: block',
        "name: lead, on: [refund_payment], when: args.amount_cents > 200 && plan.total > 2, then: approve",
    )
    assert warning.rule == "lead"
    assert "`ceiling` at line 3 matches too and blocks" in warning.message
    assert warning.advice == "Remove the rule, or narrow `ceiling`."


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("then: block", "when: args.amount_cents > 5, then: allow"),
        ("then: block", "when: args.amount_cents > 5, then: approve"),
        ("then: approve", "when: args.amount_cents > 5, then: allow"),
        ("when: plan.counts.refund_payment >= 0, then: block", "when: args.amount_cents > 5, then: allow"),
        ('when: args.amount_cents > 5 || mode == "plan", then: block', "when: args.amount_cents > 5, then: allow"),
        ("when: 'args.amount_cents in [1, 2, 3]', then: block", "when: 'args.amount_cents in [3, 1]', then: allow"),
        ("when: 'args.amount_cents != 7', then: block", "when: args.amount_cents > 7, then: allow"),
        (
            "when: 'has(user.attributes.a)  &&  params.b > 1', then: block",
            "when: 'params.b>1&&(has(user.attributes.a))', then: allow",
        ),
    ],
)
def test_what_is_implied_is_shadowed_in_either_order(court: Court, wide: str, narrow: str) -> None:
    first, second = f'name: wide, on: ["refund_*"], {wide}', f"name: narrow, on: [refund_payment], {narrow}"
    for items in ((first, second), (second, first)):
        assert [warning.rule for warning in warnings(court, *items)] == ["narrow"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("on: [refund_payment], then: block", 'on: ["refund_*"], then: allow'),
        ("when: args.amount_cents > 5, then: block", "when: args.amount_cents > 4, then: allow"),
        ("when: args.amount_cents > 5, then: block", "when: args.payment_id > 5, then: allow"),
        ("then: allow", "when: args.amount_cents > 5, then: block"),
        ("then: approve", "when: args.amount_cents > 5, then: block"),
        ("then: approve", "then: approve, approvers: {quorum: 2}"),
        ("when: args.amount_cents >= 5 || args.amount_cents < 5, then: block", "then: allow"),
        ("when: params.a >= 0, then: block", "when: params.b >= 0, then: allow"),
        ("when: params.a == 1, then: block", "when: params.a == true, then: allow"),
        ("when: plan.distinct.send_email.to >= 0, then: block", "then: allow"),
        ("when: plan.counts.send_email + args.amount_cents >= 0, then: block", "then: allow"),
    ],
)
def test_rules_that_each_have_a_say_are_left_alone(court: Court, one: str, other: str) -> None:
    parts = [part if "on:" in part else f"on: [refund_payment], {part}" for part in (one, other)]
    assert warnings(court, f"name: a, {parts[0]}", f"name: b, {parts[1]}") == []


def test_a_sentence_of_its_own_before_a_wider_rule_of_the_same_verdict_has_a_use(court: Court) -> None:
    narrow = 'name: narrow, on: [refund_payment], when: args.amount_cents > 9, then: block, message: "Far too much."'
    wide = 'name: wide, on: ["refund_*"], when: args.amount_cents > 5, then: block, message: "Too much."'
    assert warnings(court, narrow, wide) == []
    assert [warning.rule for warning in warnings(court, wide, narrow)] == ["narrow"]


def test_the_same_rule_twice_is_told_of_the_later_one(court: Court) -> None:
    [warning] = warnings(
        court,
        "name: a, on: [refund_payment], when: args.amount_cents > 5, then: approve",
        "name: b, on: [refund_payment], when: (args.amount_cents>5), then: approve",
    )
    assert warning.rule == "b"
    assert warning.message.startswith("The rule is the same as `a` at line 3")


def test_an_allow_rule_under_a_default_that_allows_is_told(court: Court) -> None:
    [warning] = warnings(court, "name: a, on: [send_email], then: allow", default="allow")
    assert "so it changes nothing" in warning.message
    assert warnings(court, "name: a, on: [send_email], then: allow", default="block") == []


def test_a_glob_covers_only_what_all_names_of_the_other_fit(court: Court) -> None:
    assert warnings(court, 'name: a, on: ["r?fund_*"], then: block', 'name: b, on: ["r*fund_*"], then: allow') == []
    [warning] = warnings(court, 'name: a, on: ["r*"], then: block', 'name: b, on: ["re*_payment"], then: allow')
    assert warning.rule == "b"


def test_warnings_come_in_the_order_of_the_file_and_one_for_a_rule(court: Court) -> None:
    found = warnings(
        court,
        "name: a, on: [refund_payment], then: allow",
        'name: b, on: ["x*"], when: "false", then: block',
        "name: c, on: [refund_payment], then: block",
    )
    assert [(warning.line, warning.rule) for warning in found] == [(3, "a"), (4, "b")]
