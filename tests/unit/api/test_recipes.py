"""Recipes over HTTP as they are saved, from programs and from jobs, with envelopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import entries
from tests.support.factories import LEA, effect
from tests.support.recipes import REFUNDING, SOURCE, envelope, problems
from vardy_worker.contracts.audit import SETTINGS
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld

OBJECT = {"type": "object"}
PARAMS = "/params_schema"
MAIL = "async function run() {\n  return await classify(['a'], ['x', 'y']);\n}\n"


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
        ({"description": "x" * 32_800}, "has 32"),
        ({"items": {"type": [{"a": number} for number in range(2500)]}}, "is no JSON Schema (2020-12): a `type` has"),
        ({"properties": ["x" * 20_000]}, "is no JSON Schema (2020-12): ["),
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
        (
            envelope(payment_id={"min": -9, "sum_max": -5}),
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
    body = {"source": REFUNDING, "envelope": given, "reviewed_by": "lea"}
    shown = http.put("/v1/recipes/a", json=body).json()["envelope"]
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
