"""Programs that have texts judged, from the command line to the wire of the judge's model.

What the judge is given reaches its own requests and no others: every byte that the model's
server received is searched for the marks of the texts.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support import vault
from tests.support.deployment import ROOT, Deployment, running
from tests.support.scripts import Script, program, source
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope, User
from vardy_worker.demo.database import Database
from vardy_worker.demo.phrases import Answer
from vardy_worker.demo.scripted import JUDGE_MODEL, MODEL, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.client import Vardy
    from vardy_api.embedded import EmbeddedServer
    from vardy_worker.contracts.view import JobView
    from vardy_worker.demo.scripted import Received

ANA = User(id="ana")
MARK = vault.PREFIX
LEASE_MS = 1000
ROWS = "const rows = (await list_rows()).map((row) => row.name);"
SORT_PARAMS = "return await classify(params.texts, ['even', 'odd', 'round']);"
SORT_ROWS = f"{ROWS} return (await classify(rows, ['even', 'odd'])).counts;"
TASK = "return await ai('Which one?', params, {type: {city: 'string', parts: ['number']}});"
TASK_VALUE = {"city": "Faro", "parts": [1, 2.5]}


class JudgeScript:
    """A judge that tells even numbers from odd ones, and knows one task. It can be held up."""

    def __init__(self) -> None:
        self._held: dict[str, threading.Event] = {}

    @contextmanager
    def held(self, word: str) -> Iterator[threading.Event]:
        """Questions with this word in a text wait until the event is set, at the latest by the end of the block."""
        self._held[word] = threading.Event()
        try:
            yield self._held[word]
        finally:
            self._held.pop(word).set()

    def __call__(self, messages: list[tuple[str, str]]) -> Answer | None:
        asked = messages[-1][1]
        for word, event in list(self._held.items()):
            if word in asked:
                event.wait(60)
        if asked.startswith("<data>\n"):
            return Answer(json.dumps({"value": TASK_VALUE}))
        if not asked.startswith("<texts>\n"):
            return None
        lines = asked.partition("\n")[2].partition("\n</texts>")[0].splitlines()
        return Answer(json.dumps({text["id"]: label_of(text["text"]) for text in map(json.loads, lines)}))


def label_of(text: str) -> str:
    return "even" if int(text[-1]) % 2 == 0 else "odd"


def texts(count: int, kind: str) -> list[str]:
    return [f"{MARK}text of {kind} {number}" for number in range(count)]


@pytest.fixture(scope="module")
def script() -> Script:
    return Script()


@pytest.fixture(scope="module")
def judge() -> JudgeScript:
    return JudgeScript()


@pytest.fixture(scope="module")
def deployed(
    acceptance_server: EmbeddedServer, script: Script, judge: JudgeScript, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("judged")
    rules = folder / "rules.yaml"
    rules.write_text("default: allow\n", encoding="utf-8")
    settings = {
        "VARDY_FUNCTIONS": "tests.support.vault:functions",
        "VARDY_RULES": str(rules),
        "VARDY_MODEL_RETRIES": "0",
        "VARDY_EXECUTE_LEASE_SECONDS": str(LEASE_MS // 1000),
        "VARDY_GENERATE_LEASE_SECONDS": str(LEASE_MS // 1000),
        "VARDY_LOG_LEVEL": "debug",
    }
    with ScriptedModel(answer=lambda messages: judge(messages) or script(messages)) as model:
        made = Deployment(acceptance_server, model, folder, namespace="judged", settings=settings)
        with running(made, "api", "worker"):
            yield made


@pytest.fixture(scope="module")
def vardy(deployed: Deployment) -> Iterator[Vardy]:
    with deployed.client() as client:
        yield client


@pytest.fixture
def model(deployed: Deployment) -> ScriptedModel:
    deployed.model.forget()
    return deployed.model


def to_the_judge(model: ScriptedModel) -> list[Received]:
    return [request for request in model.requests if name_of(request) == JUDGE_MODEL]


def to_the_main_model(model: ScriptedModel) -> list[Received]:
    return [request for request in model.requests if name_of(request) == MODEL]


def name_of(request: Received) -> str:
    return f"openai/{request.json['model']}"


def ask(vardy: Vardy, script: Script, request: str, body: str, **fields: object) -> JobView:
    script.teach(request, program(body))
    return vardy.run(request, user=ANA, judge=True, timeout_seconds=60, **fields)  # type: ignore[arg-type] # fields by name


def test_a_hundred_texts_are_judged_in_three_calls_and_later_in_none(
    vardy: Vardy, script: Script, model: ScriptedModel
) -> None:
    params = {"texts": texts(100, "hundred")}
    job = ask(vardy, script, "sort a hundred", SORT_PARAMS, params=params)
    assert job.status is Status.SUCCESS, job.error
    assert job.output["labels"] == ["even", "odd"] * 50
    assert job.output["counts"] == {"even": 50, "odd": 50, "round": 0, "unknown": 0}
    assert (len(to_the_judge(model)), len(to_the_main_model(model))) == (3, 1)
    assert job.usage.judge.calls == 3
    assert job.usage.judge.prompt_tokens > job.usage.prompt_tokens > 0
    again = ask(vardy, script, "sort a hundred", SORT_PARAMS, params={"texts": params["texts"][::-1]})
    assert again.output["labels"] == ["odd", "even"] * 50
    assert (len(to_the_judge(model)), again.usage.judge.calls) == (3, 0)


def test_texts_reach_the_judge_and_never_the_main_model_whatever_the_program_does(
    vardy: Vardy, script: Script, model: ScriptedModel, deployed: Deployment
) -> None:
    throws = f"{ROWS} const found = await classify(rows, ['even', 'odd']); throw new Error(rows.join() + found.labels);"
    wrong = (
        f"{ROWS} try {{ await classify([rows], ['even', 'odd']); }} catch (e) {{ throw new Error(e.message + rows); }}"
    )
    options = f"{ROWS} return await ai('Which one?', rows, {{type: rows[0]}});"
    script.teach("never", program(throws), program(wrong), program(options), program(SORT_ROWS))
    job = vardy.run("never", user=ANA, judge=True, execution_repairs=3, timeout_seconds=60)
    assert (job.status, job.output) == (Status.SUCCESS, {"even": 2, "odd": 1, "unknown": 0})
    assert len(to_the_main_model(model)) == 4
    assert [MARK in request.body.decode() for request in to_the_judge(model)] == [True]
    assert [request for request in to_the_main_model(model) if MARK in request.body.decode()] == []
    assert "classify: 1 call, done" in to_the_main_model(model)[1].body.decode()
    assert MARK not in deployed.log()


def test_an_explore_shows_the_model_what_the_program_returned_of_judged_texts_and_no_text(
    vardy: Vardy, script: Script, model: ScriptedModel
) -> None:
    script.teach("how many are odd?", program(SORT_ROWS.replace("'odd'", "'odd', 'neither'")), "One is odd.")
    job = vardy.explore("how many are odd?", user=ANA, judge=True, timeout_seconds=60)
    assert (job.status, job.answer) == (Status.SUCCESS, "One is odd.")
    assert job.rounds[0].summary == {"even": 2, "odd": 1, "neither": 0, "unknown": 0}
    assert [request for request in to_the_main_model(model) if MARK in request.body.decode()] == []
    assert (len(to_the_judge(model)), job.usage.judge.calls) == (1, 1)


def test_a_recipe_judges_by_both_functions_without_any_call_of_the_main_model(
    model: ScriptedModel, deployed: Deployment
) -> None:
    task = f"const found = await (async () => {{ {TASK} }})();"
    path = deployed.folder / "sorted.js"
    body = f"const sorted = await classify(params.texts, ['even', 'odd']); {task} return [sorted.labels, found];"
    path.write_text(source(body), encoding="utf-8")
    deployed.cli("recipes", "save", "sorted", "--file", str(path), "--judge", "--reviewed-by", "lea")
    params = json.dumps({"texts": texts(2, "recipe")})
    ran = deployed.cli("recipes", "run", "sorted", "--params", params, "--user", "ana", "--json")
    job = json.loads(ran.stdout)
    assert job["output"] == [["even", "odd"], TASK_VALUE]
    assert (len(to_the_judge(model)), to_the_main_model(model)) == (2, [])
    shown = deployed.cli("jobs", "show", job["id"], "--full").stdout
    assert "judge  2 calls, " in shown


def test_a_key_without_the_scope_runs_neither_a_request_nor_a_recipe_that_judges(
    vardy: Vardy, deployed: Deployment
) -> None:
    vardy.save_recipe("judging", source=source(SORT_PARAMS), judge=True)
    key = vardy.create_key([Scope.SUBMIT], name="plain").key
    for asked in (["sort them", "--judge"], ["--recipe", "judging"]):
        refused = deployed.cli("run", *asked, "--user", "ana", "--no-wait", "--json", check=False, VARDY_API_KEY=key)
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (1, "auth.scope")


def test_a_budget_is_refused_before_any_call_is_made(vardy: Vardy, script: Script, model: ScriptedModel) -> None:
    params = {"texts": texts(100, "budget")}
    job = ask(vardy, script, "too much", SORT_PARAMS, params=params, limits={"judge_calls_max": 2})
    assert job.error is not None
    assert (job.status, job.error.code) == (Status.EXECUTION_ERROR, "execution.judge_budget")
    assert (job.error.details["limit"], job.error.details["line"]) == ("judge_calls_max", 2 + 1)
    assert to_the_judge(model) == []
    caught = f"try {{ {SORT_PARAMS} }} catch (error) {{ return error.code; }}"
    job = ask(vardy, script, "too much, caught", caught, params=params, limits={"judge_tokens_max": 100})
    assert (job.status, job.output) == (Status.SUCCESS, "execution.judge_budget")


def test_a_job_stays_in_hand_while_its_judge_takes_longer_than_a_lease(
    vardy: Vardy, script: Script, judge: JudgeScript, model: ScriptedModel, deployed: Deployment
) -> None:
    script.teach("slow", program(SORT_PARAMS))
    with judge.held("slow 0") as going_on:
        job = vardy.run("slow", user=ANA, judge=True, params={"texts": texts(1, "slow")}, wait=False)
        first = eventually(lambda: len(to_the_judge(model)) == 1) and deployed.job(job.id).lease_until_ms
        assert eventually(lambda: deployed.job(job.id).lease_until_ms > first + 2 * LEASE_MS)
        going_on.set()
        ended = vardy.wait(job.id, timeout_seconds=60)
    assert (ended.status, ended.output["labels"]) == (Status.SUCCESS, ["even"])
    assert deployed.job(job.id).fence == 1


def test_a_judge_that_does_not_answer_ends_by_the_deadline_of_the_program(
    vardy: Vardy, script: Script, judge: JudgeScript
) -> None:
    script.teach("hang", program(SORT_PARAMS))
    limits = {"execute_seconds_max": 1.0}
    with judge.held("hang 0"):
        job = vardy.run("hang", user=ANA, judge=True, params={"texts": texts(1, "hang")}, limits=limits)
    assert job.error is not None
    assert (job.status, job.error.code) == (Status.EXECUTION_ERROR, "execution.timeout")
    assert job.usage.judge.calls == 1


def test_a_job_whose_worker_is_killed_while_the_judge_is_asked_ends_with_the_same_labels(
    vardy: Vardy, script: Script, judge: JudgeScript, model: ScriptedModel, deployed: Deployment
) -> None:
    first = "const first = await classify(params.first, ['even', 'odd']);"
    second = "const second = await classify(params.second, ['even', 'odd']); return [first.labels, second.labels];"
    script.teach("killed", program(f"{first} {second}"))
    params = {"first": texts(3, "first"), "second": texts(2, "second")}
    with judge.held("second 0"):
        job = vardy.run("killed", user=ANA, judge=True, params=params, wait=False)
        assert eventually(lambda: len(to_the_judge(model)) == 2)
        assert deployed.job(job.id).usage.judge.calls == 1
        worker = deployed.processes.pop("worker")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    deployed.start("worker")
    ended = vardy.wait(job.id, timeout_seconds=60)
    assert (ended.status, ended.output) == (Status.SUCCESS, [["even", "odd", "even"], ["even", "odd"]])
    # The first question was answered from what is kept, the second one again.
    assert [len(to_the_judge(model)), ended.usage.judge.calls] == [3, 2]
    assert len(to_the_main_model(model)) == 1


def test_the_guides_command_has_the_demos_tickets_judged(deployment: Deployment) -> None:
    text = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
    [command] = re.findall(r"^```sh\n(vardy run .*)\n```$", text, re.MULTILINE)
    _, *arguments = shlex.split(command)
    job = json.loads(deployment.cli(*arguments, "--json").stdout)
    counts, faulty = job["output"]["counts"], job["output"]["faulty_product_tickets"]
    # Other tests may have opened tickets in the same shop.
    seeded = {"delivery": 1, "wrong product": 1, "faulty product": 2, "billing": 0, "account": 1, "unknown": 0}
    assert counts.keys() == seeded.keys()
    assert all(counts[label] >= many for label, many in seeded.items())
    assert (faulty[:2], len(faulty)) == ([4, 6], counts["faulty product"])
    with closing(Database()) as shop:
        shop.open(deployment.folder / "shop")
        [(opened,)] = shop.rows("SELECT count(*) FROM tickets WHERE status = 'open'")
    assert sum(counts.values()) == opened
    without = deployment.cli(*[each for each in arguments if each != "--judge"], "--json", check=False)
    assert json.loads(without.stdout)["error"]["code"] == "validation.program"
