"""The engine speaks to its expression language through a small protocol, and asks it no more than it must."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.rules import CATALOGUE, Court, body, condition, email, facts, refund
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.policy import Verdict
from vardy_worker.rules import CelRules
from vardy_worker.rules.engine import COMPILED_MAX, PlanRules
from vardy_worker.rules.language import ExpressionError, ExpressionProblem, Outcome, Parsed, Unbound, Use, ValueType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.ports import RuleEngine


class Above:
    """`NAME above NUMBER`, counting how often it is asked."""

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self.runs = 0

    def run(self, scope: Mapping[str, JsonValue]) -> Outcome:
        self.runs += 1
        return scope[self._name] > self._limit if self._name in scope else Unbound(self._name)


class AboveLanguage:
    """A language with one sentence."""

    def __init__(self) -> None:
        self.compiled: list[tuple[Above, Mapping[str, ValueType]]] = []

    def parse(self, text: str) -> Parsed:
        if " above " not in text:
            raise ExpressionError(ExpressionProblem("say `NAME above NUMBER`", 1, 1))
        path = tuple(text.partition(" above ")[0].split("."))
        return Parsed(text, (Use(path, len(path), test=False, line=1, column=1, offset=0),))

    def compile(self, parsed: Parsed, variables: Mapping[str, ValueType]) -> Above:
        name, _, limit = parsed.text.partition(" above ")
        program = Above(name, int(limit))
        self.compiled.append((program, variables))
        return program

    def bind(self, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        return dict(values)


def test_another_language_can_take_the_place_of_cel() -> None:
    engine: RuleEngine = PlanRules(AboveLanguage())
    rules = engine.load(condition("args.amount_cents above 500", on="refund_*"), CATALOGUE)
    result = engine.evaluate(rules, body([refund(500), refund(501), email()]), facts())
    assert [effect.verdict.value for effect in result.effects] == ["allow", "block", "allow"]


def test_the_language_gets_each_variable_with_its_type() -> None:
    language = AboveLanguage()
    PlanRules(language).load(condition("args.amount_cents above 500", on="refund_*"), CATALOGUE)
    assert [variables for _, variables in language.compiled] == [{"args.amount_cents": ValueType("int")}]


def test_a_condition_over_the_plan_alone_is_asked_once_for_all_its_effects() -> None:
    language = AboveLanguage()
    engine = PlanRules(language)
    rules = engine.load(condition("plan.total above 50"), CATALOGUE)
    result = engine.evaluate(rules, body([refund(n) for n in range(100)]), facts())
    assert result.verdict is Verdict.BLOCK
    assert sum(program.runs for program, _ in language.compiled) == 1


def test_a_condition_over_the_effect_is_asked_once_for_each_and_compiled_once_for_all() -> None:
    language = AboveLanguage()
    engine = PlanRules(language)
    rules = engine.load(condition("effect.seq above 50"), CATALOGUE)
    for _ in range(3):
        engine.evaluate(rules, body([refund(n) for n in range(100)]), facts())
    assert [program.runs for program, _ in language.compiled] == [300]


def test_rule_sets_that_were_forgotten_are_compiled_again(court: Court) -> None:
    engine: RuleEngine = CelRules()
    texts = [condition(f"args.amount_cents > {limit}", on="refund_payment") for limit in range(COMPILED_MAX * 3)]
    loaded = [engine.load(text, CATALOGUE) for text in texts]
    for limit, rules in enumerate(loaded):
        result = engine.evaluate(rules, body([refund(limit), refund(limit + 1)]), facts())
        assert [effect.verdict.value for effect in result.effects] == ["allow", "block"]
        assert result == court.engine.evaluate(rules, body([refund(limit), refund(limit + 1)]), facts())


def test_rules_loaded_without_a_catalogue_are_judged_with_the_one_of_the_plan(court: Court) -> None:
    rules = court.engine.load(condition("args.payment_id == 9007199254740993", on="refund_payment"), Catalogue())
    result = court.engine.evaluate(rules, body([refund(1, "9007199254740993")]), facts())
    assert (result.effects[0].verdict, result.effects[0].failed_rule) == (Verdict.BLOCK, "")
