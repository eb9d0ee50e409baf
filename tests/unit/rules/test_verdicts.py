"""Which verdict an effect gets, what is said of it, and what must be approved."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.support.rules import CATALOGUE, Court, body, condition, email, facts, payment, refund
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.documents import BUILT_IN_RULES

SHOP = """\
default: approve
rules:
  - name: small-refunds
    on: ["refund_*"]
    when: args.amount_cents <= 5000 && plan.counts.refund_payment <= 3
    then: allow
  - name: refund-ceiling
    on: [refund_payment]
    when: args.amount_cents > 100000
    then: block
    message: "Refunds above 1,000.00 are made by finance."
  - name: mass-mail
    on: [send_email]
    when: plan.counts.send_email > 20
    then: approve
    approvers: {roles: [support_lead], quorum: 2}
    message: "More than 20 mails at once."
  - name: mail
    on: [send_email]
    then: allow
"""


def test_a_matching_rule_allows_and_is_named(court: Court) -> None:
    result = court.judge(SHOP, refund(5000))
    assert result.verdict is Verdict.ALLOW
    assert result.effects[0].rules == ("small-refunds",)
    assert result.effects[0].message == "Rule `small-refunds` allows `refund_payment`."
    assert result.approvals == ()
    assert result.rules_digest == court.load(SHOP).digest


def test_a_blocking_rule_says_its_message_and_stands_first(court: Court) -> None:
    result = court.judge(SHOP, refund(100_001))
    assert result.verdict is Verdict.BLOCK
    assert result.effects[0].rules == ("refund-ceiling",)
    assert result.effects[0].message == "Refunds above 1,000.00 are made by finance."
    assert result.effects[0].failed_rule == ""


def test_what_no_rule_matches_gets_the_default(court: Court) -> None:
    result = court.judge(SHOP, refund(6000))
    assert result.verdict is Verdict.APPROVE
    assert result.effects[0].rules == ()
    assert result.effects[0].message == "No rule matches; the default asks for approval."
    assert [(need.rule, need.roles, need.quorum) for need in result.approvals] == [("", (), 1)]


@pytest.mark.parametrize(("default", "verb"), [("allow", "allows"), ("block", "blocks")])
def test_a_default_that_decides_asks_nobody(court: Court, default: str, verb: str) -> None:
    result = court.judge(f"default: {default}\n", refund())
    assert result.verdict.value == default
    assert verb in result.effects[0].message
    assert result.approvals == ()


def test_a_rule_over_the_whole_plan_applies_to_each_of_its_effects(court: Court) -> None:
    result = court.judge(SHOP, *[email(f"{n}@example.com") for n in range(21)])
    assert {effect.rules for effect in result.effects} == {("mass-mail", "mail")}
    assert result.approvals == (
        ApprovalNeed(rule="mass-mail", roles=("support_lead",), quorum=2, message="More than 20 mails at once."),
    )


def test_below_the_limit_the_laxer_rule_holds(court: Court) -> None:
    assert court.judge(SHOP, *[email()] * 20).verdict is Verdict.ALLOW


def test_the_plan_has_the_strictest_verdict_of_its_effects(court: Court) -> None:
    assert court.judge(SHOP, email(), refund(6000)).verdict is Verdict.APPROVE
    assert court.judge(SHOP, email(), refund(6000), refund(100_001)).verdict is Verdict.BLOCK


def test_a_plan_without_effects_is_allowed_whatever_the_rules_are(court: Court) -> None:
    assert court.judge("default: block\n").verdict is Verdict.ALLOW


@pytest.mark.parametrize("order", list(permutations(["allow", "approve", "block"])))
def test_the_strictest_matching_rule_wins_in_every_order(court: Court, order: tuple[str, ...]) -> None:
    rules = "".join(f"- {{name: {verdict}, then: {verdict}}}\n" for verdict in order)
    result = court.judge(f"default: allow\nrules:\n{rules}", refund())
    assert result.verdict is Verdict.BLOCK
    assert result.effects[0].rules == ("block", "approve", "allow")


def test_every_approving_rule_is_a_need_of_its_own_and_the_default_comes_last(court: Court) -> None:
    text = """\
default: approve
rules:
- {name: money, on: ["refund_*"], then: approve, approvers: {roles: [finance]}}
- {name: late, on: ["refund_*"], when: "mode == 'execute'", then: approve, approvers: {quorum: 3}, message: "Late."}
- {name: other, on: ["refund_*"], when: "mode == 'plan'", then: approve}
"""
    result = court.judge(text, email(), refund(), refund())
    assert [(need.rule, need.roles, need.quorum, need.message) for need in result.approvals] == [
        ("money", ("finance",), 1, "Rule `money` asks for approval."),
        ("late", (), 3, "Late."),
        ("", (), 1, "No rule matches, and the default asks for approval."),
    ]


def test_a_blocked_effect_asks_for_no_approval(court: Court) -> None:
    text = "rules:\n- {name: ask, then: approve}\n- {name: never, on: [send_email], then: block}\n"
    assert court.judge(text, email()).approvals == ()
    assert [need.rule for need in court.judge(text, email(), refund()).approvals] == ["ask"]


def test_a_rule_for_some_functions_leaves_the_others_alone(court: Court) -> None:
    text = "default: allow\nrules:\n- {name: r, on: [send_email, 'pay_*'], then: block}\n"
    verdicts = [effect.verdict.value for effect in court.judge(text, email(), refund(), payment()).effects]
    assert verdicts == ["block", "allow", "block"]


def test_a_question_mark_stands_for_one_character(court: Court) -> None:
    text = "default: allow\nrules:\n- {name: r, on: ['send_emai?', 'refund_?'], then: block}\n"
    assert [e.verdict.value for e in court.judge(text, email(), refund()).effects] == ["block", "allow"]


def test_a_rule_that_fails_blocks_and_says_which_and_why(court: Court) -> None:
    text = "default: allow\nrules:\n- {name: ok, then: allow}\n- {name: bad, when: params.missing > 1, then: allow}\n"
    verdict = court.judge(text, refund()).effects[0]
    assert verdict.verdict is Verdict.BLOCK
    assert verdict.failed_rule == "bad"
    assert verdict.rules == ("ok",)
    assert verdict.message == (
        "Rule `bad` could not be evaluated, so the effect is blocked: "
        "it reads `params.missing`, which is not there; test it with has() first."
    )


def test_a_failing_rule_hides_no_rule_that_blocks_anyway(court: Court) -> None:
    text = (
        "rules:\n- {name: bad, when: params.missing > 1, then: allow}\n- {name: no, then: block, message: 'Never.'}\n"
    )
    verdict = court.judge(text, refund()).effects[0]
    assert verdict.message.startswith("Never. Rule `bad` could not be evaluated")
    assert (verdict.rules, verdict.failed_rule) == (("no",), "bad")


def test_a_failing_rule_asks_for_no_approval(court: Court) -> None:
    text = "rules:\n- {name: ask, then: approve}\n- {name: bad, when: params.missing > 1, then: block}\n"
    result = court.judge(text, refund())
    assert (result.verdict, result.approvals) == (Verdict.BLOCK, ())


def test_an_allow_rule_that_fails_blocks_too(court: Court) -> None:
    result = court.judge("default: allow\nrules:\n- {name: a, when: params.x, then: allow}\n", refund())
    assert result.verdict is Verdict.BLOCK


def test_rules_that_no_longer_fit_the_functions_block(court: Court) -> None:
    text = "default: allow\nrules:\n- {name: r, on: ['*'], when: plan.counts.send_email > 20, then: block}\n"
    rules = court.load(text)
    remaining = Catalogue(functions=tuple(spec for spec in CATALOGUE.functions if spec.name != "send_email"))
    verdict = court.engine.evaluate(rules, body([refund()]), facts(catalogue=remaining)).effects[0]
    assert verdict.verdict is Verdict.BLOCK
    assert verdict.failed_rule == "r"
    assert "there is no function `send_email`" in verdict.message


def test_an_argument_that_a_function_has_no_more_blocks(court: Court) -> None:
    rules = court.load(
        "default: allow\nrules:\n- {name: r, on: [refund_order], when: args.reason == '', then: block}\n"
    )
    older = tuple(
        spec.model_copy(update={"name": "refund_order", "version": "other"}) if spec.name == "refund_payment" else spec
        for spec in CATALOGUE.functions
        if spec.name != "refund_order"
    )
    effect = refund().model_copy(update={"function": "refund_order"})
    verdict = court.engine.evaluate(rules, body([effect]), facts(catalogue=Catalogue(functions=older))).effects[0]
    assert verdict.failed_rule == "r"
    assert "it reads the argument `reason`, which is not there" in verdict.message


def test_arguments_of_a_function_that_is_gone_cannot_be_judged(court: Court) -> None:
    text = "default: allow\nrules:\n- {name: r, on: ['x_*'], when: args.amount > 20, then: allow}\n"
    effect = refund().model_copy(update={"function": "x_gone"})
    verdict = court.judge(text, effect).effects[0]
    assert verdict.failed_rule == "r"
    assert "`x_gone` is not among the functions" in verdict.message


def test_a_rule_that_asks_for_an_argument_first_leaves_functions_without_it_alone(court: Court) -> None:
    text = condition("has(args.rate) && args.rate * args.rate > 4.0")
    result = court.judge(text, refund(), payment(rate=3), payment(rate=1))
    assert [effect.verdict.value for effect in result.effects] == ["allow", "block", "allow"]


def test_the_built_in_rules_ask_for_approval_of_everything(court: Court) -> None:
    result = court.judge(BUILT_IN_RULES, refund(), email())
    assert [effect.verdict for effect in result.effects] == [Verdict.APPROVE, Verdict.APPROVE]
    assert [need.rule for need in result.approvals] == [""]


def test_verdicts_are_in_the_order_of_the_effects(court: Court) -> None:
    result = court.judge(SHOP, email(), refund(100_001), email(), refund(1, 1, Ref(at="/payment_id", effect=0)))
    assert [effect.seq for effect in result.effects] == [0, 1, 2, 3]
