from __future__ import annotations

from typing import Any

import pytest

from vardy_worker.prompts import shape_of


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "number"),
        (1.5, "number"),
        ("text", "string"),
        ([], "[] /* empty */"),
        ({}, "{}"),
        ([1, 2], "Array<number>"),
        ([1, "a", None], "Array<number | string | null>"),
        ({"a": 1, "b c": {"d": [True]}}, '{a: number, "b c": {d: Array<boolean>}}'),
        ([{"a": 1}, {"a": 2}, {"a": "x"}], "Array<{a: number} | {a: string}>"),
        ([1, "a", None, True, {}], "Array<number | string | null | boolean | …>"),
    ],
)
def test_a_shape_is_types_and_keys(value: Any, shape: str) -> None:
    assert shape_of(value) == shape


def test_lengths_are_told_when_asked_for() -> None:
    value = {"name": "abc", "rows": [{"id": 1, "t": "x"}, {"id": 2, "t": "yy"}]}
    shape = shape_of(value, lengths=True)
    assert shape == "{name: string /* 3 characters */, rows: Array<{id: number, t: string}> /* 2 items */}"


def test_keys_that_are_not_known_are_not_shown() -> None:
    value = {"total": 2, "ana@example.com": 1, "rui@example.com": 1}
    assert shape_of(value, known={"total"}) == "{total: number, [key: string]: number}"
    assert shape_of([value], known=set(), lengths=True) == ("Array<{[key: string]: number /* 3 keys */}> /* 1 items */")


def test_a_huge_value_has_a_small_shape() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = {"k": deep}
    assert len(shape_of(deep)) < 60
    assert len(shape_of({f"key_{n}": n for n in range(10_000)})) < 1_000
    assert len(shape_of([{f"key_{n}": n} for n in range(10_000)])) < 200
    assert len(shape_of({"x" * 10_000: 1})) < 120
