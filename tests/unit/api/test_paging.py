"""Listings come in pages: every item once, and a page costs what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.recipes import SOURCE
from vardy_worker.contracts.status import Status
from vardy_worker.store.cursor import make_cursor

if TYPE_CHECKING:
    import httpx

    from tests.support.api import ApiWorld


def walk(http: httpx.Client, path: str, limit: int) -> list[list[dict[str, Any]]]:
    """All pages of a listing."""
    pages = []
    cursor: str | None = None
    while True:
        params = {"limit": str(limit), **({"cursor": cursor} if cursor else {})}
        answer = http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        pages.append(answer.json()["items"])
        cursor = answer.json()["next"]
        if cursor is None:
            return pages


def test_recipes_come_by_name_each_once(http: httpx.Client) -> None:
    for name in ("e", "b", "d", "a", "c"):
        http.put(f"/v1/recipes/{name}", json={"source": SOURCE})
    http.put("/v1/recipes/b", json={"source": SOURCE, "description": "Of two."})
    pages = walk(http, "/v1/recipes", 2)
    assert [[item["name"] for item in page] for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert pages[0][1]["version"] == 2


def test_a_page_that_holds_all_has_no_next_one(http: httpx.Client) -> None:
    for name in ("a", "b"):
        http.put(f"/v1/recipes/{name}", json={"source": SOURCE})
    assert http.get("/v1/recipes", params={"limit": 2}).json()["next"] is None
    assert http.get("/v1/recipes").json()["next"] is None


def test_versions_of_a_recipe_come_oldest_first_each_once(http: httpx.Client) -> None:
    for number in range(5):
        http.put("/v1/recipes/a", json={"source": SOURCE, "description": f"Version {number}."})
    pages = walk(http, "/v1/recipes/a/versions", 2)
    assert [[item["version"] for item in page] for page in pages] == [[1, 2], [3, 4], [5]]


def test_keys_come_by_id_each_once(api: ApiWorld, http: httpx.Client) -> None:
    for _ in range(4):
        api.token()
    pages = walk(http, "/v1/keys", 2)
    ids = [item["id"] for page in pages for item in page]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert len(set(ids)) == 5
    assert ids == sorted(ids)


@pytest.mark.parametrize("path", ["/v1/recipes", "/v1/recipes/a/versions", "/v1/keys", "/v1/jobs"])
@pytest.mark.parametrize("cursor", ["", "x", "W10", make_cursor(0, "\ud800"), make_cursor(-1, "a"), "eyJhIjogMX0"])
def test_a_cursor_that_no_page_gave_is_refused(http: httpx.Client, path: str, cursor: str) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    answer = http.get(path, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "cursor.invalid")


def test_a_cursor_of_a_listing_by_time_is_refused_by_those_by_name(api: ApiWorld, http: httpx.Client) -> None:
    for _ in range(2):
        api.job(Status.RUNNING)
    cursor = http.get("/v1/jobs", params={"limit": 1}).json()["next"]
    for path in ("/v1/keys", "/v1/recipes"):
        refused = http.get(path, params={"cursor": cursor})
        assert (refused.status_code, refused.json()["code"]) == (422, "cursor.invalid")


def test_a_cursor_of_another_recipe_is_refused(http: httpx.Client) -> None:
    for name in ("a", "b"):
        for number in range(2):
            http.put(f"/v1/recipes/{name}", json={"source": SOURCE, "description": f"Version {number}."})
    cursor = http.get("/v1/recipes/a/versions", params={"limit": 1}).json()["next"]
    assert http.get("/v1/recipes/b/versions", params={"cursor": cursor}).json()["code"] == "cursor.invalid"


def test_a_page_past_the_end_is_empty_and_of_nothing_is_not_found(http: httpx.Client) -> None:
    http.put("/v1/recipes/a", json={"source": SOURCE})
    past = {"cursor": make_cursor(7, "a")}
    assert http.get("/v1/recipes/a/versions", params=past).json() == {"items": [], "next": None}
    assert http.get("/v1/recipes/z/versions").json()["code"] == "recipe.not_found"


def test_a_page_of_recipes_reads_only_what_it_shows(api: ApiWorld, http: httpx.Client) -> None:
    for number in range(30):
        http.put(f"/v1/recipes/r{number:02}", json={"source": SOURCE})
    read: list[str] = []
    get = api.documents.get

    def noted(collection: str, name: str) -> Any:
        read.append(f"{collection}/{name}")
        return get(collection, name)

    api.documents.get = noted  # type: ignore[method-assign] # looks on while the real one answers
    http.get("/v1/recipes", params={"limit": 3, "cursor": make_cursor(0, "r09")})
    assert [name for name in read if name.startswith("recipes/")] == ["recipes/r10", "recipes/r11", "recipes/r12"]
