from collections.abc import Iterator

import pytest

from tests.support.worker import WorkerParts
from vardy_worker import FunctionError, Functions


@pytest.fixture
def functions() -> Functions:
    functions = Functions()

    @functions.read
    def count_orders(city: str) -> int:
        """How many orders a city has."""
        if city == "Atlantis":
            raise FunctionError("there is no such city")
        if city == "Hell":
            raise RuntimeError("postgres://user:SECRET@host")
        return 3

    @functions.write
    def pay(amount: int) -> dict[str, int]:
        """Pays."""
        return {"id": amount}

    @functions.read(roles=("finance",))
    def read_ledger() -> int:
        """For finance alone."""
        return 0

    return functions


@pytest.fixture
def parts(functions: Functions) -> Iterator[WorkerParts]:
    made = WorkerParts(functions)
    made.host.start()
    yield made
    made.close()
    made.host.stop()
