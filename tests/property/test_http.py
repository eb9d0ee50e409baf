"""Whatever is sent, the API answers with what it promises: never a failure of its own."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.api import ApiWorld, LoopThread
from vardy_api.http.answers import digest_in, wait_preferred
from vardy_api.http.json_body import parse_json
from vardy_api.shapes import Problem
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
USER = {"id": "lea", "roles": ["support_lead"]}
RUN = {"request": "a", "user": USER, "params": {}, "limits": {"calls_max": 1}, "metadata": {"a": "b"}}
RESOLVE = {"done": True, "result": {"id": 1}, "reason": "r", "user": USER}
RECIPE = {
    "source": "async function run() { await refund_payment({payment_id: 1}); return 1; }",
    "params_schema": {"type": "object"},
    "envelope": {"functions": {"refund_payment": {"effects_max": 1, "arguments": {"payment_id": {"max": 1}}}}},
    "functions": {"refund_payment": "v1"},
    "judge": False,
    "reviewed_by": "lea",
}
REVIEW = {"description": "", "envelope": RECIPE["envelope"], "reviewed_by": "lea"}
ROUTES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/run", RUN),
    ("POST", "/v1/jobs/{parked}/decisions", {"decision": "deny", "user": USER, "reason": "r"}),
    ("POST", "/v1/jobs/{parked}/commit", {"user": USER}),
    ("POST", "/v1/jobs/{parked}/cancel", {"user": USER}),
    ("POST", "/v1/jobs/{partial}/requeue", {"user": USER}),
    ("POST", "/v1/jobs/{partial}/discard", {"user": USER, "reason": "r"}),
    ("POST", "/v1/jobs/{partial}/effects/0/resolve", RESOLVE),
    ("PUT", "/v1/recipes/fuzzed", RECIPE),
    ("POST", "/v1/recipes/known/review", REVIEW),
    ("PUT", "/v1/rules", {"text": "default: allow", "user": USER, "expect_version": 0}),
    ("POST", "/v1/programs/check", {"source": "run()", "user": USER, "functions": []}),
    ("POST", "/v1/prompts", {"request": "a", "params": {}, "user": USER, "functions": []}),
    ("POST", "/v1/keys", {"name": "a", "scopes": ["read"], "person": USER, "expires_in_seconds": 60}),
]
FILTERS = st.sampled_from(["status", "kind", "user", "recipe", "created_after", "cursor", "limit"])
TAGS = st.none() | st.text(st.characters(codec="ascii", exclude_characters="\r\n\0"), max_size=20)
MANY = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def api() -> Iterator[ApiWorld]:
    thread = LoopThread()
    yield ApiWorld(thread)
    thread.close()


@pytest.fixture(scope="module")
def http(api: ApiWorld) -> Iterator[httpx.Client]:
    with api.http() as client:
        assert client.put("/v1/recipes/known", json=RECIPE).status_code == 200
        yield client


@pytest.mark.parametrize(("method", "path", "valid"), ROUTES)
@MANY
@given(data=st.data(), if_match=TAGS)
def test_no_body_makes_a_route_fail(
    api: ApiWorld,
    http: httpx.Client,
    *,
    method: str,
    path: str,
    valid: dict[str, Any],
    data: st.DataObject,
    if_match: str | None,
) -> None:
    changed = st.dictionaries(st.sampled_from(sorted(valid)) | st.text(max_size=5), JSON, max_size=2)
    body = data.draw(changed.map(lambda fields: {**valid, **fields}) | JSON)
    parked = api.job(Status.PENDING_APPROVAL)
    partial = api.job(Status.PARTIAL, records=(EffectRecord(seq=0, state=EffectState.UNKNOWN),))
    tag = f'"{parked.digest}"' if if_match is None else if_match
    answer = http.request(
        method,
        path.format(parked=parked.id, partial=partial.id),
        content=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "If-Match": tag},
    )
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert Problem.model_validate_json(answer.content).status == answer.status_code


@MANY
@given(bound=JSON | st.from_regex(r"-?[0-9]{0,5}(\.[0-9]{0,3})?([eE]-?[0-9]{1,5})?", fullmatch=True))
def test_a_bound_is_a_number_as_it_was_written_or_refused(http: httpx.Client, bound: Any) -> None:
    bounds = {"payment_id": {"max": bound, "min": -(10**400)}}
    body = {**RECIPE, "envelope": {"functions": {"refund_payment": {"effects_max": 1, "arguments": bounds}}}}
    headers = {"Content-Type": "application/json"}
    answer = http.put("/v1/recipes/fuzzed?dry_run=true", content=json.dumps(body).encode(), headers=headers)
    assert answer.status_code in {200, 422}, answer.text
    if answer.status_code == 200:
        shown = answer.json()["envelope"]["functions"]["refund_payment"]["arguments"]["payment_id"]["max"]
        assert shown == bound or Decimal(shown) == Decimal(bound)


@MANY
@given(query=st.dictionaries(FILTERS, st.text(st.characters(codec="utf-8"))))
def test_no_query_makes_a_list_fail(http: httpx.Client, query: dict[str, str]) -> None:
    answer = http.get("/v1/jobs", params=query)
    assert answer.status_code in {200, 422}, answer.text


@given(JSON)
def test_what_json_can_say_is_read_as_it_is(value: Any) -> None:
    with contextlib.suppress(UnicodeEncodeError):
        content = json.dumps(value, ensure_ascii=False).encode()
        assert parse_json(content) == value


@given(st.binary(max_size=200))
def test_bytes_are_json_or_refused(content: bytes) -> None:
    with contextlib.suppress(RequestError):
        assert json.dumps(parse_json(content)) == json.dumps(json.loads(content))


@given(st.text(max_size=80))
def test_only_one_strong_tag_names_a_plan(text: str) -> None:
    tag = digest_in(text)
    if tag and '"' not in tag and tag != text.strip():
        assert text.strip() == f'"{tag}"'


@given(st.text(max_size=80) | st.floats().map(lambda seconds: f"wait={seconds}"))
def test_a_preferred_wait_is_between_nothing_and_a_minute(text: str) -> None:
    assert 0 <= wait_preferred(text) <= 60
