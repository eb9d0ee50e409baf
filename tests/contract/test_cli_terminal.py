"""The command line as people and shells run it: a process of its own, over HTTP, in a terminal or a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.api import ApiWorld, LoopThread
from tests.support.audit import entries, note
from tests.support.factories import effect
from tests.support.serving import served
from tests.support.terminal import Terminal
from tests.support.waiting import eventually
from vardy_worker.contracts.audit import SETTINGS, Action
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from vardy_worker.contracts.job import JobRecord

VARDY = (sys.executable, "-m", "vardy_api.cli")
LEAD = ("--user", "lea", "--role", "support_lead")
NOT_FOR_HTTP = {"celery", "kombu", "redis", "litellm", "wasmtime", "fastapi", "starlette", "uvicorn", "jsonschema"}
NOT_FOR_HELP = NOT_FOR_HTTP | {"httpx", "vardy_api.client", "vardy_api.shapes", "vardy_worker.contracts.job"}
LOADED = """
import json, sys
from vardy_api.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write(json.dumps({"code": code, "modules": sorted(sys.modules)}))
"""


@pytest.fixture
def world() -> Iterator[ApiWorld]:
    loop = LoopThread()
    yield ApiWorld(loop)
    loop.close()


@pytest.fixture
def environment(world: ApiWorld) -> Iterator[dict[str, str]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VARDY_")}
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CI"):
        kept.pop(name, None)
    with served(world.app) as server:
        yield kept | {"TERM": "xterm-256color", "VARDY_URL": server.url, "VARDY_API_KEY": world.token()}


def in_terminal(environment: Mapping[str, str], *arguments: str, columns: int = 80) -> Terminal:
    return Terminal([*VARDY, *arguments], environment, columns=columns)


def piped(environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*VARDY, *arguments],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def stored(world: ApiWorld, job_id: str) -> JobRecord:
    record = world.store.get(job_id)
    assert record is not None
    return record


LONG = "cancel every order of the customer that was placed before the warehouse moved to the other town"


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_terminal_and_keep_whole_ids(world: ApiWorld, environment: dict[str, str], columns: int) -> None:
    job = world.job(Status.PENDING_APPROVAL, effects=(effect(args={"payment_id": 1, "note": LONG}),))
    noted = [note(action, at_ms=0, reason=LONG) for action in Action]
    world.store.change(Change(job.id, frozenset(Status), audit=noted))
    for arguments in (("jobs", "list"), ("jobs", "show", job.id), ("audit", "list")):
        with in_terminal(environment, *arguments, columns=columns) as terminal:
            terminal.end()
            assert terminal.is_coloured
            assert job.id in terminal.plain
            too_long = [line for line in terminal.plain.split("\n") if len(line) > columns]
            # Commands to copy are never broken.
            assert [line for line in too_long if not line.startswith("  vardy ")] == []


def test_colour_stays_off_where_it_is_not_wanted(world: ApiWorld, environment: dict[str, str]) -> None:
    world.job(Status.SUCCESS)
    with in_terminal(environment | {"NO_COLOR": "1"}, "jobs", "list") as terminal:
        assert terminal.end() == 0
        assert "\x1b[3" not in terminal.shown
    assert "\x1b" not in piped(environment, "jobs", "list").stdout


def test_a_pipe_gets_whole_lines(world: ApiWorld, environment: dict[str, str]) -> None:
    job = world.job(Status.PENDING_APPROVAL, effects=(effect(args={"note": LONG}),))
    ran = piped(environment, "jobs", "show", job.id)
    assert LONG in ran.stdout
    assert not any(line.endswith(" ") for line in ran.stdout.splitlines())


def test_a_person_sees_the_plan_before_approving_it(
    world: ApiWorld, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit(_queue: str, job_id: str) -> None:
        world.move(job_id, Status.COMMITTING, Status.SUCCESS)

    monkeypatch.setattr(world.queue, "publish", commit)
    job = world.job(Status.PENDING_APPROVAL, effects=(effect(args={"payment_id": 4711}),))
    with in_terminal(environment, "approvals", "approve", job.id, *LEAD) as terminal:
        terminal.wait_for("Approve this plan? [y/N]")
        assert '{"payment_id": 4711}' in terminal.plain
        assert "async function run" in terminal.plain
        terminal.type("n")
        assert terminal.end() == 1
        assert "Nothing was changed" in terminal.plain
    with in_terminal(environment, "approvals", "approve", job.id, *LEAD) as terminal:
        terminal.wait_for("Approve this plan? [y/N]")
        terminal.interrupt()
        assert terminal.end() == 130
        assert "\nError: Interrupted: nothing was changed." in terminal.plain
    assert stored(world, job.id).decisions == ()
    with in_terminal(environment, "approvals", "approve", job.id, *LEAD) as terminal:
        terminal.wait_for("Approve this plan? [y/N]")
        terminal.type("y")
        assert terminal.end() == 0
        assert "SUCCESS" in terminal.plain
    decision = stored(world, job.id).decisions[0]
    assert (decision.user.id, decision.via, decision.digest) == ("lea", "cli", job.digest)


def test_a_plan_that_changes_while_a_person_reads_is_not_approved(world: ApiWorld, environment: dict[str, str]) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    other = world.job(Status.PENDING_APPROVAL, effects=(effect(args={"payment_id": 666}),))
    with in_terminal(environment, "approvals", "approve", job.id, *LEAD) as terminal:
        terminal.wait_for("[y/N]")
        world.move(
            job.id,
            Status.PENDING_APPROVAL,
            Status.PENDING_APPROVAL,
            {"plan": stored(world, other.id).plan, "revision": 2},
        )
        terminal.type("y")
        assert terminal.end() == 4
    assert stored(world, job.id).decisions == ()


def test_a_wait_shows_the_status_until_the_job_settles(world: ApiWorld, environment: dict[str, str]) -> None:
    job = world.job(Status.RUNNING)
    with in_terminal(environment, "jobs", "wait", job.id) as terminal:
        terminal.wait_for(f"{job.id} RUNNING")
        world.move(job.id, Status.RUNNING, Status.SUCCESS, {"output": {"open": 3}})
        assert terminal.end() == 0
        assert '"open": 3' in terminal.plain


def test_a_wait_for_an_explore_shows_the_round_under_way_and_each_that_ended_once(
    world: ApiWorld, environment: dict[str, str]
) -> None:
    program = Program(source="async function run() {\n  return 1;\n}\n", sha256="0" * 64)
    job = world.explore()
    with in_terminal(environment, "jobs", "wait", job.id) as terminal:
        terminal.wait_for(f"{job.id} round 1: writing a program …")
        first = Round(n=1, program=program)
        world.move(job.id, Status.RUNNING, Status.RUNNING, {"rounds": (first,)})
        terminal.wait_for(f"{job.id} round 1: reading …")
        ended = first.model_copy(update={"summary": {"open": 3}, "ended_at_ms": 1})
        world.move(job.id, Status.RUNNING, Status.RUNNING, {"rounds": (ended,)})
        terminal.wait_for("round 1: returned 10 bytes")
        terminal.wait_for(f"{job.id} answering, or looking further …")
        world.move(job.id, Status.RUNNING, Status.RUNNING, {"rounds": (ended, Round(n=2, program=program))})
        terminal.wait_for(f"{job.id} round 2: reading …")
        before_the_report = terminal.plain
        world.move(job.id, Status.RUNNING, Status.SUCCESS, {"rounds": (ended,), "answer": "Three."})
        assert terminal.end() == 0
    assert before_the_report.count("round 1: returned 10 bytes") == 1
    assert "Three." in terminal.plain


def test_ctrl_c_ends_a_wait_and_not_the_job(world: ApiWorld, environment: dict[str, str]) -> None:
    job = world.job(Status.RUNNING)
    with in_terminal(environment, "jobs", "wait", job.id) as terminal:
        terminal.wait_for(f"{job.id} RUNNING")
        terminal.interrupt()
        assert terminal.end() == 130
        assert f"`vardy jobs wait {job.id}`" in terminal.plain
        assert "Traceback" not in terminal.plain
    assert stored(world, job.id).status is Status.RUNNING


def test_bulk_work_asks_and_shows_its_progress(world: ApiWorld, environment: dict[str, str]) -> None:
    jobs = [world.job(Status.PENDING_APPROVAL).id for _ in range(3)]
    with in_terminal(environment, "jobs", "cancel", *jobs, "--user", "ana") as terminal:
        terminal.wait_for("Cancel 3 jobs")
        terminal.type("y")
        assert terminal.end() == 0
        assert "3/3" in terminal.plain
    assert [stored(world, job).status for job in jobs] == [Status.CANCELLED] * 3


def test_trying_rules_over_many_plans_shows_how_far_it_is(
    world: ApiWorld, environment: dict[str, str], tmp_path: Path
) -> None:
    for _ in range(60):
        world.job(Status.SUCCESS)
    file = tmp_path / "rules.yaml"
    file.write_text("default: block\n")
    with in_terminal(environment, "rules", "test", str(file), "--last", "60") as terminal:
        assert terminal.end() == 0
        assert "60/60" in terminal.plain
        assert "60 plans: 0 unchanged, 60 stricter, 0 laxer." in terminal.plain


def test_a_long_check_of_the_trail_shows_how_far_it_is(world: ApiWorld, environment: dict[str, str]) -> None:
    for _ in range(300):
        job = world.job()
        world.store.change(Change(job.id, frozenset(Status), audit=[note(at_ms=0)]))
    with in_terminal(environment, "audit", "verify") as terminal:
        assert terminal.end() == 0
        assert "check" in terminal.plain
        assert "301/301" in terminal.plain
        assert "301 entries in 301 chains, unbroken." in terminal.plain
    assert piped(environment, "audit", "verify").stdout == "301 entries in 301 chains, unbroken.\n"


def test_an_export_is_streamed_to_any_client(world: ApiWorld, environment: dict[str, str]) -> None:
    job = world.job()
    for _ in range(25):
        world.store.change(Change(job.id, frozenset(Status), audit=[note(at_ms=0)] * 100))
    headers = {"Authorization": f"Bearer {environment['VARDY_API_KEY']}"}
    with httpx.stream("GET", f"{environment['VARDY_URL']}/v1/audit/export", headers=headers) as answer:
        assert "content-length" not in answer.headers
        lines = list(answer.iter_lines())
    assert len(lines) == 2501
    assert piped(environment, "audit", "export").stdout.splitlines() == lines


def test_an_address_that_no_trusted_proxy_names_is_not_believed(world: ApiWorld, environment: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {environment['VARDY_API_KEY']}", "X-Forwarded-For": "192.0.2.7"}
    made = httpx.post(f"{environment['VARDY_URL']}/v1/keys", headers=headers, json={"scopes": ["read"]}).json()
    entry = entries(world.trail, SETTINGS)[-1]
    assert (entry.subject, entry.address) == (made["id"], "127.0.0.1")


def test_json_in_a_terminal_is_nothing_but_json(world: ApiWorld, environment: dict[str, str]) -> None:
    job = world.job(Status.SUCCESS)
    with in_terminal(environment, "jobs", "wait", job.id, "--json") as terminal:
        assert terminal.end() == 0
        assert json.loads(terminal.shown)["id"] == job.id


def test_a_reader_that_goes_away_is_no_error_message(world: ApiWorld, environment: dict[str, str]) -> None:
    for _ in range(30):
        world.job(Status.SUCCESS)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        ran = subprocess.run(
            [*VARDY, "jobs", "list", "--json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("vardy app", ["approvals"]),
        ("vardy approvals ", ["list", "show", "approve", "deny"]),
        ("vardy jobs list --status PEN", ["PENDING_APPROVAL"]),
        ("vardy keys create --scope de", ["decide"]),
    ],
)
def test_shells_complete_commands_and_values(environment: dict[str, str], words: str, offered: list[str]) -> None:
    position = len(words.split(" ")) - 1
    asked = {"_VARDY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(position)}
    assert piped(environment | asked).stdout.split() == offered


def loaded(environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    found: dict[str, Any] = json.loads(ran.stderr)
    return found


def test_help_loads_nothing_heavy(environment: dict[str, str]) -> None:
    for arguments in (("--help",), ("jobs", "list", "--help")):
        found = loaded(environment, *arguments)
        assert found["code"] == 0
        assert not NOT_FOR_HELP & set(found["modules"])


def test_commands_over_http_load_no_server_library(world: ApiWorld, environment: dict[str, str]) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    for arguments in (("jobs", "list"), ("approvals", "show", job.id)):
        found = loaded(environment, *arguments)
        assert found["code"] == 0
        assert not NOT_FOR_HTTP & set(found["modules"])


def test_a_long_wait_ends_as_soon_as_the_job_does(
    world: ApiWorld, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted: list[str] = []
    monkeypatch.setattr(world.queue, "publish", lambda _queue, job_id: submitted.append(job_id))
    with subprocess.Popen(
        [*VARDY, "run", "refund it", "--user", "ana", "--json"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert eventually(lambda: bool(submitted), seconds=30)
        world.move(submitted[0], Status.QUEUED, Status.RUNNING)
        world.move(submitted[0], Status.RUNNING, Status.SUCCESS, {"output": 1})
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, json.loads(out)["status"]) == (0, "SUCCESS")
