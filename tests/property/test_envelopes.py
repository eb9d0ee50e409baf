"""A plan that does less than another one is not outside an envelope that the other is within."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rules import CATALOGUE, body, email, payment, refund
from vardy_worker.contracts.envelope import Bounds, Envelope, FunctionEnvelope, exact_number
from vardy_worker.contracts.plan import Effect, make_plan
from vardy_worker.rules.envelope import outside, seen

if TYPE_CHECKING:
    from collections.abc import Sequence

amounts = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=2, allow_nan=False).map(str),
    st.integers(-100, 100),
    st.floats(-1e6, 1e6, allow_nan=False),
)
bounds = st.builds(Bounds, min=st.none() | amounts, max=st.none() | amounts, sum_max=st.none() | amounts)
envelopes = st.builds(
    Envelope,
    effects_max=st.none() | st.integers(1, 6),
    functions=st.fixed_dictionaries(
        {},
        optional={
            "refund_payment": st.builds(
                FunctionEnvelope,
                effects_max=st.integers(1, 6),
                arguments=st.dictionaries(st.just("amount_cents"), bounds),
            ),
            "pay_supplier": st.builds(
                FunctionEnvelope,
                effects_max=st.integers(1, 6),
                arguments=st.dictionaries(st.sampled_from(["amount", "limit"]), bounds),
            ),
            "send_email": st.builds(FunctionEnvelope, effects_max=st.integers(1, 6)),
        },
    ),
)
odd = st.one_of(st.none(), st.booleans(), st.text(max_size=5), st.lists(st.integers(), max_size=2), amounts)
effects = st.lists(
    st.one_of(
        amounts.map(refund),  # type: ignore[arg-type] # plans hold large integers as text
        st.tuples(amounts, odd).map(lambda pair: payment(pair[0], limit=pair[1])),  # type: ignore[arg-type] # the same
        st.just(email()),
    ),
    max_size=6,
)


def inside(envelope: Envelope, plan: Sequence[Effect]) -> bool:
    return not any(outside(envelope, body(plan).effects))


@settings(max_examples=300, deadline=None)
@given(envelopes, effects, st.data())
def test_leaving_out_effects_never_takes_a_plan_outside(
    envelope: Envelope, plan: list[Effect], data: st.DataObject
) -> None:
    kept = [effect for effect in plan if data.draw(st.booleans())]
    assert inside(envelope, kept) or not inside(envelope, plan)


@settings(max_examples=300, deadline=None)
@given(envelopes, effects.filter(bool), amounts, st.data())
def test_lowering_an_amount_to_no_less_than_its_least_never_takes_a_plan_outside(
    envelope: Envelope, plan: list[Effect], amount: object, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(plan) - 1))
    effect = plan[place]
    name = {"refund_payment": "amount_cents", "pay_supplier": "amount"}.get(effect.function, "")
    before, after = exact_number(effect.args.get(name)), exact_number(amount)
    if before is None or after is None:
        return
    bound = envelope.functions[effect.function].arguments.get(name) if effect.function in envelope.functions else None
    least = exact_number(bound.min) if bound else None
    if after > before or after < (Decimal("-Infinity") if least is None else least):
        return
    lowered = effect.model_copy(update={"args": {**effect.args, name: amount}})
    assert inside(envelope, [*plan[:place], lowered, *plan[place + 1 :]]) or not inside(envelope, plan)


@settings(max_examples=200, deadline=None)
@given(effects.filter(bool))
def test_every_plan_is_within_what_was_seen_of_it(plan: list[Effect]) -> None:
    stored = make_plan(body(plan)).body().effects
    assert inside(seen(stored, CATALOGUE), stored)


@settings(max_examples=200, deadline=None)
@given(envelopes)
def test_an_envelope_survives_storage(envelope: Envelope) -> None:
    assert Envelope.model_validate_json(envelope.model_dump_json()) == envelope


@settings(max_examples=300, deadline=None)
@given(odd)
def test_any_json_value_is_an_exact_number_or_none(value: object) -> None:
    number = exact_number(value)
    assert number is None or number.is_finite()
