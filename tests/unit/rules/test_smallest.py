"""For a plan that needs an approval: which effects to leave out, so that the rest needs none."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import TYPE_CHECKING

from tests.support.rules import CATALOGUE, Court, body, call, email, facts, payment, refund
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.rules import smallest
from vardy_worker.rules.cel import CelLanguage
from vardy_worker.rules.compile import CompiledRules
from vardy_worker.rules.evaluation import Evaluation
from vardy_worker.rules.smallest import MILLISECONDS_MAX, PARTS_MAX, Search
from vardy_worker.rules.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from vardy_worker.contracts.plan import Effect, PlanBody
    from vardy_worker.contracts.policy import SmallestChange


def rules(*items: str, default: str = "allow") -> str:
    return f"default: {default}\nrules:\n" + "".join(f"- {{{item}}}\n" for item in items)


def change(court: Court, text: str, *effects: Effect) -> SmallestChange | None:
    return court.engine.smallest_change(court.load(text), body(effects), facts())


def without(court: Court, text: str, *effects: Effect) -> tuple[int, ...]:
    found = change(court, text, *effects)
    return found.without if found else ()


CEILING = "name: ceiling, on: [refund_payment], when: args.amount_cents > 100, then: approve"
MASS_MAIL = "name: mass-mail, on: [send_email], when: plan.counts.send_email > 2, then: approve"
TOTAL = "name: total, on: [refund_payment], when: plan.sums.refund_payment.amount_cents > 1000, then: approve"


def test_the_effects_that_need_it_are_named(court: Court) -> None:
    amounts = [50, 200, 50, 50, 300]
    found = change(court, rules(CEILING), *(refund(cents) for cents in amounts))
    assert found is not None
    assert found.without == (1, 4)
    assert found.message == "Without effects 1 and 4 the rest would be allowed."


def test_one_effect_is_named_in_the_singular(court: Court) -> None:
    found = change(court, rules(CEILING), refund(200), refund(50))
    assert found is not None
    assert found.message == "Without effect 0 the rest would be allowed."


def test_neighbours_are_named_together(court: Court) -> None:
    effects = [refund(200), refund(50), *(refund(200) for _ in range(4)), refund(50), refund(200)]
    found = change(court, rules(CEILING), *effects)
    assert found is not None
    assert found.message == "Without effects 0, 2 to 5 and 7 the rest would be allowed."


def test_counts_fall_with_what_is_left_out_and_the_first_ones_stay(court: Court) -> None:
    assert without(court, rules(MASS_MAIL), *(email(subject=str(n)) for n in range(5))) == (2, 3, 4)


def test_one_large_effect_goes_before_many_small_ones(court: Court) -> None:
    assert without(court, rules(TOTAL), *(refund(cents) for cents in (900, 200, 200, 200, 200))) == (0,)


def test_what_the_user_did_before_counts_too(court: Court) -> None:
    limit = "user_window.sums.refund_payment.amount_cents + plan.sums.refund_payment.amount_cents > 1000"
    text = rules(f"name: day, on: [refund_payment], when: {limit}, then: approve")
    before = EffectTotals(sums={"refund_payment": {"amount_cents": Decimal(940)}})
    plan = body([refund(10, number) for number in range(40)])
    found = court.engine.smallest_change(court.load(text), plan, facts(user_window=before))
    assert found is not None
    assert found.message == "Without effects 6 to 39 the rest would be allowed."


def test_what_refers_to_an_effect_goes_with_it(court: Court) -> None:
    mail = call("send_email", Ref(at="/subject", effect=0, path=""), to="a@example.com", cc=None, priority="low")
    assert without(court, rules(CEILING), refund(200), refund(50), mail) == (0, 2)


def test_what_stays_is_numbered_anew(court: Court) -> None:
    first_only = "name: first, on: [send_email], when: effect.seq > 1, then: approve"
    mail = call("send_email", Ref(at="/subject", effect=1, path=""), to="a@example.com", cc=None, priority="low")
    # Once effect 0 is left out, the mail and what it refers to move one place up.
    assert without(court, rules(first_only, CEILING), refund(200), refund(2), mail) == (0,)


def test_nothing_is_said_when_only_an_empty_plan_would_be_allowed(court: Court) -> None:
    assert change(court, rules("name: all, then: approve"), refund(), email()) is None
    assert change(court, "default: approve\n", refund(), email()) is None


def test_a_default_that_asks_is_avoided_by_keeping_what_rules_allow(court: Court) -> None:
    small = "args.amount_cents <= 100 && plan.counts.refund_payment <= 3"
    allowed = f"name: small, on: [refund_payment], when: {small}, then: allow"
    text = rules(allowed, default="approve")
    assert without(court, text, refund(50), email(), refund(60)) == (1,)
    assert without(court, text, *(refund(n) for n in range(1, 6))) == (3, 4)
    assert without(court, text, *(refund(n) for n in range(1, 41))) == tuple(range(3, 40))


def test_where_rules_get_laxer_as_a_plan_grows_every_set_is_tried(court: Court) -> None:
    pairs = (
        "name: pairs, on: [send_email], when: plan.counts.send_email == 3 || plan.counts.send_email == 1, then: approve"
    )
    assert without(court, rules(pairs), *(email(subject=str(n)) for n in range(3))) == (2,)
    strange = "name: strange, on: [send_email], when: 'plan.counts.send_email in [2, 3, 5]', then: approve"
    assert without(court, rules(strange), *(email(subject=str(n)) for n in range(5))) == (4,)


def test_an_allow_rule_that_fails_only_in_plans_of_some_sizes_hides_no_larger_rest(court: Court) -> None:
    few = "name: few, on: [send_email], when: plan.total < 2 || (plan.total < 6 && int(params.absent) > 1), then: allow"
    many = "name: many, on: [send_email], when: plan.total > 6, then: approve"
    assert len(without(court, rules(few, many), *(email(subject=str(n)) for n in range(8)))) == 2


def test_nothing_is_said_where_too_many_sets_would_have_to_be_tried(court: Court) -> None:
    odd = "name: odd, on: [send_email], when: plan.counts.send_email % 30 != 1, then: approve"
    assert change(court, rules(odd), *(email(subject=str(n)) for n in range(30))) is None


def test_a_sum_of_negative_values_is_not_taken_for_one_that_only_grows(court: Court) -> None:
    spent = "name: spent, on: [pay_supplier], when: plan.sums.pay_supplier.amount > 10.0, then: approve"
    effects = [payment(amount, supplier_id=n) for n, amount in enumerate(("20", "-5", "20", "-20"))]
    named = without(court, rules(spent), *effects)
    assert named == (2,)


def test_what_is_left_is_judged_as_a_plan_of_its_own(court: Court) -> None:
    text = rules(MASS_MAIL, TOTAL, CEILING)
    effects = [refund(90, n) for n in range(14)] + [email(subject=str(n)) for n in range(4)] + [refund(200)]
    named = without(court, text, *effects)
    rest = [effect for seq, effect in enumerate(effects) if seq not in named]
    assert court.judge(text, *rest).verdict is Verdict.ALLOW
    for out in itertools.combinations(named, len(named) - 1):
        more = [effect for seq, effect in enumerate(effects) if seq not in out]
        assert court.judge(text, *more).verdict is not Verdict.ALLOW


def search(court: Court, text: str, plan: PlanBody, counted: list[int], seconds: Callable[[], float]) -> Search:
    loaded = court.load(text)
    compiled = CompiledRules(loaded.rules, CelLanguage(), Vocabulary(CATALOGUE))

    def evaluate(part: PlanBody) -> Evaluation:
        counted.append(len(part.effects))
        return Evaluation(CelLanguage(), compiled, loaded, part, facts())

    return Search(evaluate, plan, loaded.default, seconds=seconds)


def test_a_large_plan_takes_a_bounded_number_of_evaluations(court: Court) -> None:
    text = rules(
        MASS_MAIL, TOTAL, *(f"{CEILING.replace('ceiling', f'c{n}').replace('100', f'{100 + n}')}" for n in range(18))
    )
    plan = body([refund(90, n) if n % 2 else email(subject=str(n)) for n in range(200)])
    counted: list[int] = []
    found = search(court, text, plan, counted, lambda: 0.0).result()
    assert found is not None
    assert len(found.without) == 187
    assert len(counted) < PARTS_MAX


def test_nothing_is_said_after_too_long_or_too_many_parts(court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = body([email(subject=str(n)) for n in range(5)])
    ticks = itertools.count(step=MILLISECONDS_MAX / 1000 / 3)
    assert search(court, rules(MASS_MAIL), plan, [], lambda: next(ticks)).result() is None
    assert search(court, rules(MASS_MAIL), plan, [], lambda: 0.0).result() is not None
    monkeypatch.setattr(smallest, "PARTS_MAX", 3)
    assert search(court, rules(MASS_MAIL), plan, [], lambda: 0.0).result() is None
