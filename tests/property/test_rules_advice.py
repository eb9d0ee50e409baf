"""What is said about rules and plans is true: warnings of rules, and the smallest change of a plan."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.rules import CATALOGUE, Court, body, call, email, facts, refund
from vardy_worker.contracts.envelope import Envelope
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.policy import ApprovalNeed, PolicyResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection

    from vardy_worker.contracts.plan import Effect

COURT = Court()

numbers = st.integers(0, 4)
operators = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
subjects = st.sampled_from(["params.n", "params.n", "plan.total", "plan.counts.send_email"])
atoms = st.one_of(
    st.builds("{} {} {}".format, subjects, operators, numbers),
    st.builds("params.s {} {}".format, operators, st.sampled_from(['"a"', '"b"', "1", "1.5", "true", "null"])),
    st.builds("plan.counts.send_email + int(params.n) {} {}".format, operators, st.integers(-1, 4)),
    st.builds("params.s in {}".format, st.sampled_from(['["a", "b"]', '["b"]', '[1, "a"]'])),
    st.sampled_from(["true", "false", "params.missing > 1", "has(params.n)", 'mode == "plan"', 'mode == "other"']),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!({})".format, inner),
    ),
    max_leaves=5,
)
params = st.fixed_dictionaries({"n": numbers, "s": st.sampled_from(["a", "b", "c", 1, True, None])})
plans = st.lists(st.sampled_from([refund(1), email(), email(subject="x")]), min_size=1, max_size=4)
patterns = st.sampled_from(
    ['["*"]', '["refund_*"]', "[refund_payment]", "[send_email]", "[send_email, refund_payment]"]
)


@st.composite
def rule_items(draw: st.DrawFn, number: int) -> str:
    on, then = draw(patterns), draw(st.sampled_from(["allow", "approve", "block"]))
    return f"- {{name: r{number}, on: {on}, when: {json.dumps(draw(conditions))}, then: {then}}}\n"


@st.composite
def rule_files(draw: st.DrawFn) -> tuple[Verdict, list[str]]:
    count = draw(st.integers(1, 4))
    return draw(st.sampled_from(list(Verdict))), [draw(rule_items(number)) for number in range(count)]


def text_of(default: Verdict, items: Collection[str]) -> str:
    return f"default: {default}\n" + (f"rules:\n{''.join(items)}" if items else "rules: []\n")


def asked(needs: Collection[ApprovalNeed]) -> set[tuple[tuple[str, ...], int]]:
    return {(need.roles, need.quorum) for need in needs}


def same(one: PolicyResult, other: PolicyResult) -> bool:
    verdicts = [effect.verdict for effect in one.effects] == [effect.verdict for effect in other.effects]
    return verdicts and asked(one.approvals) == asked(other.approvals)


@settings(max_examples=200, deadline=None)
@given(rule_files(), params, plans)
def test_a_rule_that_is_warned_of_changes_nothing_unless_it_fails(
    file: tuple[Verdict, list[str]], given_params: dict[str, object], plan: list[Effect]
) -> None:
    default, items = file
    rules = COURT.load(text_of(default, items))
    told = facts(params=given_params)
    result = COURT.engine.evaluate(rules, body(plan), told)
    warned = COURT.engine.warnings(rules, CATALOGUE)
    for warning in warned:
        names = {name for effect in result.effects for name in effect.rules}
        if "never matches" in warning.message:
            assert warning.rule not in names
        if any(effect.failed_rule for effect in result.effects):
            continue
        left = [item for number, item in enumerate(items) if f"r{number}" != warning.rule]
        without = COURT.engine.evaluate(COURT.load(text_of(default, left)), body(plan), told)
        assert same(result, without), warning.message


limits = st.one_of(
    st.sampled_from(
        [
            "args.amount_cents > 50",
            "plan.sums.refund_payment.amount_cents > 100",
            "plan.sums.refund_payment.amount_cents < 40 && plan.total > 1",
            "plan.duplicates > 0",
            "plan.distinct.refund_payment.payment_id > 2",
            "plan.total % 2 == 0",
            "effect.seq == 1",
            "'amount_cents' in refs || args.amount_cents > 70",
            "plan.counts.send_email > 1 && args.payment_id > 1",
            "!(plan.counts.refund_payment <= 2)",
            "params.missing > 1 && plan.total > 2",
            "plan.counts.refund_payment <= 2 && params.missing > 1",
            "recipe.within_envelope",
            "!recipe.within_envelope",
            "recipe.within_envelope == false || plan.total > 4",
            "(recipe.within_envelope ? 1 : 2) == 2",
        ]
    ),
    st.integers(0, 4).map(lambda limit: f"plan.total > {limit}"),
    st.integers(0, 4).map(lambda limit: f"plan.counts.refund_payment <= {limit} && args.amount_cents < 60"),
)
mail_limits = st.sampled_from(
    ["plan.counts.send_email > 1", "plan.total > 3", "true", "plan.counts.send_email <= 2", "recipe.within_envelope"]
)
ENVELOPE = Envelope.model_validate(
    {
        "effects_max": 4,
        "functions": {
            "send_email": {"effects_max": 2},
            "refund_payment": {"effects_max": 3, "arguments": {"amount_cents": {"min": -20, "max": 60, "sum_max": 90}}},
        },
    }
)


@st.composite
def advice_files(draw: st.DrawFn) -> str:
    items = []
    for number in range(draw(st.integers(1, 4))):
        on = draw(st.sampled_from(["refund_payment", "send_email"]))
        when = draw(limits if on == "refund_payment" else mail_limits)
        then = draw(st.sampled_from(["allow", "approve", "approve"]))
        items.append(f"- {{name: r{number}, on: [{on}], when: {json.dumps(when)}, then: {then}}}\n")
    return text_of(draw(st.sampled_from([Verdict.ALLOW, Verdict.APPROVE])), items)


@st.composite
def linked_plans(draw: st.DrawFn) -> list[Effect]:
    plan: list[Effect] = []
    for place in range(draw(st.integers(1, 6))):
        earlier = draw(st.integers(0, place - 1)) if place and draw(st.booleans()) else None
        if earlier is not None:
            plan.append(answer(earlier))
        elif draw(st.booleans()):
            plan.append(refund(draw(st.sampled_from([-20, 10, 40, 60, 90])), draw(st.integers(0, 3))))
        else:
            plan.append(email(subject=draw(st.sampled_from(["x", "y"]))))
    return plan


def without(plan: list[Effect], out: Collection[int]) -> list[Effect] | None:
    """The plan without some effects; None where one that is left refers to one of them."""
    places = {seq: place for place, seq in enumerate(seq for seq in range(len(plan)) if seq not in out)}
    if any(ref.effect not in places for seq in places for ref in plan[seq].refs):
        return None
    return [
        plan[seq].model_copy(
            update={"refs": tuple(ref.model_copy(update={"effect": places[ref.effect]}) for ref in plan[seq].refs)}
        )
        for seq in places
    ]


def answer(earlier: int) -> Effect:
    return call("send_email", Ref(at="/subject", effect=earlier, path=""), to="a", cc=None, priority="low")


@settings(max_examples=200, deadline=None)
@given(advice_files(), linked_plans())
@example(
    text_of(Verdict.ALLOW, ['- {name: r0, on: [send_email], when: "plan.total > 3", then: approve}\n']),
    [email(), answer(0), answer(0), email(), answer(0)],
)
def test_the_rest_is_allowed_without_what_is_named_and_without_no_part_of_it(text: str, plan: list[Effect]) -> None:
    def allowed(out: Collection[int]) -> bool:
        left = without(plan, out)
        return left is not None and COURT.judge(text, *left, envelope=ENVELOPE).verdict is Verdict.ALLOW

    change = COURT.engine.smallest_change(COURT.load(text), body(plan), facts(envelope=ENVELOPE))
    if COURT.judge(text, *plan, envelope=ENVELOPE).verdict is not Verdict.APPROVE:
        return
    sets = [out for size in range(1, len(plan)) for out in itertools.combinations(range(len(plan)), size)]
    enough = [set(out) for out in sets if allowed(out)]
    if change is None:
        # So small a plan is within every bound.
        assert enough == []
        return
    named = set(change.without)
    assert named in enough
    assert not any(out < named for out in enough)
