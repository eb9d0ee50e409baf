"""Totals add up exactly, and leave nothing behind where they are taken off again."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from vardy_worker.contracts.totals import EXPONENT_MAX, CountedPlan, EffectTotals
from vardy_worker.store.totals import decode_totals, encode_totals

NAMES = st.sampled_from(["pay", "refund", "mail"])
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: Decimal(repr(value)))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30)
SUMS = st.one_of(FLOATS, DECIMALS, st.integers(-(2**70), 2**70).map(Decimal)).filter(bool)
COUNTS = st.integers(1, 2**40)


@st.composite
def totals(draw: st.DrawFn) -> EffectTotals:
    return EffectTotals(
        counts=draw(st.dictionaries(NAMES, COUNTS)),
        sums=draw(st.dictionaries(NAMES, st.dictionaries(NAMES, SUMS, min_size=1))),
        unknown=draw(st.dictionaries(NAMES, st.dictionaries(NAMES, COUNTS, min_size=1))),
    )


@given(totals(), totals())
def test_what_is_added_and_taken_off_again_leaves_nothing_behind(first: EffectTotals, second: EffectTotals) -> None:
    assert first.plus(second).minus(second) == first
    assert first.minus(first).is_zero


@given(totals(), totals(), totals())
def test_the_order_of_adding_does_not_matter(first: EffectTotals, second: EffectTotals, third: EffectTotals) -> None:
    assert first.plus(second).plus(third) == third.plus(first.plus(second)) == second.plus(third).plus(first)


@given(totals())
def test_totals_are_the_same_when_they_come_back_from_the_store(some: EffectTotals) -> None:
    assert decode_totals(encode_totals(some)) == some
    assert decode_totals(encode_totals(some.negated())).plus(some).is_zero


def test_the_widest_numbers_that_are_kept_add_up_exactly() -> None:
    wide = EffectTotals(sums={"pay": {"amount": Decimal(f"1E{EXPONENT_MAX}")}})
    narrow = EffectTotals(sums={"pay": {"amount": Decimal(f"1E-{EXPONENT_MAX}")}})
    together = wide
    for _ in range(1000):
        together = together.plus(narrow).plus(wide)
    for _ in range(1001):
        together = together.minus(wide)
    assert together.sums["pay"]["amount"] == Decimal(f"1000E-{EXPONENT_MAX}")


def test_ten_cents_and_twenty_are_thirty() -> None:
    ten = EffectTotals(sums={"pay": {"amount": Decimal("0.1")}})
    twenty = EffectTotals(sums={"pay": {"amount": Decimal("0.2")}})
    assert ten.plus(twenty).sums == {"pay": {"amount": Decimal("0.3")}}


def test_a_plan_that_counts_for_what_it_should_needs_no_correction() -> None:
    own = EffectTotals(counts={"pay": 2}, unknown={"pay": {"amount": 1}})
    counted = CountedPlan(era="e", hour=7, totals=own)
    assert counted.correction("ana", own) is None
    known = EffectTotals(counts={"pay": 2}, sums={"pay": {"amount": Decimal(5)}})
    correction = counted.correction("ana", known)
    assert correction is not None
    assert (correction.user, correction.era, correction.hour) == ("ana", "e", 7)
    assert own.plus(correction.totals) == known
