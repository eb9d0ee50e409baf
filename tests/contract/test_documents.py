from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.api import REFUND
from vardy_worker.documents import FUNCTION_VERSIONS, keep_function_versions, read_function_version
from vardy_worker.ports import Document, Documents
from vardy_worker.store.memory_documents import MemoryDocuments
from vardy_worker.store.redis_documents import RedisDocuments

if TYPE_CHECKING:
    from redis import Redis


@pytest.fixture
def redis_documents(redis_client: Redis, namespace: str) -> RedisDocuments:
    return RedisDocuments(redis_client, namespace)


@pytest.fixture(params=["memory", "redis"])
def documents(request: pytest.FixtureRequest) -> Documents:
    if request.param == "memory":
        return MemoryDocuments()
    documents: RedisDocuments = request.getfixturevalue("redis_documents")
    return documents


def test_each_put_makes_a_version_and_all_are_kept(documents: Documents) -> None:
    values = [{"text": "“ü”", "n": number, "big": 2**63} for number in range(3)]
    for version, value in enumerate(values, start=1):
        assert documents.put("recipes", "remind", value) == Document("remind", version, value)
    assert documents.get("recipes", "remind") == Document("remind", 3, values[2])
    assert list(documents.versions("recipes", "remind")) == [
        Document("remind", version, value) for version, value in enumerate(values, start=1)
    ]


def test_what_was_never_put_is_not_there(documents: Documents) -> None:
    assert documents.get("recipes", "remind") is None
    assert list(documents.versions("recipes", "remind")) == []
    assert list(documents.all("recipes")) == []
    assert not documents.delete("recipes", "remind")


def test_a_put_on_another_version_than_expected_changes_nothing(documents: Documents) -> None:
    assert documents.put("rules", "active", {"v": 1}, expect_version=1) is None
    assert documents.get("rules", "active") is None
    assert documents.put("rules", "active", {"v": 1}, expect_version=0) == Document("active", 1, {"v": 1})
    assert documents.put("rules", "active", {"v": 2}, expect_version=0) is None
    assert documents.put("rules", "active", {"v": 2}, expect_version=2) is None
    assert documents.put("rules", "active", {"v": 2}, expect_version=1) == Document("active", 2, {"v": 2})


def test_of_many_writers_of_one_version_exactly_one_succeeds(documents: Documents) -> None:
    start = threading.Barrier(8)
    outcomes: list[Document | None] = []

    def write(number: int) -> None:
        start.wait()
        outcomes.append(documents.put("rules", "active", {"by": number}, expect_version=0))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [won] = [outcome for outcome in outcomes if outcome]
    assert documents.get("rules", "active") == won
    assert len(documents.versions("rules", "active")) == 1


def test_a_collection_lists_the_newest_of_each_by_name(documents: Documents) -> None:
    for name in ("b", "a", "c:d"):
        documents.put("recipes", name, {"v": 1})
    documents.put("recipes", "a", {"v": 2})
    documents.put("other", "z", {"v": 1})
    assert list(documents.all("recipes")) == [
        Document("a", 2, {"v": 2}),
        Document("b", 1, {"v": 1}),
        Document("c:d", 1, {"v": 1}),
    ]


def test_a_collection_is_read_in_pages_by_name(documents: Documents) -> None:
    names = ["a", "b", "b1", "c:d", "e"]
    for name in reversed(names):
        documents.put("recipes", name, {"v": 1})
    documents.put("recipes", "b", {"v": 2})
    documents.put("other", "aa", {"v": 1})
    first = documents.page("recipes", after="", limit=2)
    assert list(first.items) == [Document("a", 1, {"v": 1}), Document("b", 2, {"v": 2})]
    assert first.last == "b"
    documents.delete("recipes", "b")
    documents.put("recipes", "a1", {"v": 1})
    second = documents.page("recipes", after="b", limit=3)
    assert ([document.name for document in second.items], second.last) == (["b1", "c:d", "e"], None)
    assert list(documents.page("recipes", after="e", limit=3).items) == []


def test_versions_are_read_in_parts(documents: Documents) -> None:
    for number in range(1, 6):
        documents.put("recipes", "remind", {"v": number})
    assert [d.version for d in documents.versions("recipes", "remind", after=1, limit=2)] == [2, 3]
    assert [(d.version, d.value["v"]) for d in documents.versions("recipes", "remind", after=3)] == [(4, 4), (5, 5)]
    assert list(documents.versions("recipes", "remind", after=5, limit=2)) == []


def test_a_deleted_document_is_gone_with_its_versions(documents: Documents) -> None:
    documents.put("recipes", "a", {"v": 1})
    documents.put("recipes", "b", {"v": 1})
    assert documents.delete("recipes", "a")
    assert not documents.delete("recipes", "a")
    assert documents.get("recipes", "a") is None
    assert list(documents.versions("recipes", "a")) == []
    assert [document.name for document in documents.all("recipes")] == ["b"]
    assert documents.put("recipes", "a", {"v": 9}, expect_version=0) == Document("a", 1, {"v": 9})


def test_a_deleted_document_leaves_nothing_but_its_receipt(
    redis_documents: RedisDocuments, redis_client: Redis, namespace: str
) -> None:
    redis_documents.put("recipes", "a", {"v": 1})
    redis_documents.delete("recipes", "a")
    left = [key.decode() for key in redis_client.scan_iter(f"{namespace}:*")]
    assert [key for key in left if not key.startswith(f"{namespace}:receipt:")] == []
    assert all(redis_client.pttl(key) > 0 for key in left)


def test_a_caller_that_changes_its_value_afterwards_changes_no_document(documents: Documents) -> None:
    value = {"list": [1]}
    documents.put("recipes", "a", value)
    value["list"].append(2)
    found = documents.get("recipes", "a")
    assert found is not None
    assert found.value == {"list": [1]}


def test_a_put_sent_twice_makes_one_version_and_answers_the_same(redis_documents: RedisDocuments) -> None:
    first = redis_documents.send_put("rules", "active", {"v": 1}, "token", expect_version=0)
    again = redis_documents.send_put("rules", "active", {"v": 1}, "token", expect_version=0)
    assert first == again == Document("active", 1, {"v": 1})
    assert len(redis_documents.versions("rules", "active")) == 1


def test_a_put_sent_again_after_another_one_still_answers_the_same(redis_documents: RedisDocuments) -> None:
    redis_documents.send_put("rules", "active", {"v": 1}, "token-1", expect_version=0)
    redis_documents.send_put("rules", "active", {"v": 2}, "token-2", expect_version=1)
    assert redis_documents.send_put("rules", "active", {"v": 1}, "token-1", expect_version=0) == Document(
        "active", 1, {"v": 1}
    )
    assert len(redis_documents.versions("rules", "active")) == 2


def test_a_deletion_sent_twice_answers_the_same_and_spares_a_successor(redis_documents: RedisDocuments) -> None:
    redis_documents.put("recipes", "a", {"v": 1})
    assert redis_documents.send_delete("recipes", "a", "token")
    redis_documents.put("recipes", "a", {"v": 2})
    assert redis_documents.send_delete("recipes", "a", "token")
    assert redis_documents.get("recipes", "a") == Document("a", 1, {"v": 2})


def test_each_version_of_a_function_is_kept_once_and_read_back_whole(documents: Documents) -> None:
    first, second = REFUND, REFUND.model_copy(update={"version": "v2"})
    for functions in ([first], [first, second], [second]):
        keep_function_versions(documents, functions)
    assert [read_function_version(documents, "refund_payment", version) for version in ("v1", "v2", "v3")] == [
        first,
        second,
        None,
    ]
    kept = {document.name: document.version for document in documents.all(FUNCTION_VERSIONS)}
    assert kept == {"refund_payment:v1": 1, "refund_payment:v2": 1}
