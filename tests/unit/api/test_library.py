"""Functions, rules and prompts over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import PAYMENTS, REFUND, SALARIES
from tests.support.factories import ANA, LEA
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.user import Scope, User
from vardy_worker.documents import CURRENT, RULES, publish_catalogue

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.ports import Document

BLOCK = "default: block\n"
EARNED = SALARIES.model_copy(update={"declaration": "declare function list_salaries(): Promise<Salary[]>;"})


# --- functions and prompts ---------------------------------------------------------------------------------------


def test_the_catalogue_is_what_a_worker_published(api: ApiWorld, http: httpx.Client) -> None:
    names = [spec["name"] for spec in http.get("/v1/functions").json()["functions"]]
    assert names == ["list_payments", "list_salaries", "refund_payment"]
    api.forget_function("list_salaries")
    assert len(http.get("/v1/functions").json()["functions"]) == 2


def names_of(answer: httpx.Response) -> list[str]:
    return [spec["name"] for spec in answer.json()["functions"]]


def test_a_bound_key_sees_the_functions_of_its_person_alone(api: ApiWorld) -> None:
    types = {"Salary": "type Salary = {cents: number};"}
    publish_catalogue(api.documents, Catalogue(functions=(PAYMENTS, EARNED, REFUND), types=types))
    http = api.http(api.token(Scope.SUBMIT, person=ANA))
    assert names_of(http.get("/v1/functions")) == ["list_payments", "refund_payment"]
    assert "alar" not in http.get("/v1/functions").text
    assert "alar" not in http.get("/v1/functions", params={"role": "hr"}).text
    clerk = User(id="hal", roles=("hr",))
    found = api.http(api.token(Scope.SUBMIT, person=clerk)).get("/v1/functions")
    assert names_of(found) == ["list_payments", "list_salaries", "refund_payment"]
    assert found.json()["types"] == types


def test_a_key_that_names_its_users_sees_all_functions_or_those_of_roles(http: httpx.Client) -> None:
    assert len(names_of(http.get("/v1/functions"))) == 3
    assert names_of(http.get("/v1/functions?role=support")) == ["list_payments", "refund_payment"]
    assert len(names_of(http.get("/v1/functions?role=support&role=hr"))) == 3


@pytest.mark.parametrize("roles", [(), ("hr",), ("support", "hr")])
def test_functions_prompts_and_checks_agree_on_what_a_person_may_use(api: ApiWorld, roles: tuple[str, ...]) -> None:
    publish_catalogue(api.documents, Catalogue(functions=(PAYMENTS, EARNED, REFUND)))
    http = api.http(api.token(Scope.SUBMIT, person=User(id="hal", roles=roles)))
    listed = "list_salaries" in names_of(http.get("/v1/functions"))
    prompt = http.post("/v1/prompts", json={"request": "how much do they earn?"}).text
    program = "async function run() {\n  return await list_salaries();\n}\n"
    checked = http.post("/v1/programs/check", json={"source": program}).json()
    assert listed == ("list_salaries" in prompt) == checked["ok"] == ("hr" in roles)


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
