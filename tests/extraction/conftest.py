"""Runs extracted programs in the real sandbox, against two functions with fixed answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.execution import CallReply, CallValue, GuestCall, Returned, SandboxRun
from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.contracts.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ANSWERS: dict[str, Any] = {
    "get_customer": {"id": 7, "name": "Ana"},
    "list_invoices": [
        {"number": "A1", "amount_cents": 1200},
        {"number": "A2", "amount_cents": 800},
    ],
}


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    schema = {
        "type": "object",
        "properties": {"customer_id": {"type": "integer"}},
        "required": ["customer_id"],
        "additionalProperties": False,
    }
    return Catalogue(
        functions=tuple(
            FunctionSpec(
                name=name,
                kind=FunctionKind.READ,
                input_schema=schema,
                output_schema={},
                declaration="",
                version="1",
            )
            for name in sorted(ANSWERS)
        )
    )


@dataclass(frozen=True)
class Ran:
    """What a program did: its output and its calls, or the code it ended with."""

    output: Any
    calls: list[Any]
    ended: str


@pytest.fixture(scope="session")
def run_program() -> Iterator[Callable[[str, dict[str, Any]], Ran]]:
    sandbox = ChildSandbox(warm=1, children_max=1)

    def run(source: str, params: dict[str, Any]) -> Ran:
        calls: list[Any] = []

        def answer(batch: Sequence[GuestCall]) -> Sequence[CallReply]:
            calls.extend([call.function, call.args] for call in batch)
            return [CallValue(value=ANSWERS[call.function]) for call in batch]

        outcome = sandbox.run(
            SandboxRun(
                source=source,
                functions=tuple(sorted(ANSWERS)),
                params=params,
                now_ms=1_750_000_000_000,
                seed="extraction",
                limits=Limits(execute_seconds_max=10),
            ),
            answer,
        )
        if isinstance(outcome, Returned):
            return Ran(outcome.output, calls, "returned")
        return Ran(None, calls, f"{outcome.kind}: {getattr(outcome, 'message', '')}{getattr(outcome, 'code', '')}")

    yield run
    sandbox.close()
