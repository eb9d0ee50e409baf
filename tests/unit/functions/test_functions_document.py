from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vardy_worker import CallContext, Functions
from vardy_worker.functions.catalogue import build_catalogue
from vardy_worker.ports import CallFailed, CallOk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCUMENT = Path(__file__).parents[3] / "docs" / "functions.md"
TEXT = DOCUMENT.read_text()
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
TYPESCRIPT = re.findall(r"```typescript\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def execute() -> Iterator[Callable[[str], dict[str, Any]]]:
    """Runs a block as a module of its own."""
    module = types.ModuleType("functions_document_block")
    sys.modules[module.__name__] = module

    def execute(block: str) -> dict[str, Any]:
        exec(compile(block, str(DOCUMENT), "exec"), vars(module))  # noqa: S102 - the document's own code
        return vars(module)

    yield execute
    del sys.modules[module.__name__]


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.splitlines()[-1][:40])
def test_every_python_block_is_a_whole_module_of_functions(
    block: str, execute: Callable[[str], dict[str, Any]]
) -> None:
    assert build_catalogue(execute(block)["functions"]).functions


def test_the_complete_module_does_what_the_guide_says(
    execute: Callable[[str], dict[str, Any]], run: Callable[..., Any]
) -> None:
    host = run(execute(PYTHON[0])["functions"])
    assert host.call("list_invoices", status="open") == CallOk(
        [{"id": 1, "total": "120.00", "due": "2026-01-31", "status": "open"}]
    )
    assert host.call("refund_invoice", invoice_id=1, amount_cents=5).value == {"id": "re_1", "amount_cents": 5}
    assert host.call("refund_invoice", invoice_id=2, amount_cents=5) == CallFailed("There is no invoice 2.")
    declared = host.runtime.catalogue().get("refund_invoice").declaration
    assert declared == TYPESCRIPT[0].strip()


def test_the_failing_write_fails_as_the_guide_says(
    execute: Callable[[str], dict[str, Any]], run: Callable[..., Any]
) -> None:
    host = run(execute(PYTHON[1])["functions"])
    assert host.call("pay_out", amount_cents=5) == CallOk(":5:True")
    assert host.call("pay_out", amount_cents=2_000_000) == CallFailed(
        "The bank is closed.", retryable=True, retry_after_seconds=60
    )


def test_the_hooks_of_the_guide_open_what_its_read_needs(
    execute: Callable[[str], dict[str, Any]], run: Callable[..., Any]
) -> None:
    assert run(execute(PYTHON[2])["functions"]).call("exchange_rate", currency="usd") == CallOk(0.92)


def test_every_option_and_every_member_of_the_context_is_in_its_table() -> None:
    options = set(inspect.signature(Functions.write).parameters) - {"self", "function"}
    members = {field.name for field in dataclasses.fields(CallContext)} | {"seconds_left()"}
    rows = " ".join(line.split("|")[1] for line in TEXT.splitlines() if line.startswith("| `"))
    assert {name for name in options | members if f"`{name}`" not in rows} == set()
