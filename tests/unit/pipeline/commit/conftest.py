import pytest

from tests.support.target import Target, target_functions
from vardy_worker import Functions


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def functions(target: Target) -> Functions:
    return target_functions(target)
