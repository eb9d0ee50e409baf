"""Every error has the same shape, wherever it comes from."""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import threading
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import httpx
import pytest

from tests.support.api import BODY_BYTES_MAX, ApiWorld, approve, run_body
from tests.support.factories import ANA, LEA, effect
from vardy_api.http.problem_help import HELP
from vardy_api.shapes import Problem
from vardy_worker.contracts.errors import PROBLEMS, RecordTooNew, StoreUnavailable
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.policy import ApprovalNeed
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord

Case: TypeAlias = Callable[[ApiWorld, httpx.Client], httpx.Response]
SOURCE = "async function run() { return 1; }"


def _parked(api: ApiWorld, **fields: Any) -> JobRecord:
    return api.job(Status.PENDING_APPROVAL, **fields)


def _decide(http: httpx.Client, job: JobRecord, body: dict[str, Any], digest: str | None = None) -> httpx.Response:
    shown = job.digest if digest is None else digest
    headers = {"If-Match": f'"{shown}"'} if shown else {}
    return http.post(f"/v1/jobs/{job.id}/decisions", json=body, headers=headers)


def _raises(api: ApiWorld, error: Exception) -> None:
    def broken(_: str) -> None:
        raise error

    api.store.get = broken  # type: ignore[method-assign, assignment] # stands for a store in trouble


def _too_large(_: ApiWorld, http: httpx.Client) -> httpx.Response:
    return http.post("/v1/run", json=run_body(params={"x": "y" * BODY_BYTES_MAX}))


def _limited(api: ApiWorld, http: httpx.Client, **quota: int) -> httpx.Client:
    """A client whose key has these ceilings."""
    made = http.post("/v1/keys", json={"owner": "desk", "scopes": ["submit"], "quota": quota})
    return api.http(made.json()["key"])


def _too_fast(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    with _limited(api, http, requests_per_minute=1) as limited:
        limited.get("/v1/functions")
        return limited.get("/v1/functions")


def _too_many(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    with _limited(api, http, jobs_max=1) as limited:
        limited.post("/v1/run", json=run_body())
        return limited.post("/v1/run", json=run_body())


def _expired(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    job = _parked(api)
    api.clock.forward(86_400)
    return _decide(http, job, approve())


def _in_flight(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    began, go_on = threading.Event(), threading.Event()
    submit = api.store.submit

    def slow(*args: Any, **fields: Any) -> Any:
        began.set()
        assert go_on.wait(10)
        return submit(*args, **fields)

    api.store.submit = slow  # type: ignore[method-assign] # holds the first request back
    headers = {"Idempotency-Key": "k"}
    thread = threading.Thread(target=lambda: http.post("/v1/run", json=run_body(), headers=headers))
    thread.start()
    assert began.wait(10)
    answer = http.post("/v1/run", json=run_body(), headers=headers)
    go_on.set()
    thread.join()
    return answer


def _mismatch(_: ApiWorld, http: httpx.Client) -> httpx.Response:
    http.post("/v1/run", json=run_body(), headers={"Idempotency-Key": "k"})
    return http.post("/v1/run", json=run_body(request="b"), headers={"Idempotency-Key": "k"})


def _blocked(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    job = api.job(Status.PLANNED)
    api.break_rules()
    headers = {"If-Match": f'"{job.digest}"'}
    return http.post(f"/v1/jobs/{job.id}/commit", json={"user": ANA.model_dump()}, headers=headers)


def _resolve(api: ApiWorld, http: httpx.Client, state: EffectState, seq: int = 0) -> httpx.Response:
    later = effect(1, refs=(Ref(at="/ticket_id", effect=0, path="/id"),))
    job = api.job(Status.PARTIAL, effects=(effect(), later), records=(EffectRecord(seq=0, state=state),))
    return http.post(f"/v1/jobs/{job.id}/effects/{seq}/resolve", json={"done": True, "reason": "r"})


def _unresolved(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    job = api.job(Status.PARTIAL, records=(EffectRecord(seq=0, state=EffectState.UNKNOWN),))
    return http.post(f"/v1/jobs/{job.id}/requeue")


def _erased_plan(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    url = f"/v1/jobs/{api.job(Status.SUCCESS).id}"
    assert http.delete(url).status_code == 200
    return http.get(f"{url}/plan")


def _conflicting_recipe(_: ApiWorld, http: httpx.Client) -> httpx.Response:
    return http.put("/v1/recipes/a", json={"source": SOURCE, "expect_version": 7})


def _ended_key(_: ApiWorld, http: httpx.Client) -> httpx.Response:
    key_id = http.post("/v1/keys", json={"scopes": ["read"]}).json()["id"]
    http.delete(f"/v1/keys/{key_id}")
    return http.post(f"/v1/keys/{key_id}/rotate", json={})


def _store_down(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    job = api.job()
    _raises(api, StoreUnavailable("redis://:secret@host is down"))
    return http.get(f"/v1/jobs/{job.id}")


def _bug(api: ApiWorld, http: httpx.Client) -> httpx.Response:
    job = api.job()
    _raises(api, ZeroDivisionError("secret row"))
    return http.get(f"/v1/jobs/{job.id}")


CASES: dict[str, Case] = {
    "request.malformed": lambda _, http: http.post(
        "/v1/run", content=b"{", headers={"Content-Type": "application/json"}
    ),
    "request.invalid": lambda _, http: http.post("/v1/run", json={}),
    "request.too_large": _too_large,
    "request.media_type": lambda _, http: http.post("/v1/run", content=b"{}", headers={"Content-Type": "text/plain"}),
    "request.not_found": lambda _, http: http.get("/v1/nowhere"),
    "request.method": lambda _, http: http.delete("/v1/run"),
    "auth.missing": lambda api, _: api.http("").get("/v1/jobs"),
    "auth.invalid": lambda api, _: api.http("vk_wrong").get("/v1/jobs"),
    "auth.scope": lambda api, _: api.http(api.token(Scope.READ)).post("/v1/run", json=run_body()),
    "auth.person": lambda api, _: api.http(api.token(Scope.SUBMIT, person=LEA)).post("/v1/run", json=run_body()),
    "job.not_found": lambda _, http: http.get("/v1/jobs/job_1"),
    "job.conflict": lambda api, http: http.post(f"/v1/jobs/{api.job(Status.SUCCESS).id}/cancel"),
    "plan.none": lambda api, http: http.get(f"/v1/jobs/{api.job().id}/plan"),
    "plan.erased": _erased_plan,
    "recipe.not_found": lambda _, http: http.get("/v1/recipes/none"),
    "recipe.conflict": _conflicting_recipe,
    "recipe.invalid": lambda _, http: http.put("/v1/recipes/a", json={"source": "nothing"}),
    "audit.not_found": lambda _, http: http.get("/v1/audit/verify?chain=job_none"),
    "key.not_found": lambda _, http: http.delete("/v1/keys/none"),
    "key.conflict": _ended_key,
    "rules.invalid": lambda _, http: http.put("/v1/rules", json={"text": "default: perhaps"}),
    "rules.conflict": lambda _, http: http.put("/v1/rules", json={"text": "default: block", "expect_version": 7}),
    "digest.missing": lambda api, http: _decide(http, _parked(api), approve(), ""),
    "digest.mismatch": lambda api, http: _decide(http, _parked(api), approve(), "0"),
    "approval.requester": lambda api, http: _decide(http, _parked(api), approve(ANA)),
    "approval.role": lambda api, http: _decide(
        http, _parked(api, needs=(ApprovalNeed(rule="r", roles=("x",)),)), approve()
    ),
    "approval.reason": lambda api, http: _decide(http, _parked(api), {**approve(), "decision": "deny"}),
    "approval.expired": _expired,
    "commit.unresolved": _unresolved,
    "commit.blocked": _blocked,
    "effect.not_found": lambda api, http: _resolve(api, http, EffectState.UNKNOWN, seq=7),
    "effect.not_unknown": lambda api, http: _resolve(api, http, EffectState.FAILED),
    "effect.result": lambda api, http: _resolve(api, http, EffectState.UNKNOWN),
    "idempotency.mismatch": _mismatch,
    "idempotency.in_flight": _in_flight,
    "cursor.invalid": lambda _, http: http.get("/v1/jobs?cursor=x"),
    "rate.limited": _too_fast,
    "quota.exceeded": _too_many,
    "service.unavailable": _store_down,
    "internal": _bug,
}
NOT_YET_REACHED = {
    "function.not_found",  # functions are listed, not fetched one by one
}
BEFORE_ANY_ROUTE = {"request.head_too_large", "request.framing", "request.timeout", "service.busy"}
"""Reached over real connections, in `test_connections`."""


def test_every_problem_code_is_reached_or_said_not_to_be() -> None:
    assert CASES.keys() | NOT_YET_REACHED | BEFORE_ANY_ROUTE == PROBLEMS.keys()
    assert not CASES.keys() & (NOT_YET_REACHED | BEFORE_ANY_ROUTE)


@pytest.mark.parametrize("code", sorted(CASES))
def test_every_error_has_the_same_shape(api: ApiWorld, http: httpx.Client, code: str) -> None:
    answer = CASES[code](api, http)
    problem = Problem.model_validate_json(answer.content)
    status, title = PROBLEMS[code]
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem.status, problem.code, problem.title) == (status, status, code, title)
    assert problem.type == f"/problems/{code}"
    assert problem.detail.endswith(".")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "secret" not in answer.text


def test_an_unforeseen_failure_tells_only_where_the_log_has_it(
    api: ApiWorld, http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        problem = CASES["internal"](api, http).json()
    assert problem["instance"] == f"urn:vardy:{problem['details']['correlation_id']}"
    assert "ZeroDivisionError" not in str(problem)
    assert problem["details"]["correlation_id"] in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_store_that_is_down_says_when_to_come_back(api: ApiWorld, http: httpx.Client) -> None:
    assert CASES["service.unavailable"](api, http).headers["retry-after"] == "2"


def test_a_record_of_a_newer_release_is_left_to_it(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job()
    _raises(api, RecordTooNew("Upgrade this process."))
    answer = http.get(f"/v1/jobs/{job.id}")
    assert (answer.status_code, answer.json()["detail"]) == (503, "Upgrade this process.")


def test_405_names_the_methods_that_are_taken(http: httpx.Client) -> None:
    assert http.delete("/v1/run").headers["allow"] == "OPTIONS, POST"
    assert http.patch("/v1/recipes/a").headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"
    assert http.post("/docs").headers["allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v1/jobs/", "/v2/run", "/v1/jobs/a/b", "/favicon.ico"])
def test_an_address_that_is_none_is_a_problem_too(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "request.not_found")


@pytest.mark.parametrize("code", sorted(PROBLEMS))
def test_the_type_of_every_problem_has_a_page(api: ApiWorld, code: str) -> None:
    http = api.http("")
    assert http.get(f"/problems/{code}").json() == {
        "code": code,
        "status": PROBLEMS[code][0],
        "title": PROBLEMS[code][1],
        "help": HELP[code],
    }
    page = http.get(f"/problems/{code}", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["vary"] == "Accept"
    shown = unescape(re.sub(r"<[^>]+>", "", page.text))
    assert PROBLEMS[code][1] in shown
    assert HELP[code].replace("`", "") in shown


def test_every_problem_says_what_helps_in_a_sentence() -> None:
    assert HELP.keys() == PROBLEMS.keys()
    assert all(re.fullmatch(r"[A-Z].*\.", text) for text in HELP.values())


@pytest.mark.parametrize("code", ["<script>alert(1)</script>", "&lt;b&gt;", '"><img src=x>'])
def test_the_page_of_no_problem_repeats_nothing_as_html(api: ApiWorld, code: str) -> None:
    answer = api.http("").get(f"/problems/{quote(code, safe='')}", headers={"Accept": "text/html"})
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (404, "request.not_found")


def test_pages_load_nothing_and_allow_their_own_style_alone(api: ApiWorld) -> None:
    for path in ("/docs", "/problems/internal"):
        page = api.http("").get(path, headers={"Accept": "text/html"})
        [style] = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
        assert (policy["default-src"], policy["style-src"]) == ("'none'", f"'sha256-{digest}'")
        assert not re.search(r"<script|<link|src=|style=|\son[a-z]+=", page.text)


def test_the_table_of_problems_in_the_documentation_is_the_one_of_the_code() -> None:
    text = (Path(__file__).parents[3] / "docs" / "http.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| `") and "` | " in line]
    table = {
        code.strip(" `"): (int(status), meaning.strip()) for code, status, meaning in rows if status.strip().isdigit()
    }
    assert table == dict(PROBLEMS)
