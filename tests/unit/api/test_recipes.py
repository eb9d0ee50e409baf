"""Recipes over HTTP: saving, versions, what changed since a review, reviewing again, envelopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import entries
from tests.support.factories import ANA, LEA, effect
from vardy_api.operations.recipes import SAVE_TRIES
from vardy_worker.contracts.audit import SETTINGS, AuditState
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.ports import Document

SOURCE = "async function run(params) {\n  return await list_payments();\n}\n"
REFUNDING = """\
async function run(params) {
  const known = await list_payments();
  for (const each of params.payments) await refund_payment({payment_id: each});
  return known.length;
}
"""
OBJECT = {"type": "object"}
PARAMS = "/params_schema"
MAIL = "async function run() {\n  return await classify(['a'], ['x', 'y']);\n}\n"


def envelope(effects_max: int = 5, function: str = "refund_payment", **arguments: Any) -> dict[str, Any]:
    return {"functions": {function: {"effects_max": effects_max, "arguments": arguments}}}


def problems(answer: httpx.Response) -> list[tuple[str, str]]:
    assert (answer.status_code, answer.json()["code"]) == (422, "recipe.invalid"), answer.text
    return [(each["at"], each["message"]) for each in answer.json()["details"]["problems"]]


# --- saving --------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"properties": {"a": {"$ref": "#/type"}}}, "refers to #/type,"),
        ({"properties": {"a": {"$ref": "#/required/0"}}, "required": ["a"]}, "refers to #/required/0,"),
        ({"properties": {"type": {"$ref": "#/properties"}}}, "refers to #/properties,"),
        ({"enum": [{}], "properties": {"a": {"$ref": "#/enum/0"}}}, "refers to #/enum/0,"),
        ({"x-more": {}, "items": {"not": {"$ref": "#/x-more"}}}, "refers to #/x-more,"),
        ({"prefixItems": [{}, {"$dynamicRef": "#/prefixItems/2"}]}, "refers to #/prefixItems/2,"),
        ({"properties": {"a": {"$id": "urn:a", "$ref": "#/properties/a"}}}, "has an `$id` at /properties/a;"),
        ({"properties": ["x" * 20_000]}, "is not a JSON Schema (2020-12): ["),
    ],
)
def test_a_schema_that_a_run_could_not_follow_is_refused_when_it_is_saved(
    http: httpx.Client, fields: dict[str, Any], told: str
) -> None:
    [(at, message)] = problems(
        http.put("/v1/recipes/a", json={"source": SOURCE, "params_schema": {**OBJECT, **fields}})
    )
    assert at == PARAMS
    assert message.startswith(f"params_schema {told}")
    assert len(message) < 400


@pytest.mark.parametrize(
    "fields",
    [
        {"enum": [{"$ref": "elsewhere"}], "default": {"$ref": "#/no", "$id": "a"}},
        {"$id": "https://example.org/s", "properties": {"a": {"$ref": "#/properties/b"}, "b": {}}},
        {"prefixItems": [{}, {"$ref": "#/prefixItems/0"}], "then": {"items": False}, "not": {"$ref": "#/then/items"}},
        {"$defs": {"ä b": {}}, "properties": {"a": {"$ref": "#/$defs/%C3%A4%20b"}}},
    ],
)
def test_a_schema_may_refer_to_any_part_that_is_a_schema(http: httpx.Client, fields: dict[str, Any]) -> None:
    body = {"source": SOURCE, "params_schema": {**OBJECT, **fields}}
    assert http.put("/v1/recipes/a", json=body).status_code == 200


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
    [problem] = answer.json()["details"]["problems"]
    assert (problem["at"], problem["limit"], problem["value"]) == ("/source", "program_bytes_max", len(source))


def test_a_recipe_is_saved_only_over_the_version_that_was_seen(http: httpx.Client) -> None:
    assert http.put("/v1/recipes/a", json={"source": SOURCE, "expect_version": 0}).status_code == 200
    answer = http.put("/v1/recipes/a", json={"source": SOURCE, "expect_version": 0})
    assert (answer.status_code, answer.json()["code"]) == (409, "recipe.conflict")
    assert answer.json()["detail"] == "There is a recipe a already; look at it, or take another name."
    changed = {"source": SOURCE, "description": "Another.", "expect_version": 1}
    assert http.put("/v1/recipes/a", json=changed).json()["version"] == 2
    stale = http.put("/v1/recipes/a", json=changed | {"description": "A third."}).json()
    assert stale["detail"] == "The recipe a is not at version 1 any more; look at it again."


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


def test_the_same_content_makes_no_new_version(http: httpx.Client) -> None:
    first = http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": "lea"}).json()
    again = http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": "leo"}).json()
    assert (first["version"], first["changed"]) == (1, True)
    assert (again["version"], again["changed"], again["reviewed_by"]) == (1, False, "lea")
    assert len(http.get("/v1/recipes/a/versions").json()["items"]) == 1
    assert http.put("/v1/recipes/a", json={"source": SOURCE, "expect_version": 4}).status_code == 409


def test_the_same_content_over_a_changed_function_is_a_new_version(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    api.change_function("list_payments", retries=2)
    again = http.put("/v1/recipes/a", json={"source": SOURCE}).json()
    assert (again["version"], again["functions"]) == (2, {"list_payments": "v1-changed"})


def test_a_dry_run_shows_what_would_be_stored_and_needs_no_scope(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    weak = api.http(api.token(Scope.READ))
    trail = len(entries(api.trail, SETTINGS))
    shown = weak.put("/v1/recipes/a?dry_run=true", json={"source": REFUNDING}).json()
    assert (shown["version"], shown["changed"], shown["dry_run"]) == (2, True, True)
    same = weak.put("/v1/recipes/a?dry_run=true", json={"source": SOURCE}).json()
    assert (same["version"], same["changed"], same["dry_run"]) == (1, False, True)
    reviewed = weak.post("/v1/recipes/a/review?dry_run=true", json={}).json()
    assert (reviewed["version"], reviewed["dry_run"]) == (2, True)
    assert http.get("/v1/recipes/a").json()["version"] == 1
    assert len(entries(api.trail, SETTINGS)) == trail


def test_everything_that_is_wrong_is_told_at_once(http: httpx.Client) -> None:
    source = "async function run() {\n  await lst_payments();\n  return await refund_payment({payment: 1});\n}\n"
    body = {
        "source": source,
        "params_schema": {"type": "string"},
        "envelope": envelope(payment_idd={"min": 1}),
        "functions": {"refund_payment": "v0"},
    }
    found = problems(http.put("/v1/recipes/a", json=body))
    assert [at for at, _ in found] == [
        "/source",
        "/source",
        "/source",
        "/params_schema",
        "/envelope/functions/refund_payment/arguments/payment_idd",
        "/functions/refund_payment",
    ]
    assert "did you mean `payment_id`?" in found[4][1]
    assert "has version v1 now; the recipe was reviewed against v0" in found[5][1]


@pytest.mark.parametrize(
    ("given", "at", "message"),
    [
        ({"functions": {}}, "/envelope/functions", "names no write function; there are `refund_payment`"),
        (envelope(function="refund_paymnt"), "/envelope/functions/refund_paymnt", "did you mean `refund_payment`?"),
        (envelope(function="list_payments"), "/envelope/functions/list_payments", "is a read function"),
        (envelope(note={"max": 1}), "/envelope/functions/refund_payment/arguments/note", "is no number"),
        (
            envelope(payment_id={}),
            "/envelope/functions/refund_payment/arguments/payment_id",
            "give `min`, `max` or `sum_max`",
        ),
        (
            envelope(payment_id={"min": "2.01", "max": 2}),
            "/envelope/functions/refund_payment/arguments/payment_id/min",
            "`min` is above `max`",
        ),
        (
            envelope(payment_id={"min": 5, "sum_max": 4}),
            "/envelope/functions/refund_payment/arguments/payment_id/sum_max",
            "below what a single effect may have",
        ),
    ],
)
def test_an_envelope_that_does_not_fit_the_program_is_refused_with_the_place(
    api: ApiWorld, http: httpx.Client, given: dict[str, Any], at: str, message: str
) -> None:
    schema = {
        "type": "object",
        "properties": {"payment_id": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["payment_id"],
        "additionalProperties": False,
    }
    api.change_function("refund_payment", input_schema=schema)
    [problem] = problems(http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": given}))
    assert problem[0] == at
    assert message in problem[1]


@pytest.mark.parametrize("bound", ["x", True, [1], "1_000", "0x10", None])
def test_a_bound_that_is_no_number_is_refused_before_anything_else(http: httpx.Client, bound: object) -> None:
    given = envelope(payment_id={"max": bound} if bound is not None else {"most": 1})
    answer = http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": given})
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    at = answer.json()["details"]["problems"][0]["at"]
    assert at.startswith("/envelope/functions/refund_payment/arguments/payment_id/")


def test_bounds_are_shown_as_they_were_written(http: httpx.Client) -> None:
    given = envelope(payment_id={"min": 1, "max": "10.50", "sum_max": 2**60})
    shown = http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": given}).json()["envelope"]
    bounds = {"min": 1, "max": "10.50", "sum_max": str(2**60)}
    assert shown == {
        "effects_max": None,
        "functions": {"refund_payment": {"effects_max": 5, "arguments": {"payment_id": bounds}}},
    }
    assert http.get("/v1/recipes/a").json()["envelope"] == shown


def test_an_envelope_is_made_from_what_a_job_of_the_same_program_did(api: ApiWorld, http: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"payment_id": {"type": "integer"}, "cents": {"type": "integer"}}}
    api.change_function("refund_payment", input_schema=schema)
    effects = (effect(0, args={"payment_id": 7, "cents": 300}), effect(1, args={"payment_id": 8, "cents": 500}))
    job = api.job(Status.PENDING_APPROVAL, effects=effects)
    body = {"from_job": job.id, "envelope_from_job": job.id}
    assert (
        problems(http.put("/v1/recipes/a", json=body))[0][1]
        == "The program does not call `refund_payment`; there are none."
    )
    source = "async function run(params) {\n  await refund_payment(params);\n  return 1;\n}\n"
    assert job.program is not None
    ran = job.program.model_copy(update={"source": source, "sha256": sha256_text(source)})
    job = api.job(Status.PENDING_APPROVAL, effects=effects, program=ran)
    body = {"source": source, "envelope_from_job": job.id}
    shown = http.put("/v1/recipes/a?dry_run=true", json=body).json()["envelope"]
    assert shown == {
        "effects_max": 2,
        "functions": {
            "refund_payment": {"effects_max": 2, "arguments": {"cents": {"min": 300, "max": 500, "sum_max": 800}}}
        },
    }


def test_an_envelope_is_not_made_from_another_program_or_a_job_without_a_plan(
    api: ApiWorld, http: httpx.Client
) -> None:
    planned, queued = api.job(Status.PENDING_APPROVAL), api.job()
    for job, code in ((planned.id, "request.invalid"), (queued.id, "plan.none"), ("job_1", "job.not_found")):
        answer = http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope_from_job": job})
        assert answer.json()["code"] == code
    both = {"source": REFUNDING, "envelope": envelope(), "envelope_from_job": planned.id}
    assert http.put("/v1/recipes/a", json=both).json()["details"]["problems"][0]["at"] == "/envelope_from_job"


def test_a_job_that_is_not_visible_gives_no_envelope(api: ApiWorld) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    other = api.http(api.token(Scope.SUBMIT, owner="other"))
    answer = other.put("/v1/recipes/a?dry_run=true", json={"source": REFUNDING, "envelope_from_job": job.id})
    assert answer.json()["code"] == "job.not_found"


def test_a_program_that_classifies_needs_the_judge_of_the_recipe(http: httpx.Client) -> None:
    answer = http.put("/v1/recipes/a", json={"source": MAIL})
    [problem] = answer.json()["details"]["problems"]
    assert (problem["code"], problem["line"]) == ("program.judge_off", 2)
    assert "`judge`" in problem["hint"]
    assert http.put("/v1/recipes/a", json={"source": MAIL, "judge": True}).json()["judge"] is True


@pytest.mark.parametrize("name", ["vardy", "VARDY_RULES", "bootstrap"])
def test_nobody_reviews_in_the_name_of_vardy_itself(http: httpx.Client, name: str) -> None:
    answer = http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": name})
    assert (answer.status_code, answer.json()["details"]["problems"][0]["at"]) == (422, "/reviewed_by")


@pytest.mark.parametrize("name", ["lea ", " lea", "lea\u200b", "le\u0430\n", "lea  smith", " "])
def test_nobody_reviews_under_a_name_that_looks_like_that_of_somebody_else(http: httpx.Client, name: str) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    for answer in (
        http.put("/v1/recipes/a", json={"source": SOURCE, "reviewed_by": name}),
        http.post("/v1/recipes/a/review", json={"reviewed_by": name}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
        assert answer.json()["details"]["problems"][0]["at"] == "/reviewed_by"


@pytest.mark.parametrize("count", [True, "5", 5.0])
def test_a_number_of_effects_is_a_whole_number_and_nothing_that_could_be_one(http: httpx.Client, count: object) -> None:
    given: dict[str, Any] = {"functions": {"refund_payment": {"effects_max": count}}, "effects_max": count}
    answer = http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": given})
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    at = {problem["at"] for problem in answer.json()["details"]["problems"]}
    assert at == {"/envelope/effects_max", "/envelope/functions/refund_payment/effects_max"}


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
    http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": envelope(3)})
    kept = http.post("/v1/recipes/a/review", json={"description": "Mended."}).json()
    assert (kept["description"], kept["envelope"]["functions"]["refund_payment"]["effects_max"]) == ("Mended.", 3)
    wider = http.post("/v1/recipes/a/review", json={"envelope": envelope(9)}).json()
    assert wider["envelope"]["functions"]["refund_payment"]["effects_max"] == 9
    removed = http.post("/v1/recipes/a/review", json={"envelope": None}).json()
    assert (removed["description"], removed["envelope"]) == ("Mended.", None)


def test_a_program_that_no_longer_validates_passes_no_review(api: ApiWorld, http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": REFUNDING, "envelope": envelope(payment_id={"min": 1})})
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
