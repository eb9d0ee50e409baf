"""Errors: one sentence, a stable exit code, and a problem document with `--json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from vardy_api.cli.exits import ExitCode
from vardy_api.client import Vardy
from vardy_api.client_errors import Unreachable
from vardy_api.shapes import Problem
from vardy_worker.contracts.errors import PROBLEMS
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli

JOB = "job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A"


def answers(cli: Cli, answer: Callable[[httpx.Request], httpx.Response]) -> None:
    transport = httpx.MockTransport(answer)
    cli.connect = lambda _url, _key: Vardy("http://vardy", transport=transport, pause=lambda _seconds: None)


def problem(code: str, **details: Any) -> httpx.Response:
    status, title = PROBLEMS[code]
    body = Problem(type=f"/problems/{code}", title=title, status=status, detail=f"{title}.", code=code, details=details)
    return httpx.Response(status, content=body.model_dump_json())


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("auth.missing", "VARDY_API_KEY"),
        ("auth.scope", "vardy keys create --scope"),
        ("effect.result", "--result JSON"),
        ("service.unavailable", "vardy doctor"),
    ],
)
def test_what_to_do_on_the_command_line_follows_the_error(cli: Cli, code: str, says: str) -> None:
    answers(cli, lambda _request: problem(code))
    assert says in cli("jobs", "show", JOB).err.splitlines()[1]


EXPECTED = {
    401: ExitCode.ERROR,
    403: ExitCode.ERROR,
    404: ExitCode.NOT_FOUND,
    410: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    412: ExitCode.CONFLICT,
    429: ExitCode.ERROR,
    500: ExitCode.ERROR,
    503: ExitCode.UNREACHABLE,
}


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_problem_of_the_service_has_an_exit_code_and_keeps_its_shape(cli: Cli, code: str) -> None:
    answers(cli, lambda _request: problem(code, some="detail"))
    ran = cli("jobs", "show", JOB, "--json")
    status, title = PROBLEMS[code]
    assert ran.code == EXPECTED.get(status, ExitCode.ERROR)
    assert ran.out == ""
    assert ran.problem == {
        "type": f"/problems/{code}",
        "title": title,
        "status": status,
        "detail": f"{title}.",
        "code": code,
        "details": {"some": "detail"},
        "instance": None,
        "exit_code": ran.code,
    }
    drawn = cli("jobs", "show", JOB)
    assert drawn.err.startswith(f"Error: {title}.\n")
    assert drawn.out == ""


def test_a_service_that_is_not_there_is_named(cli: Cli) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        message = "refused"
        raise httpx.ConnectError(message, request=request)

    answers(cli, refuse)
    ran = cli("jobs", "list")
    assert ran.code == ExitCode.UNREACHABLE
    assert "http://vardy" in ran.err
    assert "VARDY_URL" in ran.err
    as_json = cli("jobs", "list", "--json").problem
    assert (as_json["code"], as_json["exit_code"]) == ("client.unreachable", 7)
    assert "status" not in as_json


def test_an_answer_from_something_else_is_no_traceback(cli: Cli) -> None:
    answers(cli, lambda _request: httpx.Response(200, text="<html>hello</html>"))
    ran = cli("jobs", "show", JOB)
    assert (ran.code, "is this address a Vardy API" in ran.err) == (ExitCode.ERROR, True)
    answers(cli, lambda _request: httpx.Response(502, text="bad gateway"))
    assert cli("jobs", "show", JOB).code == ExitCode.UNREACHABLE


def test_a_missing_key_says_how_to_give_one(cli: Cli, world: ApiWorld) -> None:
    cli.connect = lambda _url, _key: Vardy("http://vardy", api_key="", transport=world.transport)
    ran = cli("jobs", "list")
    assert ran.code == ExitCode.ERROR
    assert "VARDY_API_KEY" in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "nonsense"),
        (["jobs", "lst"], "list"),
        (["run", "hello", "--bogus"], "--bogus"),
        (["run"], "--recipe"),
        (["run", "hello", "--recipe", "x"], "--recipe"),
        (["run", "hello", "--params", "{"], "line 1, column 2"),
        (["run", "hello", "--params", "[]"], "JSON object"),
        (["run", "hello", "--params", '{"a": NaN}'], "NaN"),
        (["run", "hello", "--params", "[" * 100_000], "too deeply"),
        (["run", "hello", "--params", "@/no/such/file"], "/no/such/file"),
        (["run", "hello", "--user", '{"id": ""}'], "id"),
        (["run", "hello", "--user", "{'id': 1}"], "--user"),
        (["run", "hello", "--user", '{"name": "ana"}'], "id"),
        (["run", "hello", "--role", "support"], "--user"),
        (["run", "", "--user", "ana"], "request"),
        (["run", "hello", "--metadata", "x"], "NAME=VALUE"),
        (["run", "hello", "--limit", "calls_max=many"], "NAME=NUMBER"),
        (["run", "hello", "--timeout", "soon"], "30s"),
        (["run", "hello", "--mode", "dry"], "plan"),
        (["jobs", "list", "--status", "DONE"], "PENDING_APPROVAL"),
        (["keys", "create", "--scope", "all"], "'--scope': 'all' is not one of"),
        (["commits", "list", "--error", "commit.faild"], "did you mean commit.failed?"),
        (["jobs", "list", "--created-after", "yesterday"], "ISO 8601"),
        (["jobs", "list", "--limit", "0"], "--limit"),
        (["jobs", "show"], "JOB"),
        (["rules", "apply", "/no/such/rules.yaml"], "/no/such/rules.yaml"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_sentence(cli: Cli, arguments: list[str], says: str) -> None:
    ran = cli(*arguments)
    assert ran.code == ExitCode.USAGE
    assert ran.err.startswith("Error: ")
    assert says in ran.err
    assert ran.out == ""
    as_json = cli(*arguments, "--json")
    assert as_json.code == ExitCode.USAGE
    assert (as_json.problem["code"], as_json.problem["exit_code"]) == ("cli.usage", 2)


def test_a_text_that_looks_like_an_option_can_be_asked(cli: Cli) -> None:
    ran = cli("run", "--user", "ana", "--no-wait", "--", "--json")
    assert ran.code == ExitCode.OK
    assert "asked  --json" in ran.out


def test_a_file_that_is_no_text_is_refused(cli: Cli, tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    ran = cli("rules", "check", str(file))
    assert (ran.code, "UTF-8" in ran.err) == (ExitCode.USAGE, True)


def test_an_address_that_is_none_is_a_usage_error(cli: Cli) -> None:
    cli.connect = lambda url, _key: Vardy(url)
    for url in ("ftp://vardy", "vardy"):
        ran = cli("jobs", "list", "--url", url)
        assert ran.code == ExitCode.USAGE
        assert url in ran.err
        assert "VARDY_URL" in ran.err


def test_what_nobody_expected_is_no_traceback_and_tells_no_secret(cli: Cli) -> None:
    def explode(_url: str | None, _key: str | None) -> Vardy:
        raise ZeroDivisionError("vk_secret")

    cli.connect = explode
    ran = cli("jobs", "list")
    assert ran.code == ExitCode.ERROR
    assert "ZeroDivisionError" in ran.err
    assert "vk_secret" not in ran.err
    assert json.loads(cli("jobs", "list", "--json").err)["code"] == "internal"


def test_an_interrupt_ends_with_its_own_code(cli: Cli) -> None:
    def interrupt(_request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    answers(cli, interrupt)
    assert cli("jobs", "list").code == ExitCode.INTERRUPTED


def test_a_connection_that_breaks_while_waiting_loses_no_job(cli: Cli, world: ApiWorld) -> None:
    class Breaking(Vardy):
        def wait(self, *_: Any, **__: Any) -> Any:
            message = "The API went away."
            raise Unreachable(message)

    cli.connect = lambda _url, _key: Breaking("http://vardy", api_key=cli.token, transport=world.transport)
    ran = cli("run", "refund it", "--user", "ana", "--json")
    assert ran.code == ExitCode.UNREACHABLE
    assert ran.json["id"].startswith("job_")
    assert ran.problem["detail"] == "The API went away."


def test_an_interrupted_bulk_says_how_far_it_came(cli: Cli, world: ApiWorld) -> None:
    jobs = [world.job(Status.PENDING_APPROVAL).id for _ in range(3)]

    class Interrupted(Vardy):
        def cancel(self, job: Any, **named: Any) -> Any:
            if job == jobs[1]:
                raise KeyboardInterrupt
            return super().cancel(job, **named)

    cli.connect = lambda _url, _key: Interrupted("http://vardy", api_key=cli.token, transport=world.transport)
    ran = cli("jobs", "cancel", *jobs, "--user", "ana", "--yes")
    assert ran.code == ExitCode.INTERRUPTED
    assert "begun for 1 of 3 jobs" in ran.err


def test_an_interrupted_wait_says_that_the_job_goes_on(cli: Cli, world: ApiWorld) -> None:
    job = world.job()

    class Interrupted(Vardy):
        def wait(self, *_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

    cli.connect = lambda _url, _key: Interrupted("http://vardy", api_key=cli.token, transport=world.transport)
    ran = cli("jobs", "wait", job.id)
    assert ran.code == ExitCode.INTERRUPTED
    assert f"vardy jobs wait {job.id}" in ran.err


@pytest.mark.parametrize("words", [("jobs", "show"), ("recipes", "show"), ("commits", "show"), ("keys", "revoke")])
@pytest.mark.parametrize("name", ["", "a" * 5000])
def test_an_id_that_no_request_can_have_is_a_mistake_in_the_command(
    cli: Cli, words: tuple[str, ...], name: str
) -> None:
    ran = cli(*words, name, *(("--yes",) if words[0] == "keys" else ()))
    assert (ran.code, "Traceback" in ran.err) == (ExitCode.USAGE, False), ran.err
    assert "do not fit: id" in ran.err
