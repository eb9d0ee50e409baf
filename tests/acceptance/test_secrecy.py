"""No secret and no content of a job is in a log; and the search that shows it finds what it is for.

`running` searches what every deployment of the acceptance tests wrote, at level debug. Here the
search itself is tried: on files, and on a deployment whose functions give everything away.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import pytest

from tests.support.deployment import KEY, PROVIDER_KEY, Deployment, install_key, running
from tests.support.process_table import PROC, descendants, needs_proc
from tests.support.secrecy import contents_in, leaks_in
from vardy_api.client import Vardy
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope, User
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.embedded import EmbeddedServer
    from vardy_worker.contracts.view import JobView

SECONDS = 60.0
ANA = User(id="ana")
LEA = User(id="lea", roles=("support_lead",))

ROW = 'Ana "the Ü" Mistral, 14 Elm Road'
PLANTED = {
    "as it is": ROW,
    "in JSON": json.dumps({"row": ROW}),
    "in JSON of other letters": json.dumps({"row": ROW}, ensure_ascii=False),
    "in JSON within JSON": json.dumps({"line": json.dumps({"row": ROW})}),
    "as Python shows it": repr({"row": ROW}),
    "in an address": f"GET /find?name={quote(ROW)}",
    "cut off": ROW[:32] + "…",
    "in capitals": ROW.upper(),
    "at the end of a long line": "x" * 10_000 + ROW,
}


@pytest.mark.parametrize("line", PLANTED.values(), ids=PLANTED)
def test_a_content_is_found_with_file_and_line_in_every_way_it_may_be_written(tmp_path: Path, line: str) -> None:
    log = tmp_path / "planted"
    log.write_text(f"worker.ready\nrun.ended\n{line}\nworker.stopped\n", encoding="utf-8")
    assert [(leak.file, leak.line) for leak in leaks_in([log], secrets=(), contents=[ROW])] == [(str(log), 3)]


SECRETS = {
    "an API key that nobody named": f"vk_{'0' * 26}_{'a' * 43}",
    "a password in an address": "redis://:hunter22@127.0.0.1:6379/0 refused",
    "a password of a user": "rediss://vardy:hunter22@host refused",
    "a named secret": f"Authorization: Bearer {KEY}",
    "the provider's key": f"{{'api_key': '{PROVIDER_KEY}'}}",
}


@pytest.mark.parametrize("line", SECRETS.values(), ids=SECRETS)
def test_a_secret_is_found_whether_or_not_it_was_named(tmp_path: Path, line: str) -> None:
    log = tmp_path / "planted"
    log.write_text(f"starting\n{line}", encoding="utf-8")
    (leak,) = leaks_in([log], secrets=[KEY, PROVIDER_KEY], contents=())
    assert leak.line == 2
    assert not {KEY, PROVIDER_KEY, "hunter22"} & set(str(leak).split())


@pytest.mark.parametrize(
    "line",
    [
        "redis://:***@127.0.0.1:6379/0 refused",
        "http://127.0.0.1:8000/v1/jobs",
        "key.created key_id=key_01JDXM8J9F6Q4T5V7W8X9Y0Z1A scopes=['submit']",
        "vk_…",
    ],
)
def test_what_logs_are_for_is_no_leak(tmp_path: Path, line: str) -> None:
    log = tmp_path / "planted"
    log.write_text(line, encoding="utf-8")
    assert leaks_in([log], secrets=[KEY], contents=[ROW, "SUCCESS", "17", "run.ended", "2026-01-01T00:00:00Z"]) == []


def company(module: str, folder: Path) -> dict[str, str]:
    """The settings of a deployment with these functions, where writes of Lea's wait for an approval."""
    rules = folder / "rules.yaml"
    rules.write_text("default: approve\n", encoding="utf-8")
    return {"VARDY_FUNCTIONS": f"{module}:functions", "VARDY_RULES": str(rules)}


LOGGED = "content qzx8logged of a param"
PRINTED = "content qzx8printed of a param"
PROMISED = "content qzx8promised to a customer"
REASON = "content qzx8reason of somebody"
REQUEST = "content qzx8request in plain words"
META = "content qzx8meta of a caller"
SHOUTED = "content qzx8shouted at the console"
IDEMPOTENCY_KEY = "content-qzx8idempotency-of-a-caller"
REFUSED = "content qzx8refused by a function"


def forget_logs(folder: Path) -> None:
    """Takes away what leaks on purpose, as every log of the run is searched at its end."""
    for path in folder.glob("*.log"):
        path.unlink()


@pytest.fixture(scope="module")
def careless(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose functions may write anything; it is searched by the tests themselves."""
    folder = tmp_path_factory.mktemp("careless")
    settings = company("tests.support.careless", folder)
    with ScriptedModel() as model:
        made = Deployment(acceptance_server, model, folder, namespace="careless", settings=settings)
        install_key(made)
        try:
            # The API needs no provider and no model: it never asks one.
            made.launch("api", OPENAI_API_KEY="", OPENAI_API_BASE="", VARDY_MODEL="", VARDY_FUNCTIONS="")
            made.launch("worker")
            made.wait_ready("api")
            made.wait_ready("worker")
            yield made
        finally:
            made.stop_all()
            forget_logs(folder)


@pytest.fixture(scope="module")
def vardy(careless: Deployment) -> Iterator[Vardy]:
    with careless.client() as client:
        yield client


def run(vardy: Vardy, name: str, source: str, **params: str) -> JobView:
    vardy.save_recipe(name, source=f"async function run(params) {{ {source} }}", reviewed_by="rita")
    return vardy.run(recipe=name, params=params, user=ANA, metadata={"note": META}, timeout_seconds=SECONDS)


@pytest.fixture(scope="module")
def discreet(vardy: Vardy) -> list[JobView]:
    """Jobs full of contents, none of which is given away: a plan that was denied, a failure, a refused request."""
    sent = run(
        vardy, "send", "console.log(params.shout); return await send({to: params.to});", to=PROMISED, shout=SHOUTED
    )
    assert sent.status is Status.PENDING_APPROVAL
    denied = vardy.deny(sent, user=LEA, reason=REASON)
    failed = run(vardy, "refuse", "return await refuse({text: params.text});", text=REFUSED)
    assert (denied.status, failed.status) == (Status.POLICY_BLOCKED, Status.FUNCTION_ERROR)
    asked = vardy.run(REQUEST, user=ANA, timeout_seconds=SECONDS, idempotency_key=IDEMPOTENCY_KEY)
    return [denied, failed, asked]


def test_the_contents_of_jobs_are_what_is_searched_for(discreet: list[JobView], careless: Deployment) -> None:
    contents = contents_in(careless.store_url, careless.namespace)
    for planted in (PROMISED, REASON, REQUEST, META, SHOUTED):
        assert planted in contents
    assert any(REFUSED in text for text in contents)
    assert not {job.id for job in discreet} & contents
    assert not {"send", "FUNCTION_ERROR", "function.failed"} & contents


def test_nothing_is_given_away_to_those_who_may_not_see_it(
    discreet: list[JobView], vardy: Vardy, careless: Deployment
) -> None:
    """What anybody gets without a right to the job, and what has no key: written beside the logs, and searched so."""
    stranger = vardy.create_key([Scope.SUBMIT], owner="stranger").key
    paths = ["/metrics", "/openapi.json", "/docs", "/readyz", "/livez"]
    for job in discreet:
        paths += [f"/v1/jobs/{job.id}{part}" for part in ("", "/plan", "/console", "/journal", "/attempts", "/events")]
    seen = []
    with httpx.Client(base_url=careless.url, timeout=SECONDS) as http:
        for headers in ({}, {"Authorization": f"Bearer {stranger}"}, {"Authorization": f"Bearer {KEY}x"}):
            seen += [http.get(path, headers=headers).text for path in paths]
        broken = {"request": REQUEST, "user": {"id": PROMISED, "roles": REASON}, "params": [META], "nothing": SHOUTED}
        seen.append(http.post("/v1/run", json=broken, headers={"Authorization": f"Bearer {KEY}"}).text)
        # Of its own job's events a caller reads statuses and codes; contents are in the job alone.
        for job in discreet:
            seen.append(http.get(f"/v1/jobs/{job.id}/events", headers={"Authorization": f"Bearer {KEY}"}).text)
    answers = careless.folder / "answers"
    answers.write_text("\n".join(seen), encoding="utf-8")
    contents = contents_in(careless.store_url, careless.namespace)
    assert leaks_in([answers], secrets=careless.secrets, contents=contents) == []
    logs = sorted(careless.folder.glob("*.log"))
    assert leaks_in(logs, secrets=(), contents=[IDEMPOTENCY_KEY]) == []
    assert careless.leaks() == []
    assert "request.invalid" in seen[-len(discreet) - 1]


@needs_proc
def test_no_secret_is_in_a_command_line_and_none_but_the_workers_own_environment_has_the_providers_key(
    discreet: list[JobView], careless: Deployment
) -> None:
    assert discreet
    processes = {name: process.pid for name, process in careless.processes.items()}
    children = [seen.pid for pid in processes.values() for seen in descendants(pid)]
    everybody = [*processes.values(), *children]
    lines = b"\n".join((PROC / str(pid) / "cmdline").read_bytes() for pid in everybody)
    assert b"vardy" in lines
    for secret in careless.secrets:
        assert secret.encode() not in lines

    def variables(pid: int) -> bytes:
        return (PROC / str(pid) / "environ").read_bytes()

    assert PROVIDER_KEY.encode() in variables(processes["worker"])
    assert PROVIDER_KEY.encode() not in variables(processes["api"])
    assert children, "the sandboxes"
    assert {variables(child) for child in children} == {b""}


def test_no_secret_of_the_deployment_reaches_the_model(discreet: list[JobView], careless: Deployment) -> None:
    assert discreet
    bodies = [request.body.decode() for request in careless.model.requests]
    assert any(REQUEST in body for body in bodies)
    for secret in careless.secrets:
        assert not any(secret in body for body in bodies)


@pytest.mark.parametrize(
    ("name", "source", "given", "found"),
    [
        ("log", "return await log_it({text: params.text});", LOGGED, "the content"),
        ("print", "return await print_it({text: params.text});", PRINTED, "the content"),
        ("key", "return await print_provider_key();", "", "the secret"),
    ],
)
def test_whatever_a_function_gives_away_is_found(
    vardy: Vardy, careless: Deployment, name: str, source: str, given: str, found: str
) -> None:
    before = len(careless.log("worker").splitlines())
    assert run(vardy, name, source, text=given).status is Status.SUCCESS
    leaks = [leak for leak in careless.leaks() if leak.line > before]
    assert leaks
    assert {leak.file for leak in leaks} == {str(careless.log_path("worker"))}
    assert all(leak.what.startswith(found) for leak in leaks), leaks


def test_a_deployment_that_gives_something_away_fails_the_tests_that_use_it(
    careless: Deployment, tmp_path: Path
) -> None:
    settings = company("tests.support.careless", tmp_path)
    made = Deployment(careless.redis, careless.model, tmp_path, namespace="given-away", settings=settings)
    with pytest.raises(AssertionError, match=r"worker\.log:1: the secret"), running(made):
        made.log_path("worker").write_text(f"{PROVIDER_KEY}\n", encoding="utf-8")
    forget_logs(tmp_path)
