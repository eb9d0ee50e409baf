"""`vardy jobs events`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

from tests.support.clients import Kind, Script, stream
from tests.support.factories import LEA
from vardy_api.cli.exits import ExitCode
from vardy_api.shapes import EventView
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    import pytest

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli


def told(place: int, kind: str, **data: Any) -> bytes:
    event = {"id": str(place), "type": kind, "at": "2026-01-31T12:00:00.250Z", "data": data}
    return f"event: {kind}\ndata: {json.dumps(event)}\nid: {place}\n\n".encode()


def serve(cli: Cli, *answers: httpx.Response | Exception) -> Script:
    script = Script(*answers)
    cli.connect = lambda _url, _key: script.client(Kind.BLOCKING)
    return script


def test_the_events_of_a_job_are_told_to_its_end(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    with world.vardy() as vardy:
        vardy.deny(vardy.get(job.id), user=LEA, reason="No.")
    ran = cli("jobs", "events", job.id)
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    words = [line.split()[2:] for line in ran.out.splitlines()]
    assert words[:3] == [["status", "QUEUED"], ["status", "RUNNING"], ["status", "PENDING_APPROVAL"]]
    assert ["decision", "deny", "by", "lea", "digest", job.digest] in words
    assert words[-1][:2] == ["status", "POLICY_BLOCKED"]
    events = [EventView.model_validate_json(line) for line in cli("jobs", "events", job.id, "--json").out.splitlines()]
    assert len(events) == len(words)
    rest = cli("jobs", "events", job.id, "--after", events[2].id, "--json").out.splitlines()
    assert [EventView.model_validate_json(line) for line in rest] == events[3:]


def test_every_kind_of_event_has_a_line_of_its_own(cli: Cli) -> None:
    serve(
        cli,
        stream(
            told(1, "stage", stage="generate"),
            told(2, "round", n=1, state="failed", code="execution.timeout"),
            told(3, "effect", seq=0, function="send_email", state="SUCCEEDED"),
            told(4, "effect", seq=0, state="RESOLVED_DONE", by="oz"),
            told(5, "status", status="RESTING", mood={"good": True}),
        ),
        httpx.Response(204),
    )
    assert cli("jobs", "events", "job_1", "--follow").out.splitlines() == [
        "2026-01-31 12:00:00.250Z  stage     generate",
        "2026-01-31 12:00:00.250Z  round     1 failed  code execution.timeout",
        "2026-01-31 12:00:00.250Z  effect    0 send_email SUCCEEDED",
        "2026-01-31 12:00:00.250Z  effect    0 RESOLVED_DONE  by oz",
        '2026-01-31 12:00:00.250Z  status    RESTING  mood {"good": true}',
    ]


def test_what_people_wrote_cannot_drive_the_terminal(cli: Cli) -> None:
    evil = "\u202eana\x1b[2J"
    for arguments in ([], ["--json"]):
        serve(cli, stream(told(1, "decision", decision="deny", user=evil, **{evil: evil})), httpx.Response(204))
        printed = cli("jobs", "events", "job_1", *arguments).out
        assert "\\u202e" in printed
        assert not {"\u202e", "\x1b"} & set(printed)


def test_a_lost_connection_is_taken_up_again(cli: Cli) -> None:
    broken = stream(told(1, "stage", stage="a"), httpx.ReadError("reset"))
    script = serve(cli, broken, stream(told(2, "stage", stage="b")), httpx.Response(204))
    assert [line.split()[-1] for line in cli("jobs", "events", "job_1").out.splitlines()] == ["a", "b"]
    assert script.requests[1].headers["last-event-id"] == "1"


def test_a_job_that_is_not_there_and_a_wrong_place_are_told(cli: Cli, world: ApiWorld) -> None:
    assert cli("jobs", "events", "job_1").code == ExitCode.NOT_FOUND
    wrong = cli("jobs", "events", world.job(Status.SUCCESS).id, "--after", "nonsense", "--json")
    assert (wrong.code, wrong.problem["code"]) == (ExitCode.ERROR, "cursor.invalid")


def test_an_interrupted_reader_is_told_how_to_go_on(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(cli, stream(told(7, "stage", stage="a")), httpx.Response(204))

    def interrupt(_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("vardy_api.client.as_message", interrupt)
    ran = cli("jobs", "events", "job_1", "--after", "6")
    assert ran.code == ExitCode.INTERRUPTED
    assert "vardy jobs events job_1 --after 6" in ran.err
