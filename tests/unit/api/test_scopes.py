"""Every route against every scope: what `docs/http.md` says that a key needs is what it needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import ApiWorld
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

DOCUMENT = Path(__file__).parents[3] / "docs" / "http.md"
LINE = re.compile(r"^\| `([A-Z]+) ([^`?]+)[^|]*\|([^|]*)\|", re.MULTILINE)
SEES_ALL = {Scope.READ, Scope.DECIDE, Scope.OPERATE}
OPEN = "no key"
REFUSED = {"auth.scope", "job.not_found"}
"""What a key is told that may not do something with a job of another owner."""


def documented() -> dict[tuple[str, str], tuple[str, set[Scope]]]:
    """Method and address → what the table says, and the scopes of which one does, for a job of another owner."""
    lines = {(method, path): said.strip() for method, path, said in LINE.findall(DOCUMENT.read_text(encoding="utf-8"))}
    return {route: (said, _scopes(route[1], said)) for route, said in lines.items()}


def _scopes(path: str, said: str) -> set[Scope]:
    if said.startswith(OPEN):
        return set(Scope)
    # What the owner alone may do with it is nothing that a scope gives.
    named = {Scope(name) for name in re.findall(r"`(\w+)`", re.sub(r"owner with `\w+`", "", said))}
    return named or (SEES_ALL if "{job_id}" in path else set(Scope))


def operations(http: httpx.Client) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in http.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def body_of(operation: dict[str, Any]) -> Any:
    """The last example of its body, which names a person where one is needed; None without one."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return next((example["value"] for example in reversed(content.get("examples", {}).values())), None)


def ask(api: ApiWorld, token: str, method: str, path: str, body: Any) -> tuple[int, str]:
    """Status, and code of a problem, of a request about a job and a key of somebody else that exist."""
    key = api.operations.authentication.authenticate(api.token(owner="third")).key
    known = {
        "job_id": api.job(Status.PENDING_APPROVAL).id,
        "key_id": key.id,
        "seq": "0",
        "version": "1",
        "code": "internal",
    }
    address = re.sub(r"{(\w+)}", lambda found: known.get(found[1], "nobody"), path)
    with api.http(token) as http:
        answer = http.request(method, address, json=body, headers={"If-Match": f'"{"0" * 64}"'})
    is_problem = answer.headers.get("content-type") == "application/problem+json"
    return answer.status_code, answer.json()["code"] if is_problem else ""


def test_the_table_names_every_route_of_the_description_and_no_other(http: httpx.Client) -> None:
    assert set(documented()) == {(method, path) for method, path, _ in operations(http)}


@pytest.mark.parametrize("scope", list(Scope))
def test_a_key_with_one_scope_does_with_what_is_not_its_own_what_the_table_says_and_no_more(
    api: ApiWorld, http: httpx.Client, scope: Scope
) -> None:
    said = documented()
    for method, path, operation in operations(http):
        status, code = ask(api, api.token(scope, owner="other"), method, path, body_of(operation))
        may = scope in said[method, path][1]
        assert (code not in REFUSED) is may, f"{method} {path} with {scope}: {status} {code}"
        assert may or status in {403, 404}


@pytest.mark.parametrize("token", ["", "vk_01JDXM8J9F6Q4T5V7W8X9Y0Z1A_" + "a" * 43])
def test_nothing_but_what_the_table_says_is_done_without_a_valid_key(
    api: ApiWorld, http: httpx.Client, token: str
) -> None:
    for method, path, operation in operations(http):
        status, _ = ask(api, token, method, path, body_of(operation))
        is_open = documented()[method, path][0].startswith(OPEN)
        assert (status != 401) is is_open, f"{method} {path}: {status}"
