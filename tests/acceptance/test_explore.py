"""A question over HTTP and in a terminal, on the real processes: rounds as they come, the answer, and what is sent."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.deployment import KEY, ROOT, VARDY, Deployment, running
from tests.support.scripts import Script, program
from tests.support.terminal import Terminal
from tests.support.waiting import eventually
from vardy_api.client import Vardy
from vardy_api.client_errors import RateLimited
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.quota import Used
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.demo.database import Database
from vardy_worker.demo.questions import QUESTIONS
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.embedded import EmbeddedServer

ANA = User(id="ana", roles=("support",))
SECONDS = 60.0
CITIES = program("const all = await list_customers(); return { customers: all.length };")
BROKEN = program("return (await list_clients()).length;")
FAILED = program("throw new Error('no such city');")


@pytest.fixture(scope="module")
def script() -> Script:
    return Script()


@pytest.fixture(scope="module")
def exploring(
    acceptance_server: EmbeddedServer, script: Script, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """The demo shop with a model whose turns the test holds."""
    settings = {"VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions"}
    folder = tmp_path_factory.mktemp("exploring")
    with ScriptedModel(answer=script) as model:
        made = Deployment(acceptance_server, model, folder, namespace="exploring", settings=settings)
        with running(made, "api", "worker"):
            yield made


def test_rounds_are_seen_while_the_job_runs_and_the_answer_when_it_ends(exploring: Deployment, script: Script) -> None:
    question = "how many customers are there?"
    script.teach(question, BROKEN, CITIES, "There are 14.")
    holds = [script.hold(question, turn=turn) for turn in range(3)]
    with exploring.client() as vardy:
        job = vardy.explore(question, user=ANA, wait=False)
        assert (job.kind, job.status) == (JobKind.EXPLORE, Status.QUEUED)
        for turn, held in enumerate(holds):
            assert eventually(lambda turn=turn: script.asked(question) == turn + 1, seconds=SECONDS)  # type: ignore[misc] # mypy infers no type for a default
            seen = vardy.get(job)
            assert (seen.status, seen.answer, len(seen.rounds)) == (Status.RUNNING, None, turn)
            assert all(each.ended_at is not None for each in seen.rounds)
            held.set()
        settled = vardy.wait(job, timeout_seconds=SECONDS)
    assert (settled.status, settled.answer) == (Status.SUCCESS, "There are 14.")
    first, second = settled.rounds
    assert first.error is not None
    assert (first.error.code, first.summary) == ("validation.program", None)
    assert (second.error, second.summary, second.truncated) == (None, {"customers": 14}, False)
    assert second.program is not None
    assert "list_customers" in second.program
    assert (settled.program, settled.output, settled.effects) == (None, None, ())
    assert settled.usage.completion_tokens > 0


def test_a_terminal_shows_each_round_as_it_comes_and_then_the_answer(exploring: Deployment, script: Script) -> None:
    question = "how many customers are there by now?"
    script.teach(question, FAILED, CITIES, "There are 14 by now.")
    last = script.hold(question, turn=2)
    environment = exploring.environment | {"TERM": "xterm-256color", "COLUMNS": "100"}
    with Terminal([VARDY, "explore", question, "--user", "ana"], environment, columns=100) as terminal:
        terminal.wait_for("round 1: execution.thrown")
        terminal.wait_for("round 2: returned 16 bytes")
        terminal.wait_for("answering, or looking further")
        assert "There are 14 by now." not in terminal.plain
        last.set()
        assert terminal.end() == 0
    answer, rounds = terminal.plain.split("There are 14 by now.")
    assert "SUCCESS" in answer
    assert "round 2: returned 16 bytes" in rounds
    assert "--full" in rounds


def test_an_explore_that_finds_nothing_ends_as_its_last_round_with_exit_code_1(
    exploring: Deployment, script: Script
) -> None:
    question = "how many clients are there?"
    script.teach(question, BROKEN)
    done = exploring.cli("explore", question, "--user", "ana", "--rounds-max", "2", check=False)
    assert done.returncode == 1
    assert "VALIDATION_BLOCKED" in done.stdout
    assert "round 2: validation.program" in done.stdout
    assert script.asked(question) == 2


def test_the_preview_of_a_question_is_what_the_model_then_receives(exploring: Deployment, script: Script) -> None:
    question = "who are we?"
    script.teach(question, "A shop.")
    with exploring.client() as vardy:
        shown = vardy.prompt(question, kind="explore", params={"city": "Faro"}, user=ANA)
        exploring.model.forget()
        assert vardy.explore(question, params={"city": "Faro"}, user=ANA, timeout_seconds=SECONDS).answer == "A shop."
    [received] = exploring.model.requests
    assert received.json["messages"] == [message.model_dump() for message in shown.messages]
    assert "refund_payment" not in received.body.decode()


# --- the demo's questions ------------------------------------------------------------------------------------


@pytest.fixture
def shop(deployment: Deployment) -> Iterator[Database]:
    """The rows that the deployment reads."""
    database = Database()
    database.open(deployment.folder / "shop")
    yield database
    database.close()


def answer(vardy: Vardy, question: str, rounds: int) -> str:
    job = vardy.explore(question, user=ANA, timeout_seconds=SECONDS)
    assert job.status is Status.SUCCESS, job.error
    assert len(job.rounds) == rounds
    assert job.answer is not None
    return job.answer


def number(shop: Database, query: str) -> int:
    row = shop.row(query)
    assert row is not None
    return int(row[0])


def test_who_deserves_attention_is_answered_with_what_the_shop_holds(vardy: Vardy, shop: Database) -> None:
    said = answer(vardy, "Who deserves attention this week?", 1)
    cents = number(shop, "SELECT sum(amount_cents) FROM invoices WHERE status = 'open' AND due_on < date('now')")
    tickets = number(shop, "SELECT count(*) FROM tickets WHERE status = 'open'")
    assert f"{cents / 100:,.2f} euros are overdue, and {tickets} tickets are open" in said


def test_the_second_round_asks_for_what_the_first_one_found(vardy: Vardy, deployment: Deployment) -> None:
    deployment.model.forget()
    said = answer(vardy, "Which agent needs help?", 2)
    assert said.startswith("Rui Madeira has 2 open tickets, 1 of them urgent")
    assert "- ticket 5 of Inês Carvalhal: normal" in said
    # Addresses and texts of tickets were read, and not returned.
    sent = "".join(received.body.decode() for received in deployment.model.requests)
    assert "Rui Madeira" in sent
    assert "example.com" not in sent
    assert "We moved to another street" not in sent


def test_a_summary_that_was_cut_is_told_as_such_and_the_next_program_counts(
    vardy: Vardy, deployment: Deployment, shop: Database
) -> None:
    deployment.model.forget()
    said = answer(vardy, "What do our customers buy?", 2)
    orders = number(shop, "SELECT count(*) FROM orders WHERE status <> 'cancelled'")
    assert f"In {orders} orders they bought" in said
    assert "this is only a part" in deployment.model.requests[1].json["messages"][-1]["content"]


def test_a_program_that_does_not_validate_costs_a_round(vardy: Vardy, shop: Database) -> None:
    said = answer(vardy, "How long do we wait for our money?", 2)
    payments = number(shop, "SELECT count(*) FROM payments")
    assert f"over {payments} paid invoices" in said


def test_an_unknown_question_is_told_which_are_known(vardy: Vardy) -> None:
    said = answer(vardy, "Should we open a second shop?", 0)
    assert "not a language model" in said
    assert all(known.text in said for known in QUESTIONS)


def test_the_guides_example_does_what_it_says(deployment: Deployment) -> None:
    text = (ROOT / "docs" / "explore.md").read_text(encoding="utf-8")
    [source] = re.findall(r"^```python\n# ask\.py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "VARDY_URL": deployment.url, "VARDY_API_KEY": KEY}
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=False, timeout=90
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "SUCCESS"
    assert lines[1].startswith("Rui Madeira has 2 open tickets")
    assert [line[:2] for line in lines[-2:]] == ["1 ", "2 "]


def test_a_spent_up_day_ends_an_explore_between_two_rounds_and_takes_no_other(
    exploring: Deployment, script: Script
) -> None:
    question = "how many customers are there today?"
    script.teach(question, CITIES, "There are 14.")
    with exploring.client() as operator:
        made = operator.create_key(["submit", "read"], name="spender", quota={"tokens_per_day": 1})
        with Vardy(exploring.url, api_key=made.key) as vardy:
            job = vardy.explore(question, user=ANA, wait=True, timeout_seconds=SECONDS)
            assert (job.status, job.error and job.error.code) == (Status.GENERATION_ERROR, "generation.quota")
            assert [each.summary for each in job.rounds] == [{"customers": 14}]
            assert script.asked(question) == 1
            with pytest.raises(RateLimited) as refused:
                vardy.explore(question, user=ANA, wait=False)
            assert (refused.value.code, refused.value.details["of"]) == ("quota.exceeded", "key")
            spent = job.usage.prompt_tokens + job.usage.completion_tokens
            [share, *_] = vardy.usage().items
            assert share.used == Used(tokens=spent, cost_usd=job.usage.cost_usd)
