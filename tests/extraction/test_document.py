"""The example of docs/programs.md, checked and run as it stands there."""

import re
from collections.abc import Sequence
from pathlib import Path

from vardy_worker import Functions
from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.execution import CallPlaceholder, CallReply, CallValue, GuestCall, Returned, SandboxRun
from vardy_worker.contracts.limits import Limits
from vardy_worker.functions import build_catalogue
from vardy_worker.programs import check

TEXT = (Path(__file__).parents[2] / "docs" / "programs.md").read_text(encoding="utf-8")
[EXAMPLE] = re.findall(r"^```js\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
INVOICES = [
    {"number": "A1", "email": "ana@example.com", "days_late": 40},
    {"number": "A2", "email": "bo@example.com", "days_late": 3},
]

functions = Functions()


@functions.read
def list_invoices(customer_id: int, status: str = "open") -> list[dict[str, str | int]]:
    """Invoices of one customer."""
    raise AssertionError((customer_id, status))


@functions.write
def send_email(to: str, body: str) -> None:
    """Sends a mail."""
    raise AssertionError((to, body))


def test_the_example_passes_the_checks() -> None:
    assert check(EXAMPLE, build_catalogue(functions)) == ()


def test_the_example_runs_and_plans_what_it_says() -> None:
    mails: list[object] = []

    def answer(batch: Sequence[GuestCall]) -> list[CallReply]:
        replies: list[CallReply] = []
        for call in batch:
            if call.function == "send_email":
                mails.append(call.args)
                replies.append(CallPlaceholder(effect=len(mails) - 1))
            else:
                replies.append(CallValue(value=INVOICES))
        return replies

    sandbox = ChildSandbox(warm=1, children_max=1)
    try:
        run = SandboxRun(
            source=EXAMPLE,
            functions=("list_invoices", "send_email"),
            params={"customer_id": 7},
            now_ms=0,
            seed="document",
            limits=Limits(),
        )
        outcome = sandbox.run(run, answer)
    finally:
        sandbox.close()
    assert isinstance(outcome, Returned)
    assert outcome.output == {"late": 1}
    assert mails == [{"to": "ana@example.com", "body": "Invoice A1 is late."}]
