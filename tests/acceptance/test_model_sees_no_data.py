"""No byte of the company's data reaches the main model, whatever a program does with it; nor a log.

Real programs fail in every way that could carry data into a repair prompt, or into the next
round of an explore; then every request that the model's server received, and everything that
API and worker logged, is searched. Only what a program of an explore returned is found.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support import vault
from tests.support.deployment import PROVIDER_KEY, Deployment, running
from tests.support.scripts import Script, program
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.demo.scripted import HttpFault, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.client import Vardy
    from vardy_api.embedded import EmbeddedServer
    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.view import JobView
    from vardy_worker.demo.scripted import Received

ANA = User(id="ana")
SECONDS = 60.0
PARAM = f"{vault.PREFIX}param"
CONTROL_IN_PROGRAM = "wkv3program"
CONTROL_IN_REQUEST = "wkv3request"
CONTROL_IN_ANSWER = "wkv3answer"

AGAIN = "catch (e) { throw new Error(e.message + key); }"
READ = "const rows = await list_rows(); const names = await count_by_name(); const key = Object.keys(names)[0];"
WELL = program("return (await list_rows()).length;")

# By what they throw: each program fails, and the model is asked to repair it.
FAILURES: dict[str, str] = {
    "rows as the message": f"{READ} throw new Error(JSON.stringify(rows));",
    "rows as the error": f"{READ} throw rows;",
    "a value as the error": f"{READ} throw rows[0].name;",
    "rows as the cause": f'{READ} throw new Error("failed", {{cause: rows}});',
    "an error with a row as the cause": f'{READ} throw new TypeError("x", {{cause: new Error(rows[0].name)}});',
    "a value as the name": f'{READ} const e = new Error("x"); e.name = rows[0].name; throw e;',
    "a value in a stack": f'{READ} const e = new Error("x"); e.stack = rows[0].name; throw e;',
    "many errors": f'{READ} throw new AggregateError(rows.map((row) => new Error(row.name)), "many");',
    "a key of nothing": f"{READ} const nothing = rows[9]; return nothing[key];",
    "a method named by data": f"{READ} return rows[0][key]();",
    "a class named by data": f"{READ} class Odd extends Error {{ get name() {{ return key; }} }} throw new Odd(key);",
    "parsing a value": f"{READ} return JSON.parse(rows[0].name);",
    "a number out of a value": f"{READ} return BigInt(rows[0].name);",
    "a pattern out of a value": f'{READ} return new RegExp(rows[0].name + "(");',
    "a length out of nothing": f"{READ} return new Array(-names[key] - 1);",
    "a cycle under a key of data": f'{READ} const all = {{[key]: 1}}; all[key + "self"] = all; return all;',
    "a missing method of a value": f"{READ} return rows[0].name.toLocaleString() + names.toLocaleString();",
    "a frozen value": f'{READ} "use strict"; Object.freeze(rows[0])[key] = rows; throw new Error(key);',
    "a message of a function": f"{READ} try {{ await find({{name: rows[0].name}}); }} {AGAIN}",
    "everything of a function's error": (
        f"{READ} try {{ await find({{name: key}}); }} catch (e) "
        "{ throw new Error(JSON.stringify([e.name, e.message, e.code, e.stack, {...e}])); }"
    ),
    "an unexpected exception": f"{READ} try {{ await fall({{name: rows[0].name}}); }} {AGAIN}",
    "nonsense of a function": f"{READ} try {{ await give_nonsense(); }} {AGAIN}",
    "a wrong argument": f"{READ} try {{ await double({{value: rows[0].name}}); }} {AGAIN}",
    "an unknown argument": f"{READ} const args = {{[key]: 1}}; try {{ await double(args); }} {AGAIN}",
    "a param": "throw new Error(`${params.secret} ${JSON.stringify(params)}`);",
    "a key of params": "const nothing = params.nothing; return nothing[params.secret];",
    "the result of a write as a text": f"{READ} const sent = await send({{to: key}}); return [key, sent].join();",
    "a promise that never settles": f"{READ} console.log(rows); await new Promise(() => rows);",
    "a recursion": f"{READ} const down = (row) => down({{...row, more: row}}); return down(rows[0]);",
    "an output too large": f"{READ} return rows[0].name.repeat(100_000);",
}
PRINTED = f'console.log("{vault.PREFIX[:2]}" + "{vault.PREFIX[2:]}console"); console.error(await list_rows(), params);'
REPAIRS = 3
ROUNDS = 20

SUMMARISED = "what are the rows called?"
"""The one question whose program returns data."""
SUMMARY = (
    f"{PRINTED} {READ} try {{ await find({{name: key}}); }} "
    "catch (e) { return {name: rows[0].name, code: e.code}; }"
)


def bundles(size: int) -> list[list[str]]:
    """The failures, as many to a job as it may have."""
    bodies = list(FAILURES.values())
    return [bodies[start : start + size] for start in range(0, len(bodies), size)]


@pytest.fixture(scope="module")
def script() -> Script:
    return Script()


@pytest.fixture(scope="module")
def vaulted(
    acceptance_server: EmbeddedServer, script: Script, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """A deployment with the company of marks."""
    folder = tmp_path_factory.mktemp("vaulted")
    rules = folder / "rules.yaml"
    rules.write_text("default: allow\n", encoding="utf-8")
    settings = {
        "VARDY_FUNCTIONS": "tests.support.vault:functions",
        "VARDY_RULES": str(rules),
        "VARDY_GENERATION_ATTEMPTS": "3",
        "VARDY_EXPLORE_ROUNDS_MAX": str(ROUNDS),
        "VARDY_MODEL_RETRIES": "0",
        "VARDY_LOG_LEVEL": "debug",
    }
    with ScriptedModel(answer=script) as model:
        made = Deployment(acceptance_server, model, folder, namespace="vaulted", settings=settings)
        with running(made, "api", "worker"):
            yield made


@pytest.fixture(scope="module")
def vardy(vaulted: Deployment) -> Iterator[Vardy]:
    with vaulted.client() as client:
        yield client


@pytest.fixture(scope="module")
def jobs(vardy: Vardy, vaulted: Deployment, script: Script) -> dict[str, JobView]:
    """Every job of this module, settled, by its request."""
    waiting: dict[str, JobView] = {}

    def ask(request: str, *answers: str) -> None:
        script.teach(request, *answers)
        waiting[request] = vardy.run(request, params={"secret": PARAM}, user=ANA, execution_repairs=REPAIRS, wait=False)

    def question(text: str, *answers: str) -> None:
        script.teach(text, *answers)
        waiting[text] = vardy.explore(text, params={"secret": PARAM}, user=ANA, wait=False)

    for number, bodies in enumerate(bundles(ROUNDS - 1)):
        programs = [program(f"{PRINTED} {body}") for body in bodies]
        question(f"explored failures {number}", *programs, WELL, "Three.")
    question(SUMMARISED, program(SUMMARY), "They are called something.")
    for number, bodies in enumerate(bundles(REPAIRS)):
        ask(f"failures {number}", *(program(f"{PRINTED} {body}") for body in bodies), WELL)
    unknown = program(f"// {CONTROL_IN_PROGRAM}\n{READ} return list_row({{name: rows[0].name}});")
    ask(f"no program at first {CONTROL_IN_REQUEST}", f"I would rather not. {CONTROL_IN_ANSWER}", unknown, WELL)
    ask("fall", program(f"{READ} return await fall({{name: rows[0].name}});"))
    ask("find", program(f"{READ} return await find({{name: rows[0].name}});"))
    ask("double", program(f"{READ} return await double({{value: rows[0].name}});"))
    ask("send", program(f"{READ} const sent = await send({{to: rows[0].name}}); return sent;"))
    ask("drop", program(f"{READ} return await drop({{to: rows[0].name}});"))
    settled = {request: vardy.wait(job.id, timeout_seconds=SECONDS) for request, job in waiting.items()}
    # A provider that repeats the request in its error.
    vaulted.model.misbehave(HttpFault(status=400))
    request = f"refused {CONTROL_IN_REQUEST}"
    settled[request] = vardy.run(request, params={"secret": PARAM}, user=ANA, timeout_seconds=SECONDS)
    return settled


@pytest.fixture(scope="module")
def everything(jobs: dict[str, JobView], vaulted: Deployment) -> tuple[Received, ...]:
    """What the model's server received."""
    assert jobs
    return vaulted.model.requests


@pytest.fixture(scope="module")
def summarised(everything: tuple[Received, ...]) -> list[Received]:
    """The part of it about the one question whose program returned data."""
    return [request for request in everything if SUMMARISED in everything_in(request)]


@pytest.fixture(scope="module")
def received(everything: tuple[Received, ...], summarised: list[Received]) -> list[Received]:
    """All the rest of it."""
    return [request for request in everything if request not in summarised]


def texts(value: JsonValue) -> Iterator[str]:
    """Every text in a JSON value, keys too, also as it reads with its escapes undone."""
    match value:
        case str():
            yield value
            yield value.encode("ascii", "backslashreplace").decode("unicode_escape", "replace")
        case dict():
            for key, item in value.items():
                yield key
                yield from texts(item)
        case list():
            for item in value:
                yield from texts(item)


def everything_in(request: Received) -> str:
    """One request, in every reading, in lower case."""
    headers = [f"{name}: {value}" for name, value in request.headers.items()]
    return "\n".join([request.body.decode(), *headers, *texts(request.json)]).lower()


def around(text: str, word: str) -> list[str]:
    """Where a word stands, for the message of a test that fails."""
    found = []
    place = text.find(word)
    while place >= 0:
        found.append(text[max(place - 80, 0) : place + 80])
        place = text.find(word, place + 1)
    return found


def test_every_failure_was_sent_back_to_the_model(jobs: dict[str, JobView], script: Script) -> None:
    for number, bodies in enumerate(bundles(REPAIRS)):
        request = f"failures {number}"
        assert (jobs[request].status, jobs[request].output) == (Status.SUCCESS, 3), jobs[request].error
        assert script.asked(request) == len(bodies) + 1, bodies
    assert jobs[f"no program at first {CONTROL_IN_REQUEST}"].status is Status.SUCCESS


def test_every_failed_round_was_told_to_the_model(jobs: dict[str, JobView], script: Script) -> None:
    for number, bodies in enumerate(bundles(ROUNDS - 1)):
        question = f"explored failures {number}"
        job = jobs[question]
        assert (job.status, job.answer) == (Status.SUCCESS, "Three."), job.error
        assert [each.error is None for each in job.rounds] == [False] * len(bodies) + [True]
        assert job.rounds[-1].summary == 3
        assert script.asked(question) == len(bodies) + 2


def test_of_an_explore_the_model_sees_what_a_program_returned_and_nothing_else(
    jobs: dict[str, JobView], summarised: list[Received]
) -> None:
    returned = {"name": f"{vault.ROW_VALUE}0", "code": "function.failed"}
    assert jobs[SUMMARISED].rounds[0].summary == returned
    first, second = summarised
    assert vault.PREFIX not in everything_in(first)
    said = everything_in(second)
    assert vault.ROW_VALUE in said
    assert vault.PREFIX not in said.replace(f"{vault.ROW_VALUE}0", "")


def test_no_mark_is_in_any_byte_that_the_model_received(received: list[Received]) -> None:
    leaks = [place for request in received for place in around(everything_in(request), vault.PREFIX)]
    assert leaks == []


@pytest.mark.parametrize("control", [CONTROL_IN_PROGRAM, CONTROL_IN_REQUEST, CONTROL_IN_ANSWER])
def test_what_the_model_may_see_is_found_by_the_same_search(received: list[Received], control: str) -> None:
    assert any(control in everything_in(request) for request in received)


def test_the_marks_were_where_programs_and_people_see_them(jobs: dict[str, JobView], vardy: Vardy) -> None:
    console = vardy.console(jobs["failures 0"]).model_dump_json()
    assert f"{vault.PREFIX}console" in console
    assert vault.ROW_VALUE in console
    found = jobs["find"]
    assert found.error is not None
    assert vault.FUNCTION_ERROR in found.error.message
    assert jobs["send"].output == {"text": vault.RESULT}


def test_the_statuses_are_those_of_the_failures(jobs: dict[str, JobView]) -> None:
    ends = {request: (job.status, job.error.code if job.error else "") for request, job in jobs.items()}
    assert ends["fall"] == (Status.FUNCTION_ERROR, "function.crashed")
    assert ends["find"] == (Status.FUNCTION_ERROR, "function.failed")
    assert ends["double"] == (Status.VALIDATION_BLOCKED, "validation.arguments")
    assert ends["drop"] == (Status.PARTIAL, "commit.unknown")
    assert ends[f"refused {CONTROL_IN_REQUEST}"] == (Status.GENERATION_ERROR, "generation.model_rejected")


@pytest.mark.parametrize(
    "mark",
    [
        vault.ROW_VALUE,
        vault.ROW_KEY,
        vault.FUNCTION_ERROR,
        vault.LOCAL_VARIABLE,
        vault.RESULT,
        PARAM,
        f"{vault.PREFIX}console",
        CONTROL_IN_PROGRAM,
        CONTROL_IN_REQUEST,
        CONTROL_IN_ANSWER,
        PROVIDER_KEY,
    ],
)
def test_no_log_has_rows_params_requests_programs_or_keys(
    jobs: dict[str, JobView], vaulted: Deployment, mark: str
) -> None:
    assert jobs
    assert around(vaulted.log().lower(), mark) == []


@pytest.mark.parametrize(("request_text", "mark"), [("fall", vault.EXCEPTION), ("drop", vault.WRITE_EXCEPTION)])
def test_an_unexpected_exception_is_in_the_workers_log_alone_under_its_correlation_id(
    jobs: dict[str, JobView], vaulted: Deployment, request_text: str, mark: str
) -> None:
    job = jobs[request_text]
    assert job.error is not None
    assert mark not in job.model_dump_json()
    assert mark not in vaulted.log("api")
    correlation_id = str(job.error.details["correlation_id"])
    lines = [json.loads(line) for line in vaulted.log("worker").splitlines() if correlation_id in line]
    assert len(lines) == 1
    assert mark in lines[0]["exception"]
    assert lines[0]["job_id"] == job.id
