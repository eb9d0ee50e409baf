"""Checking programs over HTTP, and with the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import BODY_BYTES_MAX
from tests.support.factories import ANA, LEA
from vardy_api.client import Vardy
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld

SOURCE = "async function run(params) {\n  return await list_payments();\n}\n"
SALARIES = "async function run(params) {\n  return await list_salaries();\n}\n"
CHECK = "/v1/programs/check"


def codes(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [finding["code"] for finding in answer.json()["findings"]]


def test_a_program_without_findings_is_ok(http: httpx.Client) -> None:
    answer = http.post(CHECK, json={"source": SOURCE})

    assert answer.json() == {"ok": True, "findings": [], "source": SOURCE, "line_map": []}


def test_all_findings_come_at_once_with_place_hint_and_details(http: httpx.Client) -> None:
    source = "async function run(params) {\n  const rows = await listPayments();\n  return eval(rows);\n}\n"

    answer = http.post(CHECK, json={"source": source}).json()

    assert answer["ok"] is False
    unknown, forbidden = answer["findings"]
    assert (unknown["code"], unknown["line"], unknown["column"]) == ("program.unknown_function", 2, 22)
    assert "list_payments" in unknown["hint"]
    assert unknown["details"]["close"] == ["list_payments"]
    assert (forbidden["code"], forbidden["line"], forbidden["column"]) == ("program.forbidden", 3, 10)


def test_a_program_with_warnings_alone_is_ok(http: httpx.Client) -> None:
    answer = http.post(CHECK, json={"source": "async function run(params) {\n  console.log(1);\n}\n"})

    assert codes(answer) == ["program.no_return"]
    assert answer.json()["findings"][0]["severity"] == "warning"
    assert answer.json()["ok"] is True


def test_the_program_in_a_model_s_text_is_found_and_places_are_those_of_the_text(http: httpx.Client) -> None:
    text = "Here it is:\r\n\r\n```js\r\nasync function run(params) {\r\n  return eval('1');\r\n}\r\n```\r\n"

    answer = http.post(CHECK, json={"text": text}).json()

    assert [(finding["code"], finding["line"], finding["column"]) for finding in answer["findings"]] == [
        ("program.forbidden", 5, 10)
    ]
    assert answer["source"] == "async function run(params) {\n  return eval('1');\n}\n"
    assert answer["line_map"][:3] == [4, 5, 6]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I am sorry, I cannot do that.", "generation.no_program"),
        ("", "generation.no_program"),
        ("```js\nasync function run(params) { return '" + "x" * 2_000 + "'; }\n```", "generation.program_too_large"),
    ],
)
def test_a_text_without_a_usable_program_is_a_finding_that_repeats_nothing_of_it(
    api: ApiWorld, http: httpx.Client, text: str, code: str
) -> None:
    api.operations.programs._program_bytes_max = 1_000

    answer = http.post(CHECK, json={"text": text})

    assert codes(answer) == [code]
    assert answer.json()["findings"][0]["hint"]
    assert (answer.json()["ok"], answer.json()["source"]) == (False, "")
    assert "sorry" not in answer.text
    assert "xxx" not in answer.text


def test_a_source_above_the_limit_is_refused_before_it_is_parsed(api: ApiWorld, http: httpx.Client) -> None:
    api.operations.programs._program_bytes_max = 1_000

    answer = http.post(CHECK, json={"source": SOURCE + "(" * 1_000})

    assert codes(answer) == ["generation.program_too_large"]


def test_a_person_s_functions_are_those_of_the_roles(api: ApiWorld, http: httpx.Client) -> None:
    hr = {"id": "ana", "roles": ["hr"]}

    assert codes(http.post(CHECK, json={"source": SALARIES})) == []
    assert codes(http.post(CHECK, json={"source": SALARIES, "user": ANA.model_dump()})) == ["program.unknown_function"]
    assert codes(http.post(CHECK, json={"source": SALARIES, "user": hr})) == []
    bound = api.http(api.token(Scope.SUBMIT, person=LEA))
    assert codes(bound.post(CHECK, json={"source": SALARIES})) == ["program.unknown_function"]
    assert "list_salaries" not in bound.post(CHECK, json={"source": SALARIES}).json()["findings"][0]["hint"]
    # The key's roles hold, whatever the request claims.
    claimed = {"id": "lea", "roles": ["hr"]}
    assert codes(bound.post(CHECK, json={"source": SALARIES, "user": claimed})) == ["program.unknown_function"]
    other = bound.post(CHECK, json={"source": SALARIES, "user": hr})
    assert (other.status_code, other.json()["code"]) == (403, "auth.person")


def test_functions_narrow_what_may_be_called(http: httpx.Client) -> None:
    for user in (None, ANA.model_dump()):
        only = {"source": SOURCE, "user": user, "functions": ["refund_payment"]}
        assert codes(http.post(CHECK, json=only)) == ["program.unknown_function"]
        assert codes(http.post(CHECK, json={**only, "functions": ["list_payments"]})) == []
        wrong = http.post(CHECK, json={**only, "functions": ["list_payment"]})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "request.invalid")
        problem = wrong.json()["details"]["problems"][0]
        assert problem["at"] == "/functions/0"
        assert "Did you mean list_payments?" in problem["message"]


@pytest.mark.parametrize("body", [{}, {"source": SOURCE, "text": SOURCE}, {"source": None, "text": None}])
def test_exactly_one_of_source_and_text_is_checked(http: httpx.Client, body: dict[str, Any]) -> None:
    answer = http.post(CHECK, json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    assert answer.json()["details"]["problems"][0]["at"] == "/source"


@pytest.mark.parametrize("scope", list(Scope))
def test_any_key_may_check_and_no_key_may_not(api: ApiWorld, scope: Scope) -> None:
    assert codes(api.http(api.token(scope)).post(CHECK, json={"source": SOURCE})) == []
    assert api.http("").post(CHECK, json={"source": SOURCE}).json()["code"] == "auth.missing"


def test_a_body_above_the_limit_is_refused(http: httpx.Client) -> None:
    answer = http.post(CHECK, json={"text": "x" * BODY_BYTES_MAX})

    assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")


def test_the_client_checks_a_program(api: ApiWorld) -> None:
    with Vardy("http://vardy", api_key=api.token(), transport=api.transport) as vardy:
        assert vardy.check_program(SOURCE, user="ana", functions=["list_payments"]).ok
        found = vardy.check_program(text=f"```js\n{SALARIES}```", user=ANA)

    assert [(finding.code, finding.line) for finding in found.findings] == [("program.unknown_function", 3)]
