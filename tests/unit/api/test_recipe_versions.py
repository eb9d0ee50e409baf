"""Recipes over HTTP after they were saved: versions, what changed since a review, reviewing again, the trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import entries
from tests.support.factories import ANA, LEA
from tests.support.recipes import REFUNDING, SOURCE, envelope, problems
from vardy_api.operations.recipes import SAVE_TRIES
from vardy_worker.contracts.audit import SETTINGS, AuditState
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.ports import Document


# --- versions and their difference ---------------------------------------------------------------------------


def test_each_version_can_be_read(http: httpx.Client) -> None:
    for text in ("one", "two"):
        http.put("/v1/recipes/a", json={"source": SOURCE, "description": text})
    assert http.get("/v1/recipes/a/versions/1").json()["description"] == "one"
    assert http.get("/v1/recipes/a/versions/2").json()["description"] == "two"
    answer = http.get("/v1/recipes/a/versions/3")
    assert (answer.status_code, answer.json()["code"]) == (404, "recipe.not_found")
    assert answer.json()["details"] == {"recipe": "a", "version": 3, "newest": 2}
    assert http.get("/v1/recipes/a/versions/0").status_code == 422
    assert http.get("/v1/recipes/b/versions/1").status_code == 404


def test_the_difference_of_two_versions_names_fields_and_lines(http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": "lea"})
    changed = SOURCE.replace("list_payments()", "list_payments({})")
    http.put("/v1/recipes/a", json={"source": changed, "description": "New.", "reviewed_by": "lea"})
    told = http.get("/v1/recipes/a/difference").json()
    assert (told["name"], told["before"], told["after"]) == ("a", 1, 2)
    assert told["fields"] == [{"field": "description", "before": "", "after": "New."}]
    assert told["source"].splitlines()[:2] == ["--- a version 1", "+++ a version 2"]
    assert "-  return await list_payments();\n+  return await list_payments({});" in told["source"]


def test_a_lost_line_end_is_a_difference(http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    http.put("/v1/recipes/a", json={"source": SOURCE.rstrip("\n")})
    assert http.get("/v1/recipes/a/difference").json()["source"] != ""


def test_any_two_versions_can_be_compared(http: httpx.Client) -> None:
    for text in ("one", "two", "three"):
        http.put("/v1/recipes/a", json={"source": SOURCE, "description": text})
    back = http.get("/v1/recipes/a/difference?from=3&to=1").json()
    assert back["fields"] == [{"field": "description", "before": "three", "after": "one"}]
    assert http.get("/v1/recipes/a/difference?to=2").json()["before"] == 1
    same = http.get("/v1/recipes/a/difference?from=2&to=2").json()
    assert (same["fields"], same["source"]) == ([], "")
    for query in ("to=1", "from=9", "to=4"):
        assert http.get(f"/v1/recipes/a/difference?{query}").json()["code"] == "recipe.not_found"


# --- what changed since a review, and reviewing again --------------------------------------------------------


def test_a_recipe_whose_functions_are_the_same_needs_no_review(http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    shown = http.get("/v1/recipes/a").json()
    assert (shown["needs_review"], shown["changes"]) == (False, [])


def test_a_changed_function_marks_the_recipe_and_says_what_changed(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    http.put("/v1/recipes/b", json={"source": "async function run() {\n  return 1;\n}\n"})
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    api.change_function("list_payments", input_schema=schema)
    (change,) = http.get("/v1/recipes/a").json()["changes"]
    assert change == {
        "function": "list_payments",
        "change": "argument_added",
        "message": "The argument `days` is new, and required.",
        "at": "/input_schema/properties/days",
        "before": None,
        "after": {"type": "integer"},
    }
    listed = {item["name"]: item["needs_review"] for item in http.get("/v1/recipes").json()["items"]}
    assert listed == {"a": True, "b": False}
    assert http.get("/v1/recipes/a/versions").json()["items"][0]["needs_review"] is True


def test_a_function_that_is_gone_marks_the_recipe(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    api.forget_function("list_payments")
    (change,) = http.get("/v1/recipes/a").json()["changes"]
    assert (change["change"], change["function"]) == ("gone", "list_payments")


def test_each_version_of_a_function_is_kept_once(api: ApiWorld, http: httpx.Client) -> None:
    for name in ("a", "b"):
        http.put(f"/v1/recipes/{name}", json={"source": SOURCE})
    api.change_function("list_payments", retries=3)
    http.post("/v1/recipes/a/review", json={})
    kept = {document.name: document.version for document in api.documents.all("function_versions")}
    assert kept == {"list_payments:v1": 1, "list_payments:v1-changed": 1}


def test_a_review_pins_the_same_program_to_the_functions_as_they_are_now(api: ApiWorld, http: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"payments": {"type": "array"}}}
    body = {"source": REFUNDING, "description": "Refunds.", "params_schema": schema, "envelope": envelope()}
    first = http.put("/v1/recipes/a", json={**body, "reviewed_by": "lea"}).json()
    api.change_function("refund_payment", idempotent=True)
    assert http.get("/v1/recipes/a").json()["needs_review"] is True
    api.clock.forward(60)
    second = http.post("/v1/recipes/a/review", json={"reviewed_by": "leo", "expect_version": 1}).json()
    assert second["functions"] == {"list_payments": "v1", "refund_payment": "v1-changed"}
    assert (second["version"], second["reviewed_by"], second["needs_review"]) == (2, "leo", False)
    assert second["reviewed_at"] > first["reviewed_at"]
    kept = ("source", "description", "params_schema", "envelope", "judge", "from_job")
    assert {name: second[name] for name in kept} == {name: first[name] for name in kept}
    assert http.get("/v1/recipes/a").json()["needs_review"] is False
    fields = [each["field"] for each in http.get("/v1/recipes/a/difference").json()["fields"]]
    assert fields == ["functions", "reviewed_by"]


def test_a_review_of_what_did_not_change_is_a_new_version_all_the_same(http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    assert http.post("/v1/recipes/a/review", json={}).json()["version"] == 2


def test_a_review_changes_the_envelope_only_where_one_is_given(http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": envelope(3), "reviewed_by": "lea"})
    kept = http.post("/v1/recipes/a/review", json={"description": "Mended.", "reviewed_by": "lea"}).json()
    assert (kept["description"], kept["envelope"]["functions"]["refund_payment"]["effects_max"]) == ("Mended.", 3)
    wider = http.post("/v1/recipes/a/review", json={"envelope": envelope(9), "reviewed_by": "lea"}).json()
    assert wider["envelope"]["functions"]["refund_payment"]["effects_max"] == 9
    removed = http.post("/v1/recipes/a/review", json={"envelope": None}).json()
    assert (removed["description"], removed["envelope"]) == ("Mended.", None)


def test_an_envelope_is_the_word_of_a_person_and_not_of_a_key(api: ApiWorld, http: httpx.Client) -> None:
    body = {"source": REFUNDING, "envelope": envelope()}
    http.put("/v1/recipes/a", json={**body, "reviewed_by": "lea"})
    for answer in (http.put("/v1/recipes/b", json=body), http.post("/v1/recipes/a/review", json={})):
        assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
        [problem] = answer.json()["details"]["problems"]
        assert (problem["at"], "Say who reviewed it" in problem["message"]) == ("/reviewed_by", True)
    assert http.put("/v1/recipes/b?dry_run=true", json=body).status_code == 200
    bound = api.http(api.token(Scope.OPERATE, person=LEA))
    assert bound.put("/v1/recipes/b", json=body).json()["reviewed_by"] == LEA.id


def test_a_program_that_no_longer_validates_passes_no_review(api: ApiWorld, http: httpx.Client) -> None:
    bounded = envelope(payment_id={"min": 1})
    http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": bounded, "reviewed_by": "lea"})
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}
    api.change_function("refund_payment", input_schema=schema)
    found = problems(http.post("/v1/recipes/a/review", json={}))
    assert {at for at, _ in found} == {"/source", "/envelope/functions/refund_payment/arguments/payment_id"}
    assert http.get("/v1/recipes/a").json()["version"] == 1


def test_a_review_is_of_the_version_that_was_seen_and_needs_its_scope(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    http.post("/v1/recipes/a/review", json={})
    stale = http.post("/v1/recipes/a/review", json={"expect_version": 1})
    assert (stale.status_code, stale.json()["code"]) == (409, "recipe.conflict")
    assert http.post("/v1/recipes/b/review", json={}).json()["code"] == "recipe.not_found"
    weak = api.http(api.token(Scope.SUBMIT, Scope.READ))
    assert weak.post("/v1/recipes/a/review", json={}).status_code == 403


def test_a_bound_key_signs_a_review_too(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    bound = api.http(api.token(Scope.OPERATE, person=LEA))
    assert bound.post("/v1/recipes/a/review", json={"reviewed_by": "bob"}).json()["reviewed_by"] == "lea"


def test_many_recipes_of_one_changed_function_read_it_once(api: ApiWorld, http: httpx.Client) -> None:
    for number in range(20):
        http.put(f"/v1/recipes/r{number}", json={"source": SOURCE})
    api.change_function("list_payments", retries=3)
    reads: list[str] = []
    get = api.documents.get

    def counted(collection: str, name: str) -> Document | None:
        reads.append(collection)
        return get(collection, name)

    api.documents.get = counted  # type: ignore[method-assign] # counts the reads of the real store
    listed = http.get("/v1/recipes").json()["items"]
    assert [item["needs_review"] for item in listed] == [True] * 20
    assert reads.count("function_versions") == 1


def overtaken(api: ApiWorld, *bodies: dict[str, Any]) -> None:
    """Lets somebody else save one of these right before each try of the test's own."""
    put, others = api.documents.put, list(bodies)

    def late(collection: str, name: str, value: JsonObject, **options: Any) -> Document | None:
        if collection == "recipes" and others:
            theirs = others.pop(0)
            api.documents.put = put  # type: ignore[method-assign] # the other one is in time
            assert api.http().put(f"/v1/recipes/{name}", json=theirs).status_code == 200
            api.documents.put = late  # type: ignore[method-assign] # as below
        return put(collection, name, value, **options)

    api.documents.put = late  # type: ignore[method-assign] # the real store, a moment later


def test_a_save_that_is_overtaken_comes_after_the_other(api: ApiWorld, http: httpx.Client) -> None:
    overtaken(api, {"source": SOURCE, "description": "theirs"})
    saved = http.put("/v1/recipes/a", json={"source": SOURCE, "description": "mine"}).json()
    assert (saved["version"], saved["description"]) == (2, "mine")
    versions = http.get("/v1/recipes/a/versions").json()["items"]
    assert [item["description"] for item in versions] == ["theirs", "mine"]


def test_a_save_that_is_overtaken_by_the_same_content_stores_nothing(api: ApiWorld, http: httpx.Client) -> None:
    overtaken(api, {"source": SOURCE})
    saved = http.put("/v1/recipes/a", json={"source": SOURCE}).json()
    assert (saved["version"], saved["changed"]) == (1, False)


@pytest.mark.parametrize("expected", [{"expect_version": 0}, {}])
def test_a_save_over_a_known_version_that_is_overtaken_is_a_conflict(
    api: ApiWorld, http: httpx.Client, expected: dict[str, Any]
) -> None:
    theirs = [{"source": SOURCE, "description": str(number)} for number in range(SAVE_TRIES)]
    overtaken(api, *(theirs if not expected else theirs[:1]))
    answer = http.put("/v1/recipes/a", json={"source": SOURCE, "description": "mine", **expected})
    assert (answer.status_code, answer.json()["code"]) == (409, "recipe.conflict")


def test_a_review_that_is_overtaken_is_a_conflict(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    overtaken(api, {"source": SOURCE, "description": "theirs"})
    answer = http.post("/v1/recipes/a/review", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "recipe.conflict")
    assert http.get("/v1/recipes/a").json()["description"] == "theirs"


# --- what the trail has --------------------------------------------------------------------------------------


def test_the_trail_says_who_reviewed_which_content_also_after_deletion(api: ApiWorld, http: httpx.Client) -> None:
    begin = len(entries(api.trail, SETTINGS))
    http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": "lea"})
    http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": "leo"})
    http.post("/v1/recipes/a/review", json={"reviewed_by": "leo", "description": "Mended."})
    http.delete("/v1/recipes/a")
    saved, reviewed, deleted = entries(api.trail, SETTINGS)[begin:]
    assert [each.action for each in (saved, reviewed, deleted)] == ["recipe.saved", "recipe.reviewed", "recipe.deleted"]
    assert {each.digest for each in (saved, reviewed, deleted)} == {sha256_text(SOURCE)}
    assert [each.details["reviewed_by"] for each in (saved, reviewed, deleted)] == ["lea", "leo", "leo"]
    contents = [each.details["recipe_sha256"] for each in (saved, reviewed, deleted)]
    assert contents[0] != contents[1] == contents[2]
    assert (deleted.before, deleted.after) == (AuditState(version=2), AuditState(version=0))
    assert SOURCE not in str(entries(api.trail, SETTINGS))


def test_a_job_that_waits_keeps_the_recipe_that_was_deleted(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    submitted = http.post("/v1/run", json={"recipe": "a", "user": ANA.model_dump()}).json()
    http.delete("/v1/recipes/a")
    record = api.store.get(submitted["id"])
    assert record is not None
    assert record.recipe is not None
    assert (record.recipe.source, record.recipe.version) == (SOURCE, 1)
    assert http.post("/v1/run", json={"recipe": "a", "user": ANA.model_dump()}).status_code == 404


def test_what_was_deleted_and_saved_anew_is_not_taken_for_what_was_looked_at(http: httpx.Client) -> None:
    seen = http.put("/v1/recipes/a", json={"source": SOURCE}).json()
    assert http.get("/v1/recipes/a/versions/1").json()["sha256"] == seen["sha256"]
    http.delete("/v1/recipes/a")
    other = http.put("/v1/recipes/a", json={"source": REFUNDING}).json()
    assert (other["version"], other["sha256"] == seen["sha256"]) == (seen["version"], False)
    expected = {"expect_version": seen["version"], "expect_sha256": seen["sha256"]}
    for answer in (
        http.post("/v1/recipes/a/review", json={"reviewed_by": "lea", **expected}),
        http.post("/v1/recipes/a/review?dry_run=true", json={"reviewed_by": "lea", **expected}),
        http.put("/v1/recipes/a", json={"source": SOURCE, **expected}),
        http.put("/v1/recipes/b", json={"source": SOURCE, "expect_sha256": seen["sha256"]}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "recipe.conflict")
    expected["expect_sha256"] = other["sha256"]
    assert http.post("/v1/recipes/a/review", json={"reviewed_by": "lea", **expected}).json()["version"] == 2


def test_the_audit_trail_has_the_digest_that_is_shown(api: ApiWorld, http: httpx.Client) -> None:
    shown = http.put("/v1/recipes/a", json={"source": SOURCE}).json()["sha256"]
    assert entries(api.trail, SETTINGS)[-1].details["recipe_sha256"] == shown
