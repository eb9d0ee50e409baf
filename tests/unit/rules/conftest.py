from __future__ import annotations

import pytest

from tests.support.rules import Court


@pytest.fixture(scope="session")
def court() -> Court:
    return Court()
