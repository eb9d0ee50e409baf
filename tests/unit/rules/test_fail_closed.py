"""What cannot be evaluated, or whose result cannot be trusted, blocks with the rule's name and the reason."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import ANA
from tests.support.rules import CATALOGUE, Court, body, call, condition, email, facts, payment, refund
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.plan import Effect
from vardy_worker.contracts.policy import PolicyResult, Verdict

SECRET = "s3cret-value"


def shipment(*quantities: object, **tags: object) -> Effect:
    lines = [{"sku": "a", "quantity": quantity, "price": "1.5"} for quantity in quantities]
    return call("ship_order", order_id=1, lines=lines, tags=tags)


@pytest.mark.parametrize(
    ("when", "effect", "reason"),
    [
        # missing
        ("args.tags.x > 1", shipment(), "it reads a key that is not there"),
        ("args.tags['x'] > 1", shipment(), "it reads a key that is not there"),
        ("args.lines[3].sku == ''", shipment(1), "it reads an element that is not there"),
        (
            "args.amount_cents > 1",
            call("refund_payment", payment_id=1),
            "the argument `amount_cents`, which is not there",
        ),
        ("params.days > 1", refund(), "`params.days`, which is not there"),
        ("user.attributes.region == 'EU'", refund(), "`user.attributes.region`, which is not there"),
        ("params.a.b > 1", refund(), "`params.a`, which is not there"),
        # types
        ("args.limit > 1", payment(), "`>` cannot be applied to (null, int); test it with `!= null` first"),
        ("params.text > 1", refund(), "`>` cannot be applied to (string, int)"),
        ("params.number", refund(), "it gives an int instead of true or false"),
        ("params.text", refund(), "it gives a string instead of true or false"),
        ("params.nothing", refund(), "it gives a null instead of true or false"),
        ("params.list", refund(), "it gives a list instead of true or false"),
        ("params.text.inner == 1", refund(), "it reads a field of something that has no fields"),
        ("params.number && true", refund(), "`&&` cannot be applied to these types"),
        # arithmetic
        ("1 / (args.amount_cents - 100) > 0", refund(), "it divides by zero"),
        ("args.amount_cents % 0 == 1", refund(), "it divides by zero"),
        ("args.amount_cents + 9223372036854775807 > 0", refund(), "a number overflows"),
        ("int(args.to) > 1", email(), "a value cannot be converted"),
        ("double(args.amount) > 1.0", payment("abc"), "a value cannot be converted"),
        ("timestamp(args.to) > timestamp('2024-01-01T00:00:00Z')", email(), "a value cannot be converted"),
        ("args.to.matches('(')", email(), "a regular expression is not valid"),
        ("args.to.matches(args.subject)", email(subject=f"({SECRET}"), "a regular expression is not valid"),
        # not finite
        ("double(args.amount) > 1.0", payment("NaN"), "a number that is not finite"),
        ("double(args.amount) < 1.0", payment("nan"), "a number that is not finite"),
        ("double(args.amount) == 1.0", payment("Infinity"), "a number that is not finite"),
        ("double(args.amount) > 1.0", payment("1e999"), "a number that is not finite"),
        ("double(args.amount) != double(args.amount)", payment("NaN"), "a number that is not finite"),
        ("args.rate / 0.0 > 1.0", payment(), "a number that is not finite"),
        ("args.rate / args.rate > 1.0", payment(rate=0), "a number that is not finite"),
        ("args.rate * args.rate > 1.0", payment(rate=1e200), "a number that is not finite"),
        ("args.rate + args.rate > 1.0", payment(rate=1.7e308), "a number that is not finite"),
        ("args.rate - 1.7e308 > 1.0", payment(rate=-1.7e308), "a number that is not finite"),
        ("[args.rate].exists(r, r * r > 1.0)", payment(rate=1e200), "a number that is not finite"),
        ("[args.rate].map(r, r * r)[0] > 1.0", payment(rate=1e200), "a number that is not finite"),
        ("{'r': args.rate * args.rate}.r > 1.0", payment(rate=1e200), "a number that is not finite"),
        ("(args.urgent ? 1.0 : args.rate / 0.0) > 1.0", payment(), "a number that is not finite"),
        ("double(params.text) > 1.0", refund(), "a value cannot be converted"),
        ("1.0 / 0.0 > 1.0", refund(), "a number that is not finite"),
        # size
        (
            "args.tags.all(a, args.tags.all(b, args.tags.all(c, true)))",
            shipment(**{f"k{n}": 1 for n in range(60)}),
            "budget",
        ),
        # integers beyond 64 bits, and values that are not what the schema says
        ("args.payment_id > 1", refund(1, str(2**63)), "an integer beyond 64 bits"),
        ("args.payment_id == 1", refund(1, "9" * 40), "an integer beyond 64 bits"),
        ("args.payment_id == 1", refund(1, "not a number"), "is not what its schema says"),
        (
            "args.payment_id == 1",
            call("refund_payment", payment_id=True, amount_cents=1),
            "is not what its schema says",
        ),
        ("args.lines.all(l, l.quantity == 1)", shipment(str(2**64)), "an integer beyond 64 bits"),
        ("args.to == ''", email(None), "is not what its schema says"),  # type: ignore[arg-type] # the point
        ("params.big > 1", refund(), "an integer beyond 64 bits"),
        ("params.nan > 1.0", refund(), "a number that is not finite"),
        ("params.deep.x == 1", refund(), "nested deeper than"),
        ("size(params) > 1", refund(), "`params`, which is"),
        ("args.to == 'x'", email("\ud800"), "a text is not valid Unicode"),
        # sums that cannot be known
        ("plan.sums.pay_supplier.amount > 1.0", payment("NaN"), "`amount` of effect 0 is not"),
        ("plan.sums.pay_supplier.amount > 1.0", payment("1e400"), "is not a finite number"),
        ("plan.sums.refund_payment.payment_id > 1", refund(1, str(2**63)), "is an integer beyond 64 bits"),
        ("size(plan.sums.refund_payment) > 1", refund(1, str(2**63)), "is an integer beyond 64 bits"),
    ],
)
def test_what_cannot_be_evaluated_blocks_with_its_reason(court: Court, when: str, effect: Effect, reason: str) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"x": deep}
    params = {
        "text": SECRET,
        "number": 5,
        "nothing": None,
        "list": [1],
        "big": 2**70,
        "nan": float("nan"),
        "deep": deep,
    }
    message = court.failure(when, effect, params=params)
    assert message.startswith("Rule `the-rule` could not be evaluated, so the effect is blocked: ")
    assert reason in message
    assert SECRET not in message


def test_sums_beyond_64_bits_block_though_each_value_fits(court: Court) -> None:
    when = "plan.sums.refund_payment.payment_id > 1"
    assert "beyond 64 bits" in court.failure(when, refund(1, str(2**62)), refund(1, str(2**62)))


REFERENCE = Ref(at="/amount_cents", effect=0, path="/total")


@pytest.mark.parametrize(
    "when",
    [
        "args.amount_cents > 100000",
        "args['amount_cents'] > 100000",
        "has(args.amount_cents) && args.amount_cents > 100000",
        "'amount_cents' in args && args.amount_cents > 100000",
        "args.exists(name, name == 'amount_cents')",
        "size(args) == 2",
        "args == {}",
    ],
)
def test_an_argument_that_is_a_reference_cannot_slip_past_a_rule_that_asks_for_it(court: Court, when: str) -> None:
    message = court.failure(when, refund(1, 1), refund(1, 1, REFERENCE))
    assert "`amount_cents`, which comes from the result of an earlier effect" in message
    assert "test `'amount_cents' in refs` first" in message


def test_a_rule_that_checks_references_first_can_decide(court: Court) -> None:
    when = "'amount_cents' in refs || args.amount_cents > 100000"
    assert court.matches(when, refund(1), refund(1, 1, REFERENCE))
    assert not court.matches(when, refund(1), refund(1, 1))


def test_questions_about_other_arguments_are_answered_beside_a_reference(court: Court) -> None:
    assert court.matches("has(args.payment_id) && args.payment_id == 7", refund(1), refund(1, 7, REFERENCE))


def test_a_rule_that_may_not_see_everything_does_not_blind_the_others(court: Court) -> None:
    text = """\
default: allow
rules:
- {name: whole, on: [refund_payment], when: size(args) > 9, then: allow}
- {name: other, on: [refund_payment], when: has(args.payment_id) && args.payment_id == 7, then: allow}
"""
    verdict = court.judge(text, refund(1), refund(1, 7, REFERENCE)).effects[1]
    assert (verdict.rules, verdict.failed_rule) == (("other",), "whole")


def test_an_argument_that_contains_a_reference_is_hidden_as_a_whole(court: Court) -> None:
    inside = Ref(at="/lines/0/sku", effect=0, path="/sku")
    effect = call("ship_order", inside, order_id=1, lines=[{"sku": None, "quantity": 1, "price": "1"}], tags={})
    assert court.matches("refs == ['lines'] && args.order_id == 1", refund(), effect)
    for when in ("args.lines.exists(l, l.sku == 'banned')", "size(args.lines) > 5", "has(args.lines)"):
        assert "`lines`, which comes from the result of an earlier effect" in court.failure(when, refund(), effect)


@pytest.mark.parametrize("table", ["sums", "distinct"])
def test_aggregates_over_a_reference_are_unknown_and_not_too_small(court: Court, table: str) -> None:
    when = f"plan.{table}.refund_payment.amount_cents > 100000"
    message = court.failure(when, refund(1), refund(1, 1, REFERENCE))
    assert f"`plan.{table}.refund_payment.amount_cents`, which cannot be known" in message
    assert "`amount_cents` of effect 1 is a reference" in message


def test_counts_are_known_whatever_the_arguments_are(court: Court) -> None:
    assert court.matches("plan.counts.refund_payment == 2", refund(1), refund(1, 1, REFERENCE))


def test_what_a_failing_part_cannot_change_is_decided_by_the_other_part(court: Court) -> None:
    assert court.matches("params.missing > 1 || true", refund())
    assert not court.matches("params.missing > 1 && false", refund())


def test_a_failure_in_one_effect_leaves_the_others_alone(court: Court) -> None:
    text = condition("args.amount_cents > 1000", on="refund_payment")
    result = court.judge(text, refund(1), refund(1, 1, REFERENCE), refund(2000))
    assert [effect.failed_rule for effect in result.effects] == ["", "the-rule", ""]
    assert [effect.verdict for effect in result.effects] == [Verdict.ALLOW, Verdict.BLOCK, Verdict.BLOCK]


def test_results_that_are_null_do_no_harm_to_the_process(court: Court) -> None:
    rules = court.load(condition("params.nothing", on="refund_payment"))
    plan = body([refund()])
    given = facts(params={"nothing": None})
    court.engine.evaluate(rules, plan, given)
    gc.collect()
    before = sys.getrefcount(None)
    for _ in range(500):
        court.engine.evaluate(rules, plan, given)
    gc.collect()
    assert sys.getrefcount(None) > before - 250


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the resident memory from /proc")
def test_evaluations_leave_no_memory_behind(court: Court) -> None:
    text = condition("double(args.amount) * 2.0 > 5.0 && has(args.limit) && params.nothing == null", on="pay_supplier")
    rules = court.load(text)
    plan = body([payment(str(n)) for n in range(200)])
    given = facts(params={"nothing": None})

    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def evaluate(times: int) -> None:
        for _ in range(times):
            court.engine.evaluate(rules, plan, given)
        gc.collect()

    evaluate(20)
    before = resident_bytes()
    evaluate(150)
    assert resident_bytes() - before < 30_000 * 40, "more than 40 bytes stayed for each evaluation"


def test_one_engine_serves_many_threads(court: Court) -> None:
    text = condition("args.amount_cents > 500 && plan.counts.refund_payment > 1 && double('1.5') > 1.0", on="refund_*")
    plans = [body([refund(cents), refund(1000 - cents)]) for cents in range(0, 1000, 50)]
    expected = [court.engine.evaluate(court.load(text), plan, facts()) for plan in plans]
    fresh = Court()
    results: list[list[PolicyResult]] = []

    def work() -> None:
        rules = fresh.engine.load(text, CATALOGUE)
        results.append([fresh.engine.evaluate(rules, plan, facts()) for _ in range(5) for plan in plans])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected * 5] * 8


def test_the_requester_is_seen_with_roles_and_attributes(court: Court) -> None:
    ana = ANA.model_copy(update={"attributes": {"region": "EU", "level": 3}})
    when = "user.id == 'ana' && 'support' in user.roles && user.attributes.region == 'EU' && user.attributes.level > 2"
    assert court.matches(when, refund(), user=ana)
