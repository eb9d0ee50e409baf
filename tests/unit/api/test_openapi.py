"""The description of the API is complete, and its examples are true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.support.factories import LEA
from vardy_api.http import examples
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.support.api import ApiWorld


@pytest.fixture
def document(http: httpx.Client) -> dict[str, Any]:
    described: dict[str, Any] = http.get("/openapi.json").json()
    return described


def routes(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            yield method.upper(), path, route


def check(document: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": document["components"]}
    jsonschema.Draft202012Validator(whole).validate(value)


def test_every_route_says_what_it_does_and_answers(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    names = [route["operationId"] for _, _, route in routes(document)]
    assert len(set(names)) == len(names)
    for method, path, route in routes(document):
        name = f"{method} {path}"
        assert route["summary"], name
        assert route["description"].endswith("."), name
        success = [status for status in route["responses"] if status.startswith("2")]
        assert success, name
        if path.startswith("/v1"):
            assert route["security"], name
            assert {"401", "403", "500", "503"} <= route["responses"].keys(), name


def test_every_error_answer_is_a_problem_with_examples_that_validate(document: dict[str, Any]) -> None:
    for _, path, route in routes(document):
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
    seen = 0
    for _, _, route in routes(document):
        content = route.get("requestBody", {}).get("content", {}).get("application/json", {})
        for example in content.get("examples", {}).values():
            check(document, content["schema"], example["value"])
            seen += 1
    assert seen == sum(
        len(group)
        for group in (
            examples.RUN, examples.EXPLORE, examples.DECISION, examples.RESOLVE, examples.RECIPE, examples.PROGRAM,
            examples.RECIPE_REVIEW, examples.RULES, examples.RULES_TEST, examples.PROMPT, examples.KEY,
            examples.KEY_CHANGE, examples.KEY_ROTATION,
        )
    )  # fmt: skip


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
    for method, path, route in routes(document):
        if method == "GET" and path not in {"/metrics", "/v1/audit/export", "/v1/jobs/{job_id}/events"}:
            answer = http.get(asked.get(path, path))
            assert answer.status_code == 200, path
            check(document, route["responses"]["200"]["content"]["application/json"]["schema"], answer.json())


def test_the_documentation_lists_every_route(document: dict[str, Any]) -> None:
    text = (Path(__file__).parents[3] / "docs" / "http.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `") and "/" in line.split("`")[1]}
    assert listed == {f"{method} {path}" for method, path, _ in routes(document)}


def test_the_reference_for_people_names_every_route_and_loads_nothing(
    http: httpx.Client, document: dict[str, Any]
) -> None:
    page = http.get("/docs").text
    assert all(f"{method} {path}" in page for method, path, _ in routes(document))
    assert "<script" not in page
    assert "src=" not in page
