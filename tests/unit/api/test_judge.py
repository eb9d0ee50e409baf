"""Who may have texts judged: over HTTP, in the client, and what the checks say of programs that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.api import explore_body, run_body
from tests.support.factories import ANA, NOW_MS
from vardy_api.client_errors import Forbidden
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import RECIPES

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld

JUDGING = "async function run(params) {\n  return await classify(params.texts, ['good', 'bad']);\n}"
JUDGED = Recipe(
    name="judged",
    source=JUDGING,
    params_schema={"type": "object"},
    judge=True,
    reviewed_by="lea",
    reviewed_at_ms=NOW_MS,
)


def save(api: ApiWorld) -> None:
    api.documents.put(RECIPES, JUDGED.name, JUDGED.model_dump(mode="json", exclude={"version"}))


def test_a_key_with_the_scope_may_ask_for_the_judge(api: ApiWorld) -> None:
    http = api.http(api.token(Scope.SUBMIT, Scope.JUDGE))
    for path, body in (("/v1/run", run_body(judge=True)), ("/v1/explore", explore_body(judge=True))):
        answer = http.post(path, json=body)
        assert answer.status_code == 202
        record = api.store.get(answer.json()["id"])
        assert record is not None
        assert record.has_judge


@pytest.mark.parametrize("scopes", [(Scope.SUBMIT,), tuple(set(Scope) - {Scope.JUDGE})])
@pytest.mark.parametrize("path", ["/v1/run", "/v1/explore"])
def test_a_key_without_the_scope_may_not(api: ApiWorld, path: str, scopes: tuple[Scope, ...]) -> None:
    body = run_body if path == "/v1/run" else explore_body
    http = api.http(api.token(*scopes))
    refused = http.post(path, json=body(judge=True))
    assert (refused.status_code, refused.json()["code"]) == (403, "auth.scope")
    assert refused.json()["details"] == {"scopes": ["judge"]}
    assert api.queue.depth("run") == 0
    assert http.post(path, json=body()).status_code == 202


def test_a_recipe_with_the_judge_asks_the_same_of_the_key(api: ApiWorld) -> None:
    save(api)
    body = {"recipe": "judged", "user": ANA.model_dump(mode="json")}
    refused = api.http(api.token(Scope.SUBMIT)).post("/v1/run", json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "auth.scope")
    accepted = api.http(api.token(Scope.SUBMIT, Scope.JUDGE)).post("/v1/run", json=body)
    assert accepted.status_code == 202


def test_the_judge_alone_submits_nothing(api: ApiWorld) -> None:
    refused = api.http(api.token(Scope.JUDGE)).post("/v1/run", json=run_body(judge=True))
    assert refused.json()["details"] == {"scopes": ["submit"]}


def test_the_audit_trail_says_that_a_job_may_have_texts_judged(api: ApiWorld, http: httpx.Client) -> None:
    save(api)
    for body, judged in ((run_body(judge=True), True), (run_body(recipe="judged"), True), (run_body(), False)):
        job_id = http.post("/v1/run", json=body).json()["id"]
        (entry,) = http.get("/v1/audit", params={"job": job_id}).json()["items"]
        assert entry["details"].get("judge", False) is judged


def test_the_client_asks_for_the_judge(api: ApiWorld) -> None:
    job = api.vardy().run("which texts complain?", user=ANA, judge=True, wait=False)
    record = api.store.get(job.id)
    assert record is not None
    assert record.has_judge
    with pytest.raises(Forbidden):
        api.vardy(api.token(Scope.SUBMIT)).run("which texts complain?", user=ANA, judge=True, wait=False)


def test_a_program_that_judges_is_checked_as_one_that_may_or_may_not(http: httpx.Client) -> None:
    off = http.post("/v1/programs/check", json={"source": JUDGING}).json()
    assert [finding["code"] for finding in off["findings"]] == ["program.judge_off"]
    on = http.post("/v1/programs/check", json={"source": JUDGING, "judge": True}).json()
    assert (on["ok"], on["findings"]) == (True, [])
