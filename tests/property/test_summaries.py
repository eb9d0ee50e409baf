"""Summaries: whatever a program returned, what a model sees of it is JSON, small enough, and says what is missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from vardy_worker.prompts.summary import ELLIPSIS, FLOOR_BYTES, summarise, summary_text

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

LEAVES: SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=300),
    st.text('"\\\n\u0000…é漢😀', max_size=80),
)
VALUES: SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=40)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=40) | st.just(ELLIPSIS), inner, max_size=25)
    ),
    max_leaves=60,
)
ROOM = st.integers(2 * FLOOR_BYTES, 2_000)


def size(value: Any) -> int:
    return len(summary_text(value).encode())


@given(VALUES, ROOM)
def test_a_summary_is_json_of_at_most_the_limit(value: Any, room: int) -> None:
    text = summary_text(summarise(value, room).value)
    assert len(text.encode()) <= room
    assert json.loads(text) == summarise(value, room).value


@given(VALUES, ROOM)
def test_it_is_the_value_itself_exactly_when_that_fits(value: Any, room: int) -> None:
    summary = summarise(value, room)
    assert summary.truncated is (size(value) > room)
    assert (summary.value == value) is not summary.truncated


@given(VALUES, ROOM)
def test_what_is_cut_says_so_where_it_is_cut(value: Any, room: int) -> None:
    summary = summarise(value, room)
    if summary.truncated:
        assert_part_of(value, summary.value)


@given(VALUES, ROOM)
def test_the_same_value_is_always_cut_alike(value: Any, room: int) -> None:
    again = json.loads(json.dumps(value))
    assert summary_text(summarise(value, room).value) == summary_text(summarise(again, room).value)


@given(VALUES, ROOM)
def test_a_summary_is_its_own_summary(value: Any, room: int) -> None:
    once = summarise(value, room)
    assert summarise(once.value, room).value == once.value


def assert_part_of(value: Any, shown: Any) -> None:
    """The shown value is the value, or a part of it that is marked as one."""
    if shown == value and type(shown) is type(value):
        return
    if isinstance(shown, str):
        assert ELLIPSIS in shown
        kept = shown.partition(ELLIPSIS)[0] if not isinstance(value, str) else ""
        assert kept == "", "nothing but texts begins with what is left of it"
        if isinstance(value, str):
            assert value.startswith(shown[: shown.rindex(ELLIPSIS)])
    elif isinstance(shown, list):
        assert isinstance(value, list)
        tail = shown[len(value) :] if len(shown) > len(value) else []
        assert tail == []
        if len(shown) < len(value) or (shown and isinstance(shown[-1], str) and "more item" in shown[-1]):
            *shown, note = shown
            hidden = len(value) - len(shown)
            assert note == f"{ELLIPSIS} {hidden:,} more {'item' if hidden == 1 else 'items'}"
        for before, after in zip(value, shown, strict=False):
            assert_part_of(before, after)
    else:
        assert isinstance(shown, dict)
        assert isinstance(value, dict)
        added = [key for key in shown if key not in value]
        if added:
            assert added == [list(shown)[-1]]
            assert set(added[0]) == {ELLIPSIS}
            hidden = len(value) - len(shown) + 1
            assert shown[added[0]] == f"{hidden:,} more {'key' if hidden == 1 else 'keys'}"
        for key in shown.keys() - set(added):
            assert_part_of(value[key], shown[key])
        assert list(shown)[: len(shown) - len(added)] == list(value)[: len(shown) - len(added)]
