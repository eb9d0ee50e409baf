"""The header Authorization, as it comes over a real connection: one way to send a key, and no other."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.serving import Served, served
from vardy_api.bootstrap import build_api
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.user import Scope
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments

if TYPE_CHECKING:
    from collections.abc import Iterator

OK, MISSING, INVALID = "ok", "auth.missing", "auth.invalid"
NAMESPACE = "authorization"


@pytest.fixture(scope="module")
def token(redis_url: str) -> str:
    client = connect(redis_url)
    try:
        return KeyOperations(RedisDocuments(client, NAMESPACE), SystemClock()).create(KeyCreate(scopes=(Scope.READ,)))[
            1
        ]
    finally:
        client.close()


@pytest.fixture(scope="module")
def api(redis_url: str) -> Iterator[Served]:
    with served(build_api(load_settings(redis_url=redis_url, namespace=NAMESPACE))) as server:
        yield server


def ask(api: Served, *authorization: bytes, path: str = "/v1/jobs") -> str:
    """The code of the answer to a request with these headers Authorization."""
    with httpx.Client(base_url=api.url, timeout=20) as client:
        answer = client.get(path, headers=[(b"Authorization", value) for value in authorization])
    if answer.is_success:
        return OK
    assert answer.status_code == httpx.codes.UNAUTHORIZED
    assert answer.headers["www-authenticate"].startswith('Bearer realm="vardy"')
    code: str = answer.json()["code"]
    return code


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer {token}", OK),
        ("bearer {token}", OK),
        ("BEARER {token}", OK),
        ("Bearer   {token}", OK),
        ("", MISSING),
        ("Bearer", MISSING),
        ("Basic {basic}", MISSING),
        ("Token {token}", MISSING),
        ("{token}", MISSING),
        ("Bearer:{token}", MISSING),
        ("Bearer\t{token}", MISSING),
        ("Bearer {token} {token}", INVALID),
        ("Bearer {token},Bearer {token}", INVALID),
        ("Bearer {token}, Basic {basic}", INVALID),
        ('Bearer "{token}"', INVALID),
        ("Bearer Bearer {token}", INVALID),
        ("Bearer {changed}", INVALID),
        ("Bearer {short}", INVALID),
        ("Bearer {upper}", INVALID),
        ("Bearer vk_ä\x80", INVALID),
    ],
)
def test_a_key_is_taken_as_a_bearer_token_and_in_no_other_form(
    api: Served, token: str, authorization: str, expected: str
) -> None:
    given = authorization.format(
        token=token,
        basic=base64.b64encode(f":{token}".encode()).decode(),
        changed=token[:-1] + ("a" if token[-1] != "a" else "b"),
        short=token[:-1],
        upper=token.upper(),
    )
    assert ask(api, given.encode("latin-1")) == expected


def test_without_the_header_a_key_is_missing(api: Served) -> None:
    assert ask(api) == MISSING


def test_of_several_headers_none_is_taken_even_where_they_are_equal(api: Served, token: str) -> None:
    right = f"Bearer {token}".encode()
    for pair in ((right, right), (right, b"Bearer vk_other"), (b"Basic abc", right), (right, b"")):
        assert ask(api, *pair) == INVALID


@pytest.mark.parametrize("name", ["access_token", "api_key", "key", "token", "authorization"])
def test_a_key_in_the_address_is_never_taken(api: Served, token: str, name: str) -> None:
    assert ask(api, path=f"/v1/jobs?{name}={token}") == MISSING
    with httpx.Client(base_url=api.url.replace("http://", f"http://{token}:{token}@"), timeout=20) as client:
        assert client.get("/v1/jobs").json()["code"] == MISSING


@pytest.mark.parametrize("header", ["X-API-Key", "Cookie", "Proxy-Authorization", "X-Authorization"])
def test_a_key_in_another_header_is_never_taken(api: Served, token: str, header: str) -> None:
    with httpx.Client(base_url=api.url, timeout=20) as client:
        answer = client.get("/v1/jobs", headers={header: f"Bearer {token}"})
    assert answer.json()["code"] == MISSING


def test_no_answer_repeats_what_was_sent_as_a_key(api: Served, token: str) -> None:
    wrong = token[:-4] + "ZZZZ"
    with httpx.Client(base_url=api.url, timeout=20) as client:
        for path in ("/v1/jobs", f"/v1/jobs?api_key={wrong}", "/v1/run", "/v1/nowhere"):
            answer = client.get(path, headers={"Authorization": f"Bearer {wrong}"})
            assert not answer.is_success
            assert wrong[-12:] not in answer.text + str(answer.headers)


def test_keys_have_the_form_that_the_documentation_gives_to_secret_scanners(token: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "keys.md").read_text(encoding="utf-8")
    (form,) = re.findall(r"^```text\n(vk_.+)\n```$", text, re.MULTILINE)
    assert re.fullmatch(form, token)
    assert re.search(form, f'curl -H "Authorization: Bearer {token}"')
