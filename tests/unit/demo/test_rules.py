from __future__ import annotations

from importlib import resources
from typing import Any

import pytest

from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.plan import Effect, PlanBody
from vardy_worker.contracts.policy import PolicyResult, Verdict
from vardy_worker.contracts.user import User
from vardy_worker.demo.shop import functions
from vardy_worker.functions import build_catalogue
from vardy_worker.ports import PlanFacts
from vardy_worker.rules import CelRules

RULES = resources.files("vardy_worker.demo").joinpath("rules.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return build_catalogue(functions)


def judged(catalogue: Catalogue, *calls: tuple[str, dict[str, Any]]) -> PolicyResult:
    engine = CelRules()
    rules = engine.load(RULES, catalogue)
    effects = tuple(
        Effect(seq=seq, function=function, version="v", args=args) for seq, (function, args) in enumerate(calls)
    )
    plan = PlanBody(
        job_id="job_1",
        revision=1,
        program_sha256="",
        params_sha256="",
        rules_digest=rules.digest,
        requester="ana",
        effects=effects,
    )
    facts = PlanFacts(user=User(id="ana", roles=("support",)), params={}, mode="execute", catalogue=catalogue)
    return engine.evaluate(rules, plan, facts)


def refund(amount_cents: int) -> tuple[str, dict[str, Any]]:
    return "refund_payment", {"payment_id": 5, "amount_cents": amount_cents, "reason": ""}


def mail(customer_id: int) -> tuple[str, dict[str, Any]]:
    return "send_email", {"customer_id": customer_id, "subject": "Hello", "body": "Hello"}


@pytest.mark.parametrize(
    ("amount_cents", "verdict"),
    [
        (2_500, Verdict.ALLOW),
        (5_000, Verdict.ALLOW),
        (5_001, Verdict.APPROVE),
        (100_000, Verdict.APPROVE),
        (100_001, Verdict.BLOCK),
    ],
)
def test_a_refund_is_judged_by_its_amount(catalogue: Catalogue, amount_cents: int, verdict: Verdict) -> None:
    result = judged(catalogue, refund(amount_cents))
    assert result.verdict is verdict
    if verdict is Verdict.APPROVE:
        assert [(need.roles, need.quorum) for need in result.approvals] == [(("support_lead",), 1)]


def test_a_ceiling_cannot_be_undercut_by_many_refunds(catalogue: Catalogue) -> None:
    assert judged(catalogue, *[refund(amount) for amount in range(4_000, 4_030)]).verdict is Verdict.BLOCK


def test_many_small_refunds_are_not_small(catalogue: Catalogue) -> None:
    assert judged(catalogue, *[refund(amount) for amount in (1, 2, 3)]).verdict is Verdict.ALLOW
    assert judged(catalogue, *[refund(amount) for amount in (1, 2, 3, 4)]).verdict is Verdict.APPROVE


def test_many_mails_need_two_leads(catalogue: Catalogue) -> None:
    assert judged(catalogue, *[mail(customer) for customer in range(5)]).verdict is Verdict.ALLOW
    result = judged(catalogue, *[mail(customer) for customer in range(6)])
    assert result.verdict is Verdict.APPROVE
    assert [(need.rule, need.roles, need.quorum) for need in result.approvals] == [("mass-mail", ("support_lead",), 2)]


def test_the_same_mail_twice_is_blocked(catalogue: Catalogue) -> None:
    assert judged(catalogue, mail(1), mail(1)).verdict is Verdict.BLOCK


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("cancel_order", {"order_id": 17, "reason": ""}),
        ("create_ticket", {"customer_id": 2, "subject": "s", "body": "", "priority": "high"}),
        ("book_courier", {"order_id": 5}),
    ],
)
def test_everyday_work_is_allowed(catalogue: Catalogue, function: str, args: dict[str, Any]) -> None:
    assert judged(catalogue, (function, args)).verdict is Verdict.ALLOW


def test_what_no_rule_names_needs_an_approval(catalogue: Catalogue) -> None:
    result = judged(catalogue, ("write_off_invoice", {"invoice_id": 1003, "reason": "Bankrupt"}))
    assert result.verdict is Verdict.APPROVE


def test_every_effect_has_a_sentence(catalogue: Catalogue) -> None:
    result = judged(catalogue, refund(2_500), mail(1), ("cancel_order", {"order_id": 17, "reason": ""}))
    assert all(effect.message and effect.rules for effect in result.effects)
