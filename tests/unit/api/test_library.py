"""Recipes, functions, rules and prompts over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import ANA, LEA
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import CURRENT, RULES

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.ports import Document

SOURCE = "async function run(params) {\n  return await list_payments();\n}\n"
BLOCK = "default: block\n"
OBJECT = {"type": "object"}
PARAMS = "/params_schema"


# --- recipes -------------------------------------------------------------------------------------------------


def test_a_recipe_is_saved_in_versions_with_its_functions_pinned(http: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}}
    body = {"source": SOURCE, "description": "All payments.", "params_schema": schema, "reviewed_by": "lea"}
    saved = http.put("/v1/recipes/payments", json=body).json()
    assert (saved["version"], saved["functions"], saved["reviewed_by"]) == (1, {"list_payments": "v1"}, "lea")
    assert saved["reviewed_at"].startswith("2023-11-14T")
    http.put("/v1/recipes/payments", json={**body, "description": "Every payment."})
    assert http.get("/v1/recipes/payments").json()["description"] == "Every payment."
    versions = http.get("/v1/recipes/payments/versions").json()["items"]
    assert [item["version"] for item in versions] == [1, 2]
    assert [item["name"] for item in http.get("/v1/recipes").json()["items"]] == ["payments"]


def test_a_recipe_is_saved_from_the_program_of_a_job(api: ApiWorld, http: httpx.Client) -> None:
    job = api.job(Status.SUCCESS)
    saved = http.put("/v1/recipes/again", json={"from_job": job.id}).json()
    assert job.program is not None
    assert (saved["source"], saved["from_job"]) == (job.program.source, job.id)


def test_a_bound_key_signs_the_review(api: ApiWorld) -> None:
    http = api.http(api.token(Scope.OPERATE, person=LEA))
    assert http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": "bob"}).json()["reviewed_by"] == "lea"


@pytest.mark.parametrize(
    ("name", "body", "code", "at"),
    [
        ("Upper", {"source": SOURCE}, "request.invalid", "/name"),
        ("a", {}, "request.invalid", "/source"),
        ("a", {"source": SOURCE, "from_job": "job_1"}, "request.invalid", "/source"),
        ("a", {"source": SOURCE, "params_schema": {"type": "nothing"}}, "recipe.invalid", PARAMS),
        ("a", {"source": SOURCE, "params_schema": {"type": "string"}}, "recipe.invalid", PARAMS),
        ("a", {"source": SOURCE, "params_schema": {**OBJECT, "pattern": "(?=a)"}}, "recipe.invalid", PARAMS),
        (
            "a",
            {"source": SOURCE, "params_schema": {**OBJECT, "$ref": "https://example.org/s"}},
            "recipe.invalid",
            PARAMS,
        ),
        ("a", {"source": SOURCE, "params_schema": {**OBJECT, "allOf": [{"$ref": "#/no"}]}}, "recipe.invalid", PARAMS),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused_with_the_place(
    http: httpx.Client, name: str, body: dict[str, Any], code: str, at: str
) -> None:
    answer = http.put(f"/v1/recipes/{name}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert answer.json()["details"]["problems"][0]["at"] == at


def test_a_schema_may_refer_to_itself(http: httpx.Client) -> None:
    schema = {
        **OBJECT,
        "$defs": {"a/b": {"type": "integer"}},
        "properties": {"days": {"$ref": "#/$defs/a~1b"}, "more": {"$ref": "#"}, "$ref": {"type": "string"}},
    }
    assert http.put("/v1/recipes/a", json={"source": SOURCE, "params_schema": schema}).status_code == 200


def test_a_program_that_does_not_validate_is_refused_with_every_finding(http: httpx.Client) -> None:
    source = "async function run() {\n  await fetch('https://example.org');\n  return await lst_payments();\n}\n"
    answer = http.put("/v1/recipes/a", json={"source": source})
    problems = answer.json()["details"]["problems"]
    assert (answer.status_code, answer.json()["code"]) == (422, "recipe.invalid")
    assert {problem["line"] for problem in problems} == {2, 3}
    assert http.get("/v1/recipes/a").status_code == 404


def test_a_program_that_is_too_large_is_refused(api: ApiWorld, http: httpx.Client) -> None:
    source = SOURCE + "// " + "x" * 60_000
    api.operations.recipes._program_bytes_max = 50_000
    answer = http.put("/v1/recipes/a", json={"source": source})
    assert answer.json()["code"] == "recipe.invalid"
    assert answer.json()["details"]["limit"] == "program_bytes_max"


def test_a_recipe_is_saved_only_over_the_version_that_was_seen(http: httpx.Client) -> None:
    assert http.put("/v1/recipes/a", json={"source": SOURCE, "expect_version": 0}).status_code == 200
    answer = http.put("/v1/recipes/a", json={"source": SOURCE, "expect_version": 0})
    assert (answer.status_code, answer.json()["code"]) == (409, "recipe.conflict")
    assert http.put("/v1/recipes/a", json={"source": SOURCE, "expect_version": 1}).json()["version"] == 2


def test_a_job_without_a_program_makes_no_recipe(api: ApiWorld, http: httpx.Client) -> None:
    assert http.put("/v1/recipes/a", json={"from_job": api.job().id}).json()["code"] == "request.invalid"
    assert http.put("/v1/recipes/a", json={"from_job": "job_1"}).json()["code"] == "job.not_found"


def test_a_recipe_is_deleted_with_all_its_versions(http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    deleted = http.delete("/v1/recipes/a")
    assert (deleted.status_code, deleted.content) == (204, b"")
    for answer in (http.get("/v1/recipes/a"), http.get("/v1/recipes/a/versions"), http.delete("/v1/recipes/a")):
        assert (answer.status_code, answer.json()["code"]) == (404, "recipe.not_found")


def test_saving_and_deleting_recipes_need_their_scope(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    weak = api.http(api.token(Scope.SUBMIT, Scope.READ))
    assert weak.get("/v1/recipes/a").status_code == 200
    assert weak.put("/v1/recipes/a", json={"source": SOURCE}).status_code == 403
    assert weak.delete("/v1/recipes/a").status_code == 403


# --- functions and prompts ---------------------------------------------------------------------------------------


def test_the_catalogue_is_what_a_worker_published(api: ApiWorld, http: httpx.Client) -> None:
    names = [spec["name"] for spec in http.get("/v1/functions").json()["functions"]]
    assert names == ["list_payments", "list_salaries", "refund_payment"]
    api.forget_function("list_salaries")
    assert len(http.get("/v1/functions").json()["functions"]) == 2


def test_before_any_worker_the_catalogue_is_empty_and_jobs_are_taken(api: ApiWorld, http: httpx.Client) -> None:
    api.documents.delete("catalogue", CURRENT)
    assert http.get("/v1/functions").json() == {"functions": [], "types": {}}
    body = {"request": "a", "user": ANA.model_dump(), "functions": ["anything"]}
    assert http.post("/v1/run", json=body).status_code == 202


def test_a_prompt_shows_the_functions_of_the_person_alone(http: httpx.Client) -> None:
    body = {"request": "how much is open?", "params": {"customer": "row-4711"}, "user": ANA.model_dump()}
    answer = http.post("/v1/prompts", json=body)
    text = "".join(message["content"] for message in answer.json()["messages"])
    assert "how much is open?" in text
    assert "list_payments" in text
    assert "list_salaries" not in text
    assert "4711" not in text
    narrowed = http.post("/v1/prompts", json={**body, "functions": ["refund_payment"]}).text
    assert "list_payments" not in narrowed
    unknown = http.post("/v1/prompts", json={**body, "functions": ["list_salaries"]})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "request.invalid")


def test_the_prompt_of_a_question_shows_reads_alone(http: httpx.Client) -> None:
    body = {"request": "how much is open?", "kind": "explore", "user": ANA.model_dump()}
    system, user = http.post("/v1/prompts", json=body).json()["messages"]
    assert "how much is open?" in user["content"]
    assert "list_payments" in system["content"]
    assert "refund_payment" not in system["content"]
    assert "classify" not in system["content"]
    judging = http.post("/v1/prompts", json={**body, "judge": True}).json()["messages"]
    assert "classify" in judging[0]["content"]
    writing = http.post("/v1/prompts", json={**body, "functions": ["refund_payment"]})
    assert (writing.status_code, writing.json()["code"]) == (422, "request.invalid")


# --- rules ---------------------------------------------------------------------------------------------------------


def test_before_any_rules_every_write_needs_an_approval(http: httpx.Client) -> None:
    rules = http.get("/v1/rules").json()
    assert (rules["version"], rules["text"], len(rules["digest"])) == (0, "default: approve\n", 64)


def test_rules_are_applied_as_a_new_version_and_the_same_rules_only_once(http: httpx.Client) -> None:
    applied = http.put("/v1/rules", json={"text": BLOCK, "user": LEA.model_dump()}).json()
    assert (applied["version"], applied["changed"], applied["applied_by"]) == (1, True, "lea")
    again = http.put("/v1/rules", json={"text": "# the same\n" + BLOCK, "user": ANA.model_dump()}).json()
    assert (again["version"], again["changed"], again["applied_by"]) == (1, False, "lea")
    assert http.get("/v1/rules").json()["text"] == BLOCK


def test_a_dry_run_applies_nothing(http: httpx.Client) -> None:
    checked = http.put("/v1/rules?dry_run=true", json={"text": BLOCK}).json()
    assert (checked["dry_run"], checked["changed"]) == (True, False)
    assert http.get("/v1/rules").json()["version"] == 0


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_a_bad_rules_file_is_refused_whole_with_line_and_reason(http: httpx.Client, query: str) -> None:
    http.put("/v1/rules", json={"text": BLOCK})
    text = "default: allow\nrules:\n- {name: a, on: [refund_payment], when: args.typo > 1, then: allow}\n"
    answer = http.put(f"/v1/rules{query}", json={"text": text})
    assert (answer.status_code, answer.json()["code"]) == (422, "rules.invalid")
    assert answer.json()["details"]["problems"][0]["line"] == 3
    assert http.get("/v1/rules").json()["text"] == BLOCK


def test_rules_are_applied_only_over_the_version_that_was_seen(http: httpx.Client) -> None:
    assert http.put("/v1/rules", json={"text": BLOCK, "expect_version": 0}).status_code == 200
    answer = http.put("/v1/rules", json={"text": "default: allow\n", "expect_version": 0})
    assert (answer.status_code, answer.json()["code"]) == (409, "rules.conflict")


def test_rules_that_lose_a_race_are_applied_over_the_newer_ones(
    api: ApiWorld, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = api.documents.put
    beaten: list[bool] = []

    def race(collection: str, name: str, value: Any, **given: Any) -> Document | None:
        if collection == RULES and not beaten:
            beaten.append(True)
            assert http.put("/v1/rules", json={"text": "default: allow\n"}).status_code == 200
        return put(collection, name, value, **given)

    monkeypatch.setattr(api.documents, "put", race)
    assert http.put("/v1/rules", json={"text": BLOCK}).json()["version"] == 2


def test_applying_and_reading_rules_need_their_scopes(api: ApiWorld) -> None:
    for scope, read in ((Scope.SUBMIT, 403), (Scope.DECIDE, 200), (Scope.OPERATE, 200)):
        http = api.http(api.token(scope))
        assert http.get("/v1/rules").status_code == read
        assert http.put("/v1/rules", json={"text": BLOCK}).status_code == 403
        assert http.put("/v1/rules?dry_run=true", json={"text": BLOCK}).status_code == read
