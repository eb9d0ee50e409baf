"""How long a check takes says nothing of how much of a token is right."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.api import ApiWorld

HASH_CHARACTERS = 64


@pytest.mark.parametrize(
    ("cut", "end", "status"),
    [
        pytest.param(0, "", 200, id="right"),
        pytest.param(1, "?", 401, id="of no form"),
        pytest.param(1, "_", 401, id="wrong at its end"),
        pytest.param(43, "_" * 43, 401, id="wrong from its begin"),
        pytest.param(70, "0" * 26 + "_" + "_" * 43, 401, id="of a key that does not exist"),
    ],
)
def test_every_token_costs_the_same_comparisons_of_hashes_in_constant_time(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch, cut: int, end: str, status: int
) -> None:
    token = api.token()
    sent = token[: len(token) - cut] + end
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def spy(kept: str, given: str) -> bool:
        compared.append((len(kept), len(given)))
        return compare(kept, given)

    monkeypatch.setattr("hmac.compare_digest", spy)
    assert api.http(sent).get("/v1/jobs").status_code == status
    assert compared == [(HASH_CHARACTERS, HASH_CHARACTERS)] * 2, "the present secret, and the one before"
