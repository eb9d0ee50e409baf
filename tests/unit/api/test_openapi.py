"""The description of the API is complete, and its examples are true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openapi_spec_validator import validate

from tests.support.api import ApiWorld
from tests.support.factories import ANA, LEA
from tests.support.openapi import check, operations
from vardy_api.http import examples
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status, is_settled
from vardy_worker.contracts.view import JobView

if TYPE_CHECKING:
    import httpx

    from tests.support.api import LoopThread


@pytest.fixture(scope="module")
def document(loop_thread: LoopThread) -> dict[str, Any]:
    described: dict[str, Any] = ApiWorld(loop_thread).http("").get("/openapi.json").json()
    return described


def test_every_route_says_what_it_does_and_answers(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    names = [route["operationId"] for _, _, route in operations(document)]
    assert len(set(names)) == len(names)
    for method, path, route in operations(document):
        name = f"{method} {path}"
        assert route["summary"], name
        assert route["description"].endswith("."), name
        success = [status for status in route["responses"] if status.startswith("2")]
        assert success, name
        if path.startswith("/v1"):
            assert route["security"], name
            assert {"401", "403", "500", "503"} <= route["responses"].keys(), name


def test_the_document_is_openapi_3_1(document: dict[str, Any]) -> None:
    validate(document)


def test_every_operation_has_a_described_tag_and_a_name_of_its_own(document: dict[str, Any]) -> None:
    tags = {tag["name"] for tag in document["tags"] if tag["description"].endswith(".")}
    assert {tag for _, _, route in operations(document) for tag in route["tags"]} == tags
    for _, _, route in operations(document):
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", route["operationId"])


def test_every_body_and_every_answer_has_an_example_that_fits(document: dict[str, Any]) -> None:
    for method, path, route in operations(document):
        for status, answer in route["responses"].items():
            kinds = answer.get("content", {})
            content = kinds.get("application/json") or kinds.get("text/event-stream")
            if content is not None and status < "4":
                assert content["example"], f"{method} {path} {status}"
                check(document, content["schema"], content["example"])
        if "requestBody" in route:
            assert route["requestBody"]["content"]["application/json"]["examples"], f"{method} {path}"


def test_an_example_says_what_its_status_means(document: dict[str, Any]) -> None:
    for _, path, route in operations(document):
        for answer in route["responses"].values():
            example = answer.get("content", {}).get("application/json", {}).get("example", {})
            if "timings_ms" in example:
                shown = JobView.model_validate(example)
                assert shown.settled == is_settled(shown.status), path
                counts = shown.plan.counts.model_dump() if shown.plan else {"total": 0}
                assert counts.pop("total") == sum(counts.values()), path


def test_every_parameter_and_header_is_described(document: dict[str, Any]) -> None:
    for method, path, route in operations(document):
        for parameter in route.get("parameters", []):
            assert parameter.get("description"), f"{method} {path} {parameter['name']}"
        for answer in route["responses"].values():
            for name, header in answer.get("headers", {}).items():
                assert header["description"].endswith("."), name


def test_every_link_leads_to_an_operation_that_has_its_parameters(document: dict[str, Any]) -> None:
    known = {route["operationId"]: route for _, _, route in operations(document)}
    seen = 0
    for route in known.values():
        for answer in route["responses"].values():
            for link in answer.get("links", {}).values():
                names = {each["name"] for each in known[link["operationId"]]["parameters"]}
                assert link["parameters"].keys() <= names
                seen += 1
    assert seen


def test_every_error_answer_is_a_problem_with_examples_that_validate(document: dict[str, Any]) -> None:
    for _, path, route in operations(document):
        for status, answer in route["responses"].items():
            if status >= "4":
                content = answer["content"]["application/problem+json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Problem"}, path
                for code, example in content["examples"].items():
                    assert example["value"]["code"] == code
                    assert str(example["value"]["status"]) == status
                    check(document, content["schema"], example["value"])


def test_times_are_written_alike_and_numbers_with_their_units(document: dict[str, Any]) -> None:
    as_stored = {"AuditEntry.at_ms"}  # the hash of an entry covers it
    durations = {"JobView.timings_ms"}
    named = {
        f"{name}.{field}": shape
        for name, schema in document["components"]["schemas"].items()
        for field, shape in schema.get("properties", {}).items()
    }
    assert {name for name in named if name.endswith("_ms")} == as_stored | durations
    for name, shape in named.items():
        if name.endswith(("_at", "_until", "trimmed_before", "created_after")):
            kinds = {kind.get("format", kind.get("type")) for kind in shape.get("anyOf", [shape])}
            assert kinds <= {"date-time", "null"}, name


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    def look(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(reference := node.get("$ref"), str):
                assert reference.rpartition("/")[2] in document["components"]["schemas"], reference
            for inner in node.values():
                look(inner)
        elif isinstance(node, list):
            for inner in node:
                look(inner)

    look(document)
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_every_example_of_a_body_validates(document: dict[str, Any]) -> None:
    shown: list[Any] = []
    for _, _, route in operations(document):
        content = route.get("requestBody", {}).get("content", {}).get("application/json", {})
        for example in content.get("examples", {}).values():
            check(document, content["schema"], example["value"])
            shown.append(example["value"])
    assert all(example["value"] in shown for group in examples.BODIES for example in group.values())
    assert len(shown) >= sum(map(len, examples.BODIES))


def test_every_example_of_a_body_does_what_it_says(api: ApiWorld, http: httpx.Client) -> None:
    source = examples.RECIPE["source"]["value"]
    assert http.put("/v1/recipes/overdue-reminder", json=source).status_code == 200
    for example in examples.RUN.values():
        assert http.post("/v1/run", json=example["value"]).status_code == 202
    for example in examples.EXPLORE.values():
        assert http.post("/v1/explore", json=example["value"]).status_code == 202
    for example in examples.DECISION.values():
        job = api.job(Status.PENDING_APPROVAL)
        headers = {"If-Match": f'"{job.digest}"'}
        url = f"/v1/jobs/{job.id}/decisions"
        assert http.post(url, json=example["value"], headers=headers).status_code == 200
    for example in examples.RESOLVE.values():
        job = api.job(Status.PARTIAL, records=(EffectRecord(seq=0, state=EffectState.UNKNOWN),))
        assert http.post(f"/v1/jobs/{job.id}/effects/0/resolve", json=example["value"]).status_code == 200
    assert http.put("/v1/rules", json=examples.RULES["approve"]["value"]).status_code == 200
    checked = {name: http.post("/v1/programs/check", json=one["value"]) for name, one in examples.PROGRAM.items()}
    assert {name: answer.json()["ok"] for name, answer in checked.items()} == {"source": True, "text": False}
    for example in examples.PROMPT.values():
        assert http.post("/v1/prompts", json=example["value"]).status_code == 200
    for example in examples.KEY.values():
        made = http.post("/v1/keys", json=example["value"])
        assert made.status_code == 201
    for example in examples.KEY_CHANGE.values():
        assert http.patch(f"/v1/keys/{made.json()['id']}", json=example["value"]).status_code == 200
    for example in examples.KEY_ROTATION.values():
        assert http.post(f"/v1/keys/{made.json()['id']}/rotate", json=example["value"]).status_code == 200


def test_the_examples_that_name_a_person_or_a_reason_do_what_they_say(api: ApiWorld, http: httpx.Client) -> None:
    for example in examples.PERSON.values():
        answer = api.http(api.token(person=ANA)).post(f"/v1/jobs/{api.job().id}/cancel", json=example["value"])
        assert answer.status_code == 200
    for example in examples.REASON.values():
        assert http.post(f"/v1/jobs/{api.job(Status.PARTIAL).id}/discard", json=example["value"]).status_code == 200


def test_answers_fit_their_schemas(api: ApiWorld, http: httpx.Client, document: dict[str, Any]) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    http.put("/v1/recipes/days", json=examples.RECIPE["source"]["value"])
    http.put("/v1/rules", json={"text": "default: block\n", "user": LEA.model_dump()})
    asked = {
        "/v1/jobs/{job_id}": f"/v1/jobs/{job.id}",
        "/v1/jobs/{job_id}/plan": f"/v1/jobs/{job.id}/plan",
        "/v1/jobs/{job_id}/console": f"/v1/jobs/{job.id}/console",
        "/v1/jobs/{job_id}/journal": f"/v1/jobs/{job.id}/journal",
        "/v1/jobs/{job_id}/attempts": f"/v1/jobs/{job.id}/attempts",
        "/v1/recipes/{name}": "/v1/recipes/days",
        "/v1/recipes/{name}/versions": "/v1/recipes/days/versions",
        "/v1/recipes/{name}/versions/{version}": "/v1/recipes/days/versions/1",
        "/v1/recipes/{name}/difference": "/v1/recipes/days/difference?from=1",
        "/v1/keys/{key_id}": f"/v1/keys/{http.get('/v1/keys').json()['items'][0]['id']}",
        "/problems/{code}": "/problems/internal",
    }
    for method, path, route in operations(document):
        if method == "GET" and path not in {"/metrics", "/v1/audit/export", "/v1/jobs/{job_id}/events"}:
            answer = http.get(asked.get(path, path))
            assert answer.status_code == 200, path
            check(document, route["responses"]["200"]["content"]["application/json"]["schema"], answer.json())


def test_the_documentation_lists_every_route(document: dict[str, Any]) -> None:
    text = (Path(__file__).parents[3] / "docs" / "http.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `") and "/" in line.split("`")[1]}
    assert listed == {f"{method} {path}" for method, path, _ in operations(document)}


def test_the_reference_for_people_names_every_route_and_loads_nothing(
    http: httpx.Client, document: dict[str, Any]
) -> None:
    page = http.get("/docs").text
    assert all(f"{method} {path}" in page for method, path, _ in operations(document))
    assert "<script" not in page
    assert "src=" not in page
