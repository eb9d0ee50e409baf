"""Versions that a failover or a backup took away, and that came again with other contents."""

import pytest

from tests.support.api import CATALOGUE
from vardy_api.operations.catalogue import CatalogueReader
from vardy_worker.active_rules import ActiveRules
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.policy import Verdict
from vardy_worker.documents import CATALOGUE as CATALOGUES
from vardy_worker.documents import CURRENT, RULES, publish_catalogue
from vardy_worker.rules import CelRules
from vardy_worker.store.memory_documents import MemoryDocuments


@pytest.fixture
def documents() -> MemoryDocuments:
    return MemoryDocuments()


def apply(documents: MemoryDocuments, text: str) -> int:
    stored = documents.put(RULES, CURRENT, {"digest": CelRules().load(text, Catalogue()).digest, "text": text})
    assert stored is not None
    return stored.version


def test_rules_that_took_the_number_of_lost_ones_hold_at_once(documents: MemoryDocuments) -> None:
    rules = ActiveRules(documents, CelRules())
    lost = apply(documents, "default: allow\n")
    assert rules.current().default is Verdict.ALLOW
    documents.delete(RULES, CURRENT)
    assert apply(documents, "default: block\n") == lost
    assert rules.current().default is Verdict.BLOCK


def test_rules_are_parsed_once_for_many_plans(documents: MemoryDocuments) -> None:
    rules = ActiveRules(documents, CelRules())
    apply(documents, "default: allow\n")
    assert rules.current() is rules.current()


def test_a_catalogue_that_took_the_number_of_a_lost_one_is_seen_at_once(documents: MemoryDocuments) -> None:
    reader = CatalogueReader(documents)
    publish_catalogue(documents, CATALOGUE)
    assert reader.current() == CATALOGUE
    assert reader.current() is reader.current()
    documents.delete(CATALOGUES, CURRENT)
    fewer = Catalogue(functions=CATALOGUE.functions[:1])
    publish_catalogue(documents, fewer)
    assert reader.current() == fewer
