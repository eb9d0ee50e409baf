"""What the OpenAPI document says beyond what the framework reads off the routes.

Headers, answers to conditional reads, what every body can be refused for, which answer leads
to which route, and an example of every answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vardy_api.http.examples import BODIES
from vardy_api.http.problems import MEDIA_TYPE, problem_responses
from vardy_worker.contracts.errors import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vardy_worker.contracts.base import JsonValue

TAGS: Final[Mapping[str, str]] = {
    "jobs": "Submitting jobs, waiting for them, and reading what became of them.",
    "verbs": "What people do to jobs: decide, commit, cancel, repair.",
    "recipes": "Reviewed programs under a name.",
    "programs": "Checking programs without running them.",
    "functions": "The company's functions, and the prompts made of them.",
    "rules": "The rules that decide what needs an approval.",
    "administration": "Keys, queues, and the audit trail.",
    "erasure": "Erasing what is stored of jobs and people.",
    "service": "Health, metrics, and what problem codes mean. Metrics alone may need an API key.",
}
_BODY_PROBLEMS: Final = ("request.malformed", "request.too_large", "request.media_type", "request.timeout")


def _header(description: str, example: str, *, always: bool = True) -> dict[str, Any]:
    return {"description": description, "required": always, "schema": {"type": "string"}, "example": example}


_ETAG: Final = {"ETag": _header("Strong: the digest of these bytes.", '"9b74c9897bac770ffc029102a200c5de"')}
_RETRY: Final = {"Retry-After": _header("Whole seconds until it is worth asking again.", "2")}
_SUBMITTED: Final = {
    "Idempotent-Replayed": _header(
        "`true` where the `Idempotency-Key` was used before: it is that job.", "true", always=False
    ),
    "Preference-Applied": _header("The wait that was granted to `Prefer`.", "wait=30", always=False),
}
_HEADERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "401": {"WWW-Authenticate": _header("How to authenticate.", 'Bearer realm="vardy"')},
    "429": _RETRY,
    "503": _RETRY,
}
_PATH: Final[Mapping[str, str]] = {
    "job_id": "Id of the job.",
    "key_id": "Id of the key: `key_` and what stands between the two `_` of its token.",
    "name": "Name of the recipe.",
    "version": "Number of the version, from 1.",
    "code": "The `code` of a problem document.",
}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETags of what the caller has; 304 while one of them is right.",
}


def _link(operation: str, description: str, **parameters: str) -> dict[str, Any]:
    return {"operationId": operation, "description": description, "parameters": parameters}


_ID: Final = "$response.body#/id"
_OF_JOB: Final = {
    "read": _link("read_job", "The job as it becomes.", job_id=_ID),
    "follow": _link("follow_job", "What happens to it.", job_id=_ID),
    "plan": _link("read_plan", "Its plan, once there is one.", job_id=_ID),
    "cancel": _link("cancel", "Giving it up.", job_id=_ID),
}
_SHOWN: Final = {"job_id": _ID, "if-match": '"{$response.body#/plan/digest}"'}
_OF_SETTLED: Final = {
    "plan": _OF_JOB["plan"],
    "decide": _link("decide", "A word on its plan, where it waits for one.", **_SHOWN),
    "commit": _link("commit", "Its commit, where it is planned.", **_SHOWN),
    "requeue": _link("requeue", "Going on with its commit, where it stopped.", job_id=_ID),
    "discard": _link("discard", "Giving up the rest of it.", job_id=_ID),
    "erase": _link("erase_job", "Erasing what it holds.", job_id=_ID),
}
_OF_KEY: Final = {
    "read": _link("read_key", "The key.", key_id=_ID),
    "rotate": _link("rotate_key", "Another secret for it.", key_id=_ID),
    "revoke": _link("revoke_key", "Its end.", key_id=_ID),
}
_OF_RECIPE: Final = {
    "read": _link("read_recipe", "Its newest version.", name="$response.body#/name"),
    "versions": _link("list_recipe_versions", "All its versions.", name="$response.body#/name"),
    "review": _link("review_recipe", "The same program, reviewed again.", name="$response.body#/name"),
}
LINKS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "run": ("202", _OF_JOB),
    "explore": ("202", _OF_JOB),
    "read_job": ("200", _OF_SETTLED),
    "create_key": ("201", _OF_KEY),
    "save_recipe": ("200", _OF_RECIPE),
    "review_recipe": ("200", _OF_RECIPE),
}


def describe(document: dict[str, Any], examples: Mapping[str, Any]) -> None:
    """Completes the document; `examples` has the answer of each operation by its id."""
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    for path, method, operation in operations_of(document):
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter.setdefault("description", _PATH.get(parameter["name"], ""))
            # Optional for the framework alone, so that its absence is 428 and not 422.
            parameter["required"] = parameter["required"] or parameter["name"] == "if-match"
        if path.startswith("/v1/"):
            _add_problems(operation, "request.head_too_large")
            if "requestBody" in operation:
                _add_problems(operation, *_BODY_PROBLEMS)
            if method == "get":
                _make_conditional(operation)
            else:
                _tag_jobs(operation)
        _restore_nulls(operation)
        _add_headers(operation)
        _add_example(operation, examples)
        operation["responses"] = dict(sorted(operation["responses"].items()))
        status, links = LINKS.get(operation["operationId"], ("", {}))
        if links:
            operation["responses"][status]["links"] = links


def operations_of(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and operation of each."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _add_problems(operation: dict[str, Any], *codes: str) -> None:
    """What the request can be refused for, beside what the route names."""
    for code in codes:
        status, title = PROBLEMS[code]
        new = problem_responses(code)[status]
        known = operation["responses"].setdefault(str(status), new)
        named = known["content"][MEDIA_TYPE]["examples"]
        if code not in named:
            named[code] = new["content"][MEDIA_TYPE]["examples"][code]
            known["description"] += f"; {title[0].lower()}{title[1:]}"


def _restore_nulls(operation: dict[str, Any]) -> None:
    """The framework leaves out what is null, also where an example is about that."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for name, shown in content.get("examples", {}).items():
        for group in BODIES:
            if name in group and _without_nulls(group[name]["value"]) == shown["value"]:
                shown["value"] = group[name]["value"]


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _make_conditional(operation: dict[str, Any]) -> None:
    success = operation["responses"]["200"]
    if "application/json" not in success.get("content", {}):
        return
    success.setdefault("headers", {}).update(_ETAG)
    operation["responses"]["304"] = {"description": "The caller has it already", "headers": _ETAG}
    operation.setdefault("parameters", []).append(_IF_NONE_MATCH)


def _tag_jobs(operation: dict[str, Any]) -> None:
    """A job carries its tag in every answer."""
    for status, answer in operation["responses"].items():
        schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
        if schema.get("$ref", "").endswith("/JobView"):
            answer.setdefault("headers", {}).update(_ETAG)
            if operation["operationId"] in {"run", "explore"}:
                answer["headers"].update(_SUBMITTED)
            if status == "202":
                where = _header("The address of the job.", "/v1/jobs/job_01JD4Y8Q0V7N2M5K3R9T6W1XZC")
                answer["headers"].update({"Location": where, **_RETRY})


def _add_headers(operation: dict[str, Any]) -> None:
    for status, headers in _HEADERS.items():
        if status in operation["responses"]:
            operation["responses"][status].setdefault("headers", {}).update(headers)


def _add_example(operation: dict[str, Any], examples: Mapping[str, Any]) -> None:
    example = examples.get(operation["operationId"])
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if status.startswith("2") and content is not None and example is not None:
            content["example"] = example
