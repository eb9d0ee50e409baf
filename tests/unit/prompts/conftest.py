from __future__ import annotations

import pytest

from vardy_worker.contracts.functions import Catalogue
from vardy_worker.demo.shop import functions
from vardy_worker.functions import build_catalogue


@pytest.fixture(scope="session")
def whole_catalogue() -> Catalogue:
    return build_catalogue(functions)


@pytest.fixture(scope="session")
def catalogue(whole_catalogue: Catalogue) -> Catalogue:
    """What somebody of support may use."""
    return whole_catalogue.for_user(("support",))
