"""A small shop for the tests of rules: real functions, their catalogue, and a way to ask for verdicts."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from tests.support.factories import ANA
from vardy_worker.contracts.plan import Effect, PlanBody
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.functions import Functions, build_catalogue
from vardy_worker.ports import PlanFacts
from vardy_worker.rules import CelRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.execution import Ref
    from vardy_worker.contracts.policy import EffectVerdict, PolicyResult, RuleSet


class Line(BaseModel):
    sku: str
    quantity: int
    price: Decimal


def shop_functions() -> Functions:
    functions = Functions()

    @functions.read
    def list_invoices(customer_id: int) -> list[str]:
        """Invoices of one customer."""
        return [str(customer_id)]

    @functions.write
    def refund_payment(payment_id: int, amount_cents: int) -> str:
        """Give money back for one payment."""
        return f"{payment_id}:{amount_cents}"

    @functions.write
    def refund_order(order_id: int, amount_cents: int, reason: str = "") -> str:
        """Give money back for an order."""
        return f"{order_id}:{amount_cents}:{reason}"

    @functions.write
    def send_email(to: str, subject: str, cc: str | None = None, priority: Literal["low", "high"] = "low") -> str:
        """Send one mail."""
        return f"{to}:{subject}:{cc}:{priority}"

    @functions.write
    def pay_supplier(
        supplier_id: int,
        amount: Decimal,
        rate: float = 1.0,
        limit: int | None = None,
        lines: list[Line] | None = None,
        *,
        urgent: bool = False,
    ) -> str:
        """Pay a supplier."""
        return f"{supplier_id}:{amount}:{rate}:{limit}:{lines}:{urgent}"

    @functions.write
    def ship_order(order_id: int, lines: list[Line], tags: dict[str, int]) -> str:
        """Ship an order."""
        return f"{order_id}:{lines}:{tags}"

    return functions


CATALOGUE = build_catalogue(shop_functions())


def refund(amount_cents: int = 100, payment_id: int | str = 1, *refs: Ref) -> Effect:
    hidden = {ref.at[1:] for ref in refs}
    args = {"payment_id": payment_id, "amount_cents": amount_cents}
    return call("refund_payment", *refs, **{name: value for name, value in args.items() if name not in hidden})


def email(to: str = "ana@example.com", subject: str = "hello", cc: str | None = None, *refs: Ref) -> Effect:
    return call("send_email", *refs, to=to, subject=subject, cc=cc, priority="low")


def payment(amount: str = "12.50", *refs: Ref, **changes: Any) -> Effect:
    args = {"supplier_id": 1, "amount": amount, "rate": 1.0, "limit": None, "lines": None, "urgent": False, **changes}
    return call("pay_supplier", *refs, **args)


def call(function: str, *refs: Ref, **args: Any) -> Effect:
    return Effect(seq=0, function=function, version="v1", args=args, refs=refs)


def body(effects: Sequence[Effect]) -> PlanBody:
    return PlanBody(
        job_id="job_1",
        revision=1,
        program_sha256="",
        params_sha256="",
        rules_digest="",
        requester=ANA.id,
        effects=tuple(effect.model_copy(update={"seq": seq}) for seq, effect in enumerate(effects)),
    )


def facts(**changes: Any) -> PlanFacts:
    given: JsonObject = {"user": ANA, "params": {}, "mode": "execute", "catalogue": CATALOGUE}
    return PlanFacts(**{**given, "user_window": EffectTotals(), **changes})


def condition(when: str, *, on: str = "*", then: str = "block", default: str = "allow") -> str:
    """A file with one rule."""
    indented = when.replace("\n", "\n      ")
    return (
        f"default: {default}\n"
        f"rules:\n"
        f"  - name: the-rule\n"
        f'    on: ["{on}"]\n'
        f"    when: |-\n"
        f"      {indented}\n"
        f"    then: {then}\n"
    )


class Court:
    """Loads rules and judges effects with them."""

    def __init__(self) -> None:
        self.engine = CelRules()

    def load(self, text: str) -> RuleSet:
        return self.engine.load(text, CATALOGUE)

    def judge(self, text: str, *effects: Effect, **changes: Any) -> PolicyResult:
        return self.engine.evaluate(self.load(text), body(effects), facts(**changes))

    def ask(self, when: str, *effects: Effect, **changes: Any) -> EffectVerdict:
        """What a blocking rule with that condition, for the first effect's function, says of the last effect."""
        text = condition(when, on=effects[-1].function)
        return self.judge(text, *effects, **changes).effects[-1]

    def matches(self, when: str, *effects: Effect, **changes: Any) -> bool:
        """Whether the condition is true of the last effect; it must not fail."""
        verdict = self.ask(when, *effects, **changes)
        assert verdict.failed_rule == "", verdict.message
        return verdict.verdict.value == "block"

    def failure(self, when: str, *effects: Effect, **changes: Any) -> str:
        """The sentence about a condition that cannot be evaluated, which must block."""
        verdict = self.ask(when, *effects, **changes)
        assert verdict.failed_rule == "the-rule"
        assert verdict.verdict.value == "block"
        assert verdict.rules == ()
        return verdict.message
