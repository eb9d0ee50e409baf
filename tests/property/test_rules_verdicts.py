"""Laws of rules: adding one never makes a verdict laxer, order does not matter, what is broken blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.rules import CATALOGUE, Court, body, call, email, facts, payment, refund
from vardy_worker.contracts.errors import RulesError
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.policy import PolicyResult, Verdict
from vardy_worker.rules.shapes import INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from vardy_worker.contracts.plan import Effect
    from vardy_worker.contracts.policy import RuleSet

COURT = Court()

REFERENCE = Ref(at="/amount_cents", effect=0, path="/total")

effects = st.one_of(
    st.builds(refund, st.integers(0, 10**6), st.integers(0, 5)),
    st.builds(lambda payment_id: refund(1, payment_id, REFERENCE), st.integers(0, 5)),
    st.builds(email, st.sampled_from(["a@example.com", "b@example.org"]), st.sampled_from(["x", "y"])),
    st.builds(payment, st.sampled_from(["1", "12.50", "NaN", "1e999", "99999"]), rate=st.floats(0, 1e300)),
)

conditions = st.one_of(
    st.sampled_from(
        [
            "true",
            "false",
            "'amount_cents' in refs",
            "plan.total > 2",
            "plan.duplicates > 0",
            "plan.counts.refund_payment > 1",
            "plan.sums.refund_payment.amount_cents > 1000",
            "plan.sums.pay_supplier.amount > 100.0",
            "has(args.to) && args.to.endsWith('example.com')",
            "has(args.rate) && args.rate * args.rate > 1.0",
            "has(args.amount) && double(args.amount) > 50.0",
            "params.missing > 1",
            "params.flag",
            "1 / 0 == 1",
            "effect.seq == 0",
            "size(args) > 2",
        ]
    ),
    st.integers(0, 10**6).map(lambda limit: f"has(args.amount_cents) && args.amount_cents > {limit}"),
    st.integers(0, 5).map(lambda limit: f"plan.total > {limit}"),
)


plan_conditions = conditions.filter(lambda text: "args" not in text and "refs" not in text)


@st.composite
def rules_texts(draw: st.DrawFn) -> list[str]:
    """Rules as YAML items, each with a name of its own."""
    count = draw(st.integers(0, 5))
    items: list[str] = []
    for number in range(count):
        on = draw(st.sampled_from(['["*"]', '["send_*", "refund_*"]', "[pay_supplier]", '["nothing_*"]']))
        when = draw(conditions) if on == '["*"]' else draw(plan_conditions)
        then = draw(st.sampled_from(["allow", "approve", "block"]))
        items.append(f"- {{name: r{number}, on: {on}, when: {json.dumps(when)}, then: {then}}}\n")
    return items


defaults = st.sampled_from(list(Verdict))
plans = st.lists(effects, max_size=6)


def judge(default: Verdict, items: list[str], plan: list[Effect]) -> PolicyResult:
    rules = f"rules:\n{''.join(items)}" if items else "rules: []\n"
    return COURT.judge(f"default: {default.value}\n{rules}", *plan, params={"flag": 1})


def try_load(text: str, catalogue: Catalogue = CATALOGUE) -> RuleSet | RulesError:
    try:
        return COURT.engine.load(text, catalogue)
    except RulesError as error:
        return error


law = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@law
@given(defaults, rules_texts(), plans)
def test_adding_a_rule_never_makes_a_matched_verdict_laxer(
    default: Verdict, items: list[str], plan: list[Effect]
) -> None:
    for size in range(len(items)):
        before = judge(default, items[:size], plan)
        after = judge(default, items[: size + 1], plan)
        for was, now in zip(before.effects, after.effects, strict=True):
            # The default is no rule: the first rule that matches takes its place.
            if was.rules or was.failed_rule:
                assert now.verdict.strictness >= was.verdict.strictness


@law
@given(defaults, rules_texts(), plans, st.randoms(use_true_random=False))
def test_the_order_of_rules_changes_no_verdict_and_no_need(
    default: Verdict, items: list[str], plan: list[Effect], random: object
) -> None:
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # Hypothesis gives a random.Random
    one, other = judge(default, items, plan), judge(default, shuffled, plan)
    assert one.verdict is other.verdict
    assert [effect.verdict for effect in one.effects] == [effect.verdict for effect in other.effects]
    assert [set(effect.rules) for effect in one.effects] == [set(effect.rules) for effect in other.effects]
    assert [bool(effect.failed_rule) for effect in one.effects] == [
        bool(effect.failed_rule) for effect in other.effects
    ]
    assert {need.rule for need in one.approvals} == {need.rule for need in other.approvals}


@law
@given(defaults, rules_texts(), plans)
def test_a_result_is_complete_and_consistent(default: Verdict, items: list[str], plan: list[Effect]) -> None:
    result = judge(default, items, plan)
    assert [effect.seq for effect in result.effects] == list(range(len(plan)))
    assert result.verdict.strictness == max((each.verdict.strictness for each in result.effects), default=0)
    assert all(effect.message for effect in result.effects)
    for effect in result.effects:
        if effect.failed_rule:
            assert effect.verdict is Verdict.BLOCK
        elif not effect.rules:
            assert effect.verdict is default
    asked = any(effect.verdict is Verdict.APPROVE for effect in result.effects)
    assert asked == bool(result.approvals)


@law
@given(st.integers())
def test_an_integer_argument_is_compared_as_it_is_or_blocks(value: int) -> None:
    given_value: int | str = value if abs(value) < 2**53 else str(value)
    literal = min(max(value, INT64_MIN + 1), INT64_MAX)
    verdict = COURT.ask(f"args.payment_id == {literal}", call("refund_payment", payment_id=given_value, amount_cents=1))
    if literal == value:
        assert (verdict.verdict, verdict.failed_rule) == (Verdict.BLOCK, "")
    elif value == INT64_MIN:
        assert verdict.verdict is Verdict.ALLOW
    else:
        assert verdict.failed_rule == "the-rule"


@law
@given(st.floats(allow_nan=True, allow_infinity=True), st.floats(allow_nan=True, allow_infinity=True))
def test_a_blocking_limit_is_never_passed_by_a_number_that_is_not_finite(amount: float, factor: float) -> None:
    effect = payment(repr(amount))
    verdict = COURT.ask("double(args.amount) * params.factor > 1.0", effect, params={"factor": factor})
    product = amount * factor
    if verdict.verdict is Verdict.ALLOW:
        assert product <= 1.0
    assert product <= 1.0 or verdict.verdict is Verdict.BLOCK


BREAKAGES = ["params.missing", "params.flag", "1 / 0", "int('x')", "args.nothing_there", "[1][7]", "null", "0.0 / 0.0"]


@law
@given(
    st.sampled_from(BREAKAGES),
    st.sampled_from(
        ["{} == 1", "1 < {}", "!{}", "{}", "[{}].exists(x, x == 1)", "true && {} == 1", "{} == 1 || false", "{} > 1.0"]
    ),
    st.sampled_from(list(Verdict)),
)
def test_a_broken_condition_is_refused_or_blocks_whatever_its_verdict_is(
    broken: str, shape: str, then: Verdict
) -> None:
    when = shape.format(broken)
    text = (
        f"default: allow\nrules:\n- {{name: r, on: [refund_payment], when: {json.dumps(when)}, then: {then.value}}}\n"
    )
    rules = try_load(text)
    if isinstance(rules, RulesError):
        assert rules.details["problems"]
        return
    verdict = COURT.engine.evaluate(rules, body([refund()]), facts(params={"flag": "text"})).effects[0]
    # Equality between values of different types is an answer, not a failure.
    if broken in ("params.flag", "null") and "==" in shape:
        assert verdict.failed_rule == ""
    else:
        assert (verdict.verdict, verdict.failed_rule) == (Verdict.BLOCK, "r")


fragments = st.one_of(
    st.sampled_from(["default", "rules", "name", "on", "when", "then", "allow", "block", "approve", "true", "args"]),
    st.sampled_from([":", "- ", "\n", "  ", "[", "]", "{", "}", ",", "'", '"', "|", ">", "#", ".", "&&", "(", ")"]),
    st.sampled_from(["*a", "&a", "!!x", "\ud800", "\x00", "🙂"]),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(fragments, max_size=40).map("".join) | st.text(max_size=60))
def test_any_text_is_a_rule_set_or_a_rules_error_with_a_line(text: str) -> None:
    rules = try_load(text)
    if isinstance(rules, RulesError):
        assert rules.details["line"] >= 1
        assert rules.message
    else:
        assert len(rules.digest) == 64


pieces = st.one_of(
    st.sampled_from(["args", "plan", "user", "params", "refs", "x", ".amount_cents", ".id", ".counts", "[0]", "['a']"]),
    st.sampled_from(["(", ")", "==", "&&", "||", "!", ">", "+", "-", "/", ", ", "in ", "?", ":", "{", "}"]),
    st.sampled_from(["1", "2.0", "'a'", "true", "null", "has(", "size(", ".all(x, "]),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(pieces, min_size=1, max_size=12).map(" ".join))
def test_any_condition_is_refused_or_gives_a_verdict(when: str) -> None:
    text = f"default: allow\nrules:\n- {{name: r, on: ['refund_*'], when: {json.dumps(when)}, then: block}}\n"
    for catalogue in (CATALOGUE, Catalogue()):
        rules = try_load(text, catalogue)
        if not isinstance(rules, RulesError):
            result = COURT.engine.evaluate(rules, body([refund()]), facts(catalogue=catalogue))
            assert result.effects[0].message
