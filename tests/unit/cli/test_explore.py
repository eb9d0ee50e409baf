"""`vardy explore`: what is sent, and how an answer and its rounds are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli, Worker

PROGRAM = Program(source="async function run() {\n  return { open: 3 };\n}\n", sha256="0" * 64)
FAILED = Round(
    n=1,
    program=PROGRAM,
    error=ErrorInfo(code="execution.threw", message="The program threw: no such city.", details={"line": 2}),
    ended_at_ms=1,
)
READ = Round(n=2, program=PROGRAM, summary={"open": 3}, truncated=True, ended_at_ms=2)
ROUNDS = (FAILED, READ)


def test_everything_that_can_be_asked_for_reaches_the_service(cli: Cli, world: ApiWorld) -> None:
    ran = cli(
        "explore",
        "-",
        *("--user", "ana", "--role", "support"),
        *("--params", '{"days": 30}'),
        *("--function", "list_payments"),
        "--judge",
        *("--rounds-max", "3"),
        *("--metadata", "ticket=17"),
        *("--limit", "calls_max=5"),
        *("--idempotency-key", "k1"),
        "--no-wait",
        "--json",
        stdin="who pays late?\n",
    )
    assert (ran.code, ran.json["status"], ran.json["kind"]) == (ExitCode.OK, "QUEUED", "explore")
    record = world.store.get(ran.json["id"])
    assert record is not None
    submission = record.submission
    assert (record.kind, submission.request, submission.params) == (JobKind.EXPLORE, "who pays late?", {"days": 30})
    assert (submission.user.id, submission.user.roles) == ("ana", ("support",))
    assert (submission.functions, submission.judge) == (("list_payments",), True)
    assert submission.limits == {"calls_max": 5, "explore_rounds_max": 3}
    assert submission.metadata == {"ticket": "17"}
    again = cli("explore", "who pays late?", "--user", "ana", "--idempotency-key", "k1", "--no-wait", "--json")
    assert (again.code, again.problem["code"]) == (ExitCode.ERROR, "idempotency.mismatch")


def test_an_answer_is_printed_before_the_rounds_that_led_to_it(cli: Cli, worker: Worker) -> None:
    worker.runs_to(Status.SUCCESS, rounds=ROUNDS, answer="Three are open.\nAna has two of them.\n")
    ran = cli("explore", "how many are open?", "--user", "ana")
    assert ran.code == ExitCode.OK
    assert "Three are open.\n  Ana has two of them.\n" in ran.out
    assert ran.out.index("Three are open.") < ran.out.index("round 1: execution.threw: The program threw")
    assert "round 2: returned too much, cut to 10 bytes" in ran.out
    assert "async function run" not in ran.out
    assert ran.out.rstrip().endswith("--full")
    assert ran.err == ""


def test_a_job_shown_in_full_has_each_program_with_its_summary_or_error(cli: Cli, world: ApiWorld) -> None:
    job = world.explore(Status.SUCCESS, rounds=ROUNDS, answer="Three are open.")
    ran = cli("jobs", "show", job.id, "--full")
    first, second = ran.out.split("Round 2\n")
    for text in (first, second):
        assert "  async function run() {\n    return { open: 3 };\n  }\n" in text
    assert "round 1: execution.threw: The program threw: no such city." in first
    assert "line: 2" in first
    assert '"open": 3\n' in second
    assert "--full" not in ran.out


def test_a_round_under_way_is_no_round_that_returned_nothing(cli: Cli, world: ApiWorld) -> None:
    under_way = Round(n=1, program=PROGRAM)
    job = world.explore(Status.RUNNING, rounds=(under_way,))
    assert "round 1: reading …" in cli("jobs", "show", job.id).out
    ended = world.explore(Status.RUNNING, rounds=(under_way.model_copy(update={"ended_at_ms": 3}),))
    assert "round 1: returned 4 bytes" in cli("jobs", "show", ended.id).out


def test_a_question_without_an_answer_ends_with_the_error_and_exit_code_1(cli: Cli, worker: Worker) -> None:
    worker.runs_to(Status.EXECUTION_ERROR, rounds=(FAILED,), error=FAILED.error)
    ran = cli("explore", "how many are open?", "--user", "ana")
    assert ran.code == ExitCode.ERROR
    assert "Answer" not in ran.out
    assert "round 1: execution.threw" in ran.out
    assert "Error  execution.threw" in ran.out
    assert ran.out.rstrip().endswith("--full")


def test_a_function_that_writes_is_refused_before_there_is_a_job(cli: Cli, world: ApiWorld) -> None:
    ran = cli("explore", "how many are open?", "--user", "ana", "--function", "refund_payment")
    assert ran.code == ExitCode.ERROR
    assert "an explore only reads" in ran.err
    assert world.queue.depth("run") == 0


def test_explores_can_be_listed_alone(cli: Cli) -> None:
    cli("run", "cancel it", "--user", "ana", "--no-wait")
    job_id = cli("explore", "how many are open?", "--user", "ana", "--no-wait", "--json").json["id"]
    listed = cli("jobs", "list", "--kind", "explore", "--json").json["items"]
    assert [line["id"] for line in listed] == [job_id]


def test_an_answer_cannot_drive_the_terminal(cli: Cli, world: ApiWorld) -> None:
    job = world.explore(Status.SUCCESS, answer="\x1b[2Jdone\u202e [red]x[/red]")
    ran = cli("jobs", "show", job.id)
    assert not {"\x1b", "\u202e"} & set(ran.out)
    assert "[red]x[/red]" in ran.out
