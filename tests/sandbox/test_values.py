"""Any JSON value goes into a program and comes back as the table of values says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.support.fuzzing import TIMEOUT_SECONDS, fuzz, within
from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.base import INT_SAFE_MAX
from vardy_worker.contracts.execution import CallReply, CallValue, GuestCall, Returned, SandboxRun
from vardy_worker.contracts.limits import Limits

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=()))
    | st.sampled_from(["__proto__", "then", "toJSON", "constructor", "\ud800", "\udfff\ud800", "\u2028", "\0"])
)
KEYS = st.text(max_size=5) | st.sampled_from(["__proto__", "then", "constructor", "0", "-1", "length", "\ud800"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5))


def well_formed(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def expected(value: Any) -> Any:
    """What a program that returns the value gives back."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -INT_SAFE_MAX <= value <= INT_SAFE_MAX else str(value)
    if isinstance(value, float):
        if value.is_integer() and INT_SAFE_MAX < abs(value) < 1e21:
            return str(int(value))
        return value + 0.0 if value else 0.0
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [expected(item) for item in value]
    return {well_formed(key): expected(item) for key, item in value.items()}


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        return isinstance(left, int | float) and isinstance(right, int | float) and math.isclose(left, right, rel_tol=0)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return isinstance(right, dict) and left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return type(left) is type(right) and bool(left == right)


SOURCE = "async function run(params) { return [params.value, await echo({ value: params.value })]; }"
LARGE = Limits(execute_seconds_max=10)


@pytest.mark.timeout(TIMEOUT_SECONDS)
def test_values_keep_their_meaning_on_every_way_through_a_program(sandbox: ChildSandbox) -> None:
    def act(value: Any) -> None:
        seen: list[Any] = []

        def echo(calls: Sequence[GuestCall]) -> Sequence[CallReply]:
            seen.extend(call.args["value"] for call in calls)
            return [CallValue(value=value) for _ in calls]

        job = SandboxRun(source=SOURCE, functions=("echo",), params={"value": value}, now_ms=0, seed="", limits=LARGE)
        outcome = within(LARGE.execute_seconds_max + 2, lambda: sandbox.run(job, echo))
        assert isinstance(outcome, Returned), outcome
        wanted = expected(value)
        assert same(outcome.output[0], wanted)
        assert same(outcome.output[1], wanted)
        assert same(seen[0], wanted)
        json.dumps(outcome.output, allow_nan=False)

    assert fuzz(act, value=VALUES)


def test_a_large_value_crosses_both_ways(run: Callable[..., Any]) -> None:
    rows = [{"id": i, "name": "é" * 20} for i in range(2000)]
    outcome = run("return params.rows.length;", params={"rows": rows})
    assert isinstance(outcome, Returned)
    assert outcome.output == 2000
