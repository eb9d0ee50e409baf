from __future__ import annotations

from typing import Any

import pytest

from vardy_worker.contracts.limits import Limits
from vardy_worker.prompts.summary import summarise, summary_text

ROWS = [{"id": number, "name": f"Customer {number}", "owed": number * 10} for number in range(10_000)]


def cut(value: Any, room: int) -> Any:
    summary = summarise(value, room)
    assert summary.truncated
    assert len(summary_text(summary.value).encode()) <= room
    return summary.value


@pytest.mark.parametrize("value", [None, 0, "", [], {}, {"…": 1}, ["… 3 more items"], {"total": 1.5, "top": [1, 2]}])
def test_what_fits_is_shown_as_it_is(value: Any) -> None:
    summary = summarise(value, 64)
    assert (summary.value, summary.truncated) == (value, False)


def test_of_many_rows_the_first_are_shown_whole_and_the_rest_is_counted() -> None:
    room = Limits().summary_bytes_max
    *shown, note = cut(ROWS, room)
    assert shown == ROWS[: len(shown)]
    assert note == f"… {len(ROWS) - len(shown):,} more items"
    assert len(summary_text([*shown, note])) > 0.9 * room, "the room is used"


def test_counts_beside_many_rows_are_kept() -> None:
    found = cut({"total": 10_000, "rows": ROWS, "mean": 49_995}, 1_000)
    assert (found["total"], found["mean"]) == (10_000, 49_995)
    assert found["rows"][0] == ROWS[0]


def test_of_many_keys_the_first_are_shown_and_the_rest_is_counted() -> None:
    found = cut({f"city {number}": number for number in range(300)}, 200)
    assert found.pop("…") == f"{300 - len(found)} more keys"
    assert found == {f"city {number}": number for number in range(len(found))}


def test_a_long_text_shows_its_beginning_and_its_length() -> None:
    assert cut("é" * 5_000, 64) == "é" * 16 + "… (5,000 characters in all)"


def test_one_long_text_among_many_values_gives_way_to_them() -> None:
    found = cut(["x" * 5_000, *range(20)], 200)
    assert found[1:] == list(range(20))
    assert found[0].endswith("… (5,000 characters in all)")


def test_deep_parts_are_told_by_their_size() -> None:
    found = cut({"rows": [["x" * 40] * 50] * 50, "total": 2_500}, 64)
    assert found == {"rows": "… 50 items", "total": 2_500}


def test_a_number_is_never_shown_in_part() -> None:
    digits = float("1.2345678901234567e+300")
    found = cut([digits] * 100, 64)
    assert [item for item in found if not isinstance(item, str)] == [digits] * (len(found) - 1)
    assert cut([10**70] * 100, 64)[0] == "…"


def test_a_key_of_the_value_is_never_taken_for_the_mark() -> None:
    found = cut({"…": "mine", **{f"key {number}": number for number in range(100)}}, 100)
    assert found["…"] == "mine"
    assert found["……"].endswith("more keys")


def test_a_key_that_is_larger_than_all_room_is_only_counted() -> None:
    assert cut({"k" * 1_000: 1}, 64) == "… 1 key"
    assert cut([{"k" * 1_000: 1}], 64) == ["… 1 key"]


def test_an_object_that_leaves_no_room_for_a_mark_is_told_by_its_size() -> None:
    assert cut({"…" * number: number for number in range(1, 40)}, 64) == "… 39 keys"


def test_what_fits_to_the_byte_is_shown_as_it_is() -> None:
    text = "x" * 62
    assert (summarise(text, 64).value, summarise(text, 64).truncated) == (text, False)
    assert cut(text, 63) != text
